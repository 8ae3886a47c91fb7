// The info key soft of MPI_Comm_spawn.
#include "mpi/spawn/spawn_request.h"

#include <gtest/gtest.h>

namespace mpc::mpi {
namespace {

TEST(Soft, GivesTheLargestNumberThatIsAllowed) {
  EXPECT_EQ(largest_of("4", 4), 4);
  EXPECT_EQ(largest_of("1:9", 7), 7);
  EXPECT_EQ(largest_of("1:9:4", 7), 5);
  EXPECT_EQ(largest_of("2:8:2,12", 11), 8);
  EXPECT_EQ(largest_of("2:8:2,12", 12), 12);
  EXPECT_EQ(largest_of(" 3 , 1:2 ", 9), 3);
  EXPECT_EQ(largest_of("0:1000000000", 5), 5);
  EXPECT_EQ(largest_of("9:1:-3", 7), 6) << "9, 6, 3";
  EXPECT_EQ(largest_of("0", 5), 0);
}

TEST(Soft, GivesNothingForOtherTextsAndForNumbersThatAreAllTooLarge) {
  EXPECT_FALSE(largest_of("", 3));
  EXPECT_FALSE(largest_of("4", 3));
  EXPECT_FALSE(largest_of("9:8:-2", 7));
  EXPECT_FALSE(largest_of("all", 3));
  EXPECT_FALSE(largest_of("1:2:0", 3));
  EXPECT_FALSE(largest_of("1:2:1:1", 3));
  EXPECT_FALSE(largest_of("1,,2", 3));
  EXPECT_FALSE(largest_of("1;2", 3));
}

}  // namespace
}  // namespace mpc::mpi

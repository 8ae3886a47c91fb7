#include "mpi/objects/error.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "mpi/objects/errhandler.h"

namespace mpc::mpi {
namespace {

TEST(Error, KeepsTheMessageOfEachThread) {
  ASSERT_TRUE(fail(MPI_ERR_RANK, "mine"));
  std::thread([] {
    EXPECT_EQ(last_error_message(), "");
    EXPECT_EQ(fail(MPI_ERR_TAG, "other").code, MPI_ERR_TAG);
  }).join();
  EXPECT_EQ(last_error_message(), "mine");
  EXPECT_EQ(last_error_code(), MPI_ERR_RANK);
}

TEST(Error, EveryClassHasItsNameAndAText) {
  for (int c = MPI_SUCCESS; c <= MPI_ERR_ABI; ++c) {
    ASSERT_NE(error_class_name(c), nullptr) << c;
    EXPECT_EQ(std::strncmp(error_class_name(c), "MPI_", 4), 0);
    EXPECT_GT(std::strlen(error_class_text(c)), 0u);
  }
  EXPECT_EQ(error_class_name(MPI_ERR_ABI + 1), nullptr);
  EXPECT_EQ(error_class_name(-1), nullptr);
}

}  // namespace
}  // namespace mpc::mpi

#include <gtest/gtest.h>

#include "mpi/objects/info.h"

namespace mpc::mpi {
namespace {

TEST(InfoHints, KeepTheOrderOfFirstSetting) {
  InfoHints hints;
  hints.set("b", "1");
  hints.set("a", "2");
  hints.set("b", "3");
  ASSERT_EQ(hints.entries().size(), 2u);
  EXPECT_EQ(hints.entries()[0], (std::pair<std::string, std::string>("b", "3")));
  EXPECT_EQ(hints.entries()[1].first, "a");
}

TEST(InfoHints, ForgetWhatIsRemoved) {
  InfoHints hints;
  hints.set("a", "1");
  EXPECT_TRUE(hints.remove("a"));
  EXPECT_FALSE(hints.remove("a"));
  EXPECT_EQ(hints.find("a"), nullptr);
}

}  // namespace
}  // namespace mpc::mpi

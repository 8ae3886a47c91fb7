// How long a waiting thread polls, and what is learned from sleeps.
#include "scheduler/spin.h"

#include <gtest/gtest.h>

#include <string>

namespace mpc::sched {
namespace {

constexpr uint64_t kUs = 1000;

TEST(WakeTime, TheFirstOneIsBelieved) {
  WakeTime time;
  EXPECT_EQ(time.get_ns(), 0u);
  time.note(70 * kUs);
  EXPECT_EQ(time.get_ns(), 70 * kUs);
}

TEST(WakeTime, ShorterOnesAreFollowedQuicklyLongerOnesSlowly) {
  WakeTime time;
  time.note(80 * kUs);
  time.note(20 * kUs);
  EXPECT_EQ(time.get_ns(), 50 * kUs);
  time.note(5000 * kUs);  // another program had the core
  EXPECT_LE(time.get_ns(), 54 * kUs);
  EXPECT_GT(time.get_ns(), 50 * kUs);
  for (int i = 0; i < 100; ++i) time.note(60 * kUs);
  EXPECT_EQ(time.get_ns(), 60 * kUs);
}

TEST(WakeTime, GrowsFromNothing) {
  WakeTime time;
  time.note(0);
  for (int i = 0; i < 300; ++i) time.note(40 * kUs);
  EXPECT_EQ(time.get_ns(), 40 * kUs);
}

class SpinBudgetNs : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 300; ++i) detail::wake_time.note(70 * kUs);
  }
  void TearDown() override { set("20", "100"); }
  static void set(const std::string& least, const std::string& most) {
    ASSERT_TRUE(Settings::assign("sched.spin_us=" + least).ok());
    ASSERT_TRUE(Settings::assign("sched.spin_most_us=" + most).ok());
  }
};

TEST_F(SpinBudgetNs, IsTheTimeToWakeWithinItsLimits) {
  set("20", "100");
  EXPECT_EQ(spin_budget_ns(), 70 * kUs);
  set("90", "100");
  EXPECT_EQ(spin_budget_ns(), 90 * kUs);
  set("20", "50");
  EXPECT_EQ(spin_budget_ns(), 50 * kUs);
  set("20", "10");
  EXPECT_EQ(spin_budget_ns(), 20 * kUs);
}

TEST_F(SpinBudgetNs, NothingWhereNobodyIsToPoll) {
  set("0", "100");
  EXPECT_EQ(spin_budget_ns(), 0u);
}

}  // namespace
}  // namespace mpc::sched

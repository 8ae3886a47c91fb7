// How long a waiting thread polls, and what is learned from sleeps.
#include "scheduler/spin.h"

#include <gtest/gtest.h>

#include <string>

#include "scheduler/poll/turns.h"

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

uint64_t g_ticks = 0;
uint64_t ticks() { return g_ticks; }
uint64_t no_clock() {
  ADD_FAILURE() << "a process without a pause reads no clock";
  return 0;
}

TEST(Turns, AreTakenAsLongAsYieldsAreShort) {
  Turns turns;
  EXPECT_EQ(turns.processes(&no_clock), 1);
  turns.share(8);
  turns.note_yield(1000, 1000 + Turns::kSlowTicks - 1);
  EXPECT_EQ(turns.processes(&no_clock), 8);
}

TEST(Turns, PauseWhileOtherProgramsHaveTheCore) {
  Turns turns;
  turns.share(8);
  const uint64_t slow = 2 * Turns::kSlowTicks, end = 1000 + slow;
  turns.note_yield(1000, end);
  EXPECT_EQ(turns.processes(&no_clock), 8);  // one alone says nothing
  for (const uint64_t factor : {1, 2, 4, 8, 16, 16}) {
    turns.note_yield(1000, end);
    g_ticks = end + slow * factor - 1;
    EXPECT_EQ(turns.processes(&ticks), 1);
    ++g_ticks;
    EXPECT_EQ(turns.processes(&ticks), 8);
  }
  turns.note_yield(g_ticks, g_ticks + 10);  // they have gone
  EXPECT_EQ(turns.processes(&no_clock), 8);
}

TEST(Turns, PauseForSomeTimeAtMost) {
  Turns turns;
  turns.share(2);
  for (int i = 0; i < 9; ++i) turns.note_yield(0, Turns::kMostPauseTicks);
  g_ticks = 2 * Turns::kMostPauseTicks - 1;
  EXPECT_EQ(turns.processes(&ticks), 1);
  ++g_ticks;
  EXPECT_EQ(turns.processes(&ticks), 2);
}

}  // namespace
}  // namespace mpc::sched

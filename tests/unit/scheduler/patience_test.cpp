// Patience: the listener pauses after futile calls that follow each other, and only then.
#include "scheduler/poll/patience.h"

#include <gtest/gtest.h>

namespace mpc::sched {
namespace {

constexpr uint64_t kAtOnceNs = 1'000;

TEST(Patience, FutileCallsOneAfterTheOtherMakePausesLongerUpToATick) {
  Patience patience;
  for (int i = 0; i < Patience::kCalls; ++i)
    EXPECT_EQ(patience.nap_ns(false, kAtOnceNs), 0u);
  uint64_t before = patience.nap_ns(false, kAtOnceNs);
  EXPECT_GT(before, 0u);
  for (int i = 1; i < 100; ++i) {
    const uint64_t pause_ns = patience.nap_ns(false, kAtOnceNs);
    EXPECT_GE(pause_ns, before);
    before = pause_ns;
  }
  EXPECT_EQ(before, Patience::kShortestNapNs << Patience::kMostDoublings);
  EXPECT_EQ(patience.nap_ns(true, kAtOnceNs), 0u);
  EXPECT_EQ(patience.nap_ns(false, kAtOnceNs), 0u);
}

// Each may be the last one of a minute. The next arrival must find who listens.
TEST(Patience, FutileCallsNowAndThenMakeNone) {
  Patience patience;
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(patience.nap_ns(false, Patience::kRareNs), 0u);
}

}  // namespace
}  // namespace mpc::sched

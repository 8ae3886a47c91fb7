#include "runtime/job/hooks.h"

#include <gtest/gtest.h>

#include <string>

namespace mpc::job {
namespace {

std::string g_called;

TEST(Hooks, RunInTheOrderOfTheListHoweverTheyAreRegistered) {
  Job::at_rank_start(HookOrder::kStreams, [](Rank&) { g_called += "streams "; });
  Job::at_rank_start(HookOrder::kMpi, [](Rank&) { g_called += "mpi "; });
  Job::at_rank_end(HookOrder::kMpi, [](Rank&) { g_called += "-mpi "; });
  Job::at_rank_end(HookOrder::kStreams, [](Rank&) { g_called += "-streams "; });
  Job::at_rank_end(HookOrder::kCollectives, [](Rank&) { g_called += "-nbc "; });
  Rank rank;
  hooks::run_rank_start(rank);
  hooks::run_rank_end(rank);
  EXPECT_EQ(g_called, "mpi streams -streams -mpi -nbc ");
}

TEST(HooksDeathTest, OneThatIsRegisteredTwiceIsAFaultOfOurs) {
  Job::at_rank_failure(HookOrder::kTimers, [](Rank&) {});
  EXPECT_DEATH(Job::at_rank_failure(HookOrder::kTimers, [](Rank&) {}),
               "registered twice");
}

}  // namespace
}  // namespace mpc::job

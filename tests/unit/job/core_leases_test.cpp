// Leases of cores: one holder per name, and none after its end.

#include "runtime/job/core_leases.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mpc::job {
namespace {

using Use = CoreLeases::Use;

// No machine has it, and no other run of this test at this moment.
int core_of_nobody() { return 10'000'000 + getpid(); }

TEST(CoreLeases, GiveACoreToOneJobForEachUse) {
  const int core = core_of_nobody();
  CoreLeases one, two;
  EXPECT_FALSE(two.is_taken(core, Use::kRanks));
  EXPECT_TRUE(one.take(core, Use::kRanks));
  EXPECT_TRUE(two.is_taken(core, Use::kRanks));
  EXPECT_FALSE(two.is_taken(core, Use::kCommunication));
  EXPECT_FALSE(two.is_taken(core + 1, Use::kRanks));
  EXPECT_FALSE(two.take(core, Use::kRanks));
  EXPECT_TRUE(two.take(core, Use::kCommunication));
}

TEST(CoreLeases, EndWhenTheyAreGivenBack) {
  const int core = core_of_nobody();
  CoreLeases one, two;
  ASSERT_TRUE(one.take(core, Use::kRanks));
  one.give_back();
  EXPECT_FALSE(two.is_taken(core, Use::kRanks));
  EXPECT_TRUE(two.take(core, Use::kRanks));
}

TEST(CoreLeases, VanishWithAProcessThatIsKilled) {
  const int core = core_of_nobody();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    CoreLeases theirs;
    const char said = theirs.take(core, Use::kRanks) ? 'y' : 'n';
    if (write(ready[1], &said, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char said = 0;
  ASSERT_EQ(read(ready[0], &said, 1), 1);
  EXPECT_EQ(said, 'y');
  CoreLeases ours;
  EXPECT_TRUE(ours.is_taken(core, Use::kRanks));
  EXPECT_FALSE(ours.take(core, Use::kRanks));
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(ours.is_taken(core, Use::kRanks));
  EXPECT_TRUE(ours.take(core, Use::kRanks));
  close(ready[0]);
  close(ready[1]);
}

TEST(CoreLeases, LeaveDescriptorsToTheProgram) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_TRUE(CoreLeases::has_room_for(2));
  EXPECT_FALSE(CoreLeases::has_room_for(64));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace mpc::job

// Which hosts a job has, and how its ranks are divided among them.
#include "tools/mpcrun/hosts.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/wireup/ranks_variable.h"
#include "tools/mpclaunch/plan.h"

namespace mpc::tools {
namespace {

std::string problem_of(const HostWish& wish, int ranks) {
  const auto plan = plan_job(wish, ranks);
  return plan ? "" : plan.error().message;
}

TEST(HostList, MayNameSlots) {
  const auto hosts = parse_host_list("alpha,beta:4,[fd00::1]:2,fd00::2");
  ASSERT_TRUE(hosts) << hosts.error().message;
  ASSERT_EQ(hosts->size(), 4u);
  EXPECT_EQ((*hosts)[0].slots, 0);
  EXPECT_EQ((*hosts)[1].slots, 4);
  EXPECT_EQ((*hosts)[2].name, "fd00::1");
  EXPECT_EQ((*hosts)[2].slots, 2);
  EXPECT_EQ((*hosts)[3].name, "fd00::2");
  for (const char* bad :
       {"", ",", "a,,b", "a:0", "a:x", "-oProxyCommand=x", "a b", "a;b"})
    EXPECT_FALSE(parse_host_list(bad)) << bad;
}

TEST(HostFile, IsReadInBothFormats) {
  const auto hosts =
      parse_host_file("# all\nalpha slots=4 max_slots=8\n\n  beta:2 # fast\ngamma\r\n");
  ASSERT_TRUE(hosts) << hosts.error().message;
  ASSERT_EQ(hosts->size(), 3u);
  EXPECT_EQ((*hosts)[0].slots, 4);
  EXPECT_EQ((*hosts)[1].name, "beta");
  EXPECT_EQ((*hosts)[1].slots, 2);
  for (const char* bad : {"", "# nothing", "alpha 4", "alpha slots=", "alpha cpus=3"})
    EXPECT_FALSE(parse_host_file(bad)) << bad;
}

TEST(HostFile, MayComeFromAnyEditorAndSaysWhichLineIsWrong) {
  const auto hosts = parse_host_file(
      "\xef\xbb\xbf"
      "alpha slots = 4\r\n\r\n# two\r\nbeta\tslots= 2 # x\r\n[fd00::1]:3\r");
  ASSERT_TRUE(hosts) << hosts.error().message;
  ASSERT_EQ(hosts->size(), 3u);
  EXPECT_EQ((*hosts)[0].name, "alpha");
  EXPECT_EQ((*hosts)[0].slots, 4);
  EXPECT_EQ((*hosts)[1].slots, 2);
  EXPECT_EQ((*hosts)[2].name, "fd00::1");
  EXPECT_EQ((*hosts)[2].slots, 3);
  const auto wrong = parse_host_file("alpha\n\nbeta slots = many\n");
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().message.starts_with("line 3: 'beta slots = many'"))
      << wrong.error().message;
}

TEST(HostPlan, DividesRanksInBlocks) {
  HostWish wish;
  wish.hosts = "alpha,beta";
  const auto even = plan_job(wish, 8);
  ASSERT_TRUE(even) << even.error().message;
  EXPECT_EQ(launch::encode(*even), "alpha=4;beta=4");
  wish.processes_per_host = 2;
  EXPECT_EQ(launch::encode(*plan_job(wish, 8)), "alpha=2,2;beta=2,2");
  wish = {};
  wish.hosts = "alpha:4,beta:4,gamma:4";
  EXPECT_EQ(launch::encode(*plan_job(wish, 8)), "alpha=4;beta=4");
  EXPECT_EQ(launch::encode(*plan_job(wish, 2)), "alpha=2");
  wish.hosts = "alpha,alpha,beta,beta";  // each mention is a slot
  EXPECT_EQ(launch::encode(*plan_job(wish, 4)), "alpha=2;beta=2");
  wish.hosts = "alpha,beta,gamma";
  wish.ranks_per_host = 128;
  EXPECT_EQ(launch::encode(*plan_job(wish, 256)), "alpha=128;beta=128");
  wish.hosts = "localhost,alpha";
  EXPECT_EQ(launch::encode(*plan_job(wish, 256)), ".localhost=128;alpha=128");
}

TEST(HostPlan, GivesNoHostMoreThanItsSlots) {
  HostWish wish;
  wish.hosts = "alpha:1,beta:3";
  EXPECT_EQ(launch::encode(*plan_job(wish, 4)), "alpha=1;beta=3");
  EXPECT_EQ(launch::encode(*plan_job(wish, 2)), "alpha=1;beta=1");
  wish.hosts = "alpha:2,beta:9,gamma:4";
  EXPECT_EQ(launch::encode(*plan_job(wish, 15)), "alpha=2;beta=9;gamma=4");
  EXPECT_EQ(launch::encode(*plan_job(wish, 12)), "alpha=2;beta=6;gamma=4");
  EXPECT_EQ(launch::encode(*plan_job(wish, 11)), "alpha=2;beta=9");
  wish.processes_per_host = 2;
  EXPECT_EQ(launch::encode(*plan_job(wish, 15)), "alpha=1,1;beta=4,5;gamma=2,2");
  wish.processes_per_host = 0;
  wish.ranks_per_process = 1;
  EXPECT_EQ(launch::encode(*plan_job(wish, 5)), "alpha=1,1;beta=1,1,1");
}

TEST(HostPlan, OneHostMayHaveProcessesOfDifferentSizes) {
  HostWish wish;
  wish.processes = 3;
  EXPECT_EQ(launch::encode(*plan_job(wish, 8)), ".=2,3,3");
}

TEST(HostPlan, HostsSayHowManyRanksThereAre) {
  const auto room = [](const char* hosts, int each) {
    HostWish wish;
    wish.hosts = hosts;
    wish.ranks_per_host = each;
    return *room_of(wish);
  };
  EXPECT_EQ(room("alpha", 0), 1);
  EXPECT_EQ(room("alpha:3,beta", 0), 4);
  EXPECT_EQ(room("alpha,alpha,beta", 0), 3);
  EXPECT_EQ(room("alpha,beta", 2), 4);
  EXPECT_EQ(room("alpha,alpha:7", 2), 2);
  HostWish wish;
  wish.host_file = "/no/such/file";
  EXPECT_FALSE(room_of(wish));
}

TEST(HostPlan, TellsProcessesWhichHostsHaveWhichRanks) {
  HostWish wish;
  wish.hosts = "alpha:4,beta:8";
  wish.processes_per_host = 2;
  EXPECT_EQ(plan_job(wish, 12)->ranks_variable(), "MPC_LAUNCHER_RANKS=2,2;4,4");
  EXPECT_EQ(wireup::parse_ranks("2,2;4,4"), (wireup::RanksByHost{{2, 2}, {4, 4}}));
  EXPECT_EQ(wireup::parse_ranks("3"), (wireup::RanksByHost{{3}}));
  EXPECT_TRUE(wireup::parse_ranks("").empty());
}

TEST(HostPlan, SaysWhatDoesNotFit) {
  HostWish wish;
  wish.hosts = "alpha:2,beta:2";
  EXPECT_NE(problem_of(wish, 5).find("room for 4"), std::string::npos);
  wish.hosts = "alpha,beta";
  wish.ranks_per_host = 2;
  EXPECT_NE(problem_of(wish, 5).find("--ranks-per-host 2"), std::string::npos);
  wish.ranks_per_host = 0;
  wish.processes_per_host = 3;
  EXPECT_NE(problem_of(wish, 4).find("3 processes on host alpha"), std::string::npos);
  wish.processes_per_host = 0;
  wish.ranks_per_process = 3;
  EXPECT_NE(problem_of(wish, 8).find("host alpha gets 4 ranks"), std::string::npos);
  wish.host_file = "file";
  EXPECT_NE(problem_of(wish, 4).find("one of the two"), std::string::npos);
  HostWish none;
  none.ranks_per_host = 2;
  EXPECT_NE(problem_of(none, 4).find("--hosts"), std::string::npos);
}

}  // namespace
}  // namespace mpc::tools

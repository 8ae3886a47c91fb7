// Which cores a job gets, alone and beside other jobs.

#include "runtime/job/core_choice.h"

#include <gtest/gtest.h>

namespace mpc::job {
namespace {

using Cores = std::vector<int>;

// Eight cores: two packages with four each, a shared cache for two.
const topo::Machine& eight_cores() {
  static const auto machine =
      topo::Machine::by_name("pack:2 numa:1 l2:2 core:2 pu:1").value();
  return *machine;
}

std::vector<CoreUse> others_at(const Cores& ranks, const Cores& communication = {}) {
  std::vector<CoreUse> out(8);
  for (const int core : ranks) out[static_cast<size_t>(core)].has_ranks = true;
  for (const int core : communication)
    out[static_cast<size_t>(core)].has_communication = true;
  return out;
}

CoreWish ranks(int count) {
  CoreWish wish;
  wish.ranks = count;
  return wish;
}

CoreChoice choose(const CoreWish& wish, const std::vector<CoreUse>& others = {}) {
  auto choice = choose_cores(eight_cores(), wish, others);
  EXPECT_TRUE(choice) << choice.error().message;
  return choice ? *choice : CoreChoice{};
}

TEST(CoreChoice, TakesTheFirstCoresOfAnEmptyMachine) {
  const CoreChoice two = choose(ranks(2));
  EXPECT_EQ(two.cores, (Cores{0, 2, 1, 3}));
  EXPECT_EQ(two.application_workers, 2);
  EXPECT_TRUE(two.is_bound);
  EXPECT_EQ(two.reason, "");
  EXPECT_EQ(choose(ranks(2), others_at({})).cores, two.cores);
  EXPECT_EQ(choose(ranks(64)).cores, (Cores{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(CoreChoice, AvoidsCoresOfOtherJobs) {
  const CoreChoice choice = choose(ranks(2), others_at({0, 2}, {1, 3}));
  EXPECT_EQ(choice.cores, (Cores{4, 6, 5, 7}));
  EXPECT_TRUE(choice.is_bound);
  EXPECT_EQ(choice.reason, "other jobs hold cores 0,1,2,3");
}

TEST(CoreChoice, TakesNeighboursAmongWhatIsFree) {
  CoreWish wish = ranks(2);
  wish.comm_cores = 0;
  EXPECT_EQ(choose(wish, others_at({0, 2, 3, 4})).cores, (Cores{6, 7}));
}

TEST(CoreChoice, TakesCommunicationCoresOfOthersBeforeItSharesCoresWithRanks) {
  const CoreChoice choice = choose(ranks(4), others_at({0, 2, 4, 6}, {1, 3, 5, 7}));
  EXPECT_EQ(choice.cores, (Cores{1, 3, 5, 7}));
  EXPECT_EQ(choice.application_workers, 4);
  EXPECT_TRUE(choice.is_bound);
}

TEST(CoreChoice, HasFewerCoresForCommunicationBesideOtherJobs) {
  const CoreChoice choice = choose(ranks(2), others_at({0, 1, 2, 3, 4}));
  EXPECT_EQ(choice.application_workers, 2);
  EXPECT_EQ(choice.cores.size(), 3U);
  for (const int core : choice.cores) EXPECT_GE(core, 5);
}

TEST(CoreChoice, IsNotBoundWhereTooFewCoresAreLeft) {
  const CoreChoice choice = choose(ranks(4), others_at({0, 1, 2, 3, 4}));
  EXPECT_FALSE(choice.is_bound);
  EXPECT_EQ(choice.application_workers, 4);
  EXPECT_EQ(choice.cores.size(), 4U) << "no cores for communication";
  EXPECT_NE(choice.reason.find("0,1,2,3,4"), std::string::npos) << choice.reason;
}

TEST(CoreChoice, IsBoundToAllCoresWithAWorkerForEach) {
  const CoreChoice choice = choose(ranks(16), others_at({0, 1, 2}, {3}));
  EXPECT_TRUE(choice.is_bound);
  EXPECT_TRUE(choice.is_shared);
  EXPECT_EQ(choice.cores, (Cores{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(choice.reason, "other jobs hold cores 0,1,2,3: shared");
}

TEST(CoreChoice, BindsAllTheSameIfItIsTo) {
  CoreWish wish = ranks(4);
  wish.bind = Bind::kCore;
  const CoreChoice choice = choose(wish, others_at({0, 1, 2, 3, 4}));
  EXPECT_TRUE(choice.is_bound);
  EXPECT_TRUE(choice.is_shared);
  EXPECT_EQ(choice.cores, (Cores{0, 5, 6, 7}));
}

TEST(CoreChoice, TakesNoNoticeOfOthersWithoutBinding) {
  CoreWish wish = ranks(2);
  wish.bind = Bind::kNone;
  const CoreChoice choice = choose(wish, others_at({0, 1}));
  EXPECT_FALSE(choice.is_bound);
  EXPECT_EQ(choice.cores, choose(ranks(2)).cores);
}

TEST(CoreChoice, HonoursAListWhateverOthersHold) {
  CoreWish wish = ranks(2);
  wish.core_list = {3, 0, 5};
  const CoreChoice choice = choose(wish, others_at({0, 1, 3, 5}));
  EXPECT_EQ(choice.cores, (Cores{3, 0, 5}));
  EXPECT_EQ(choice.application_workers, 2);
  EXPECT_TRUE(choice.is_bound);
}

TEST(CoreChoice, HonoursANumberOfCores) {
  CoreWish wish = ranks(8);
  wish.core_count = 2;
  EXPECT_EQ(choose(wish, others_at({0, 1})).cores, (Cores{2, 3}));
  EXPECT_EQ(choose(wish, others_at({0, 1})).application_workers, 2);
  wish.core_count = 4;
  wish.comm_cores = 2;
  const CoreChoice choice = choose(wish, others_at({0, 1, 2, 3, 4}));
  EXPECT_EQ(choice.cores.size(), 4U);
  EXPECT_EQ((Cores{choice.cores[0], choice.cores[1]}), (Cores{5, 6}))
      << "ranks come first";
}

TEST(CoreChoice, ScattersOverWhatIsFree) {
  CoreWish wish = ranks(2);
  wish.placement = Placement::kScatter;
  wish.comm_cores = 0;
  EXPECT_EQ(choose(wish, others_at({0, 4})).cores, (Cores{1, 5}));
}

TEST(CoreChoice, RefusesWhatIsNotThere) {
  CoreWish wish = ranks(2);
  wish.core_list = {8};
  EXPECT_FALSE(choose_cores(eight_cores(), wish, {}));
  wish = ranks(2);
  wish.core_count = 9;
  EXPECT_FALSE(choose_cores(eight_cores(), wish, {}));
  wish = ranks(2);
  wish.core_count = 1;
  wish.comm_cores = 1;
  EXPECT_FALSE(choose_cores(eight_cores(), wish, {}));
}

}  // namespace
}  // namespace mpc::job

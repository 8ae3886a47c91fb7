#include "nbc/schedule/limits.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/settings.h"
#include "nbc/algorithms/collectives.h"
#include "nbc/algorithms/nest.h"

namespace mpc::nbc {
namespace {

SettingBase& setting() {
  for (SettingBase* s : Settings::all())
    if (std::string(s->name()) == "nbc.limits") return *s;
  ADD_FAILURE() << "no setting nbc.limits";
  return *Settings::all()[0];
}

// As a job has them that has neither been tuned nor told.
class Limits : public testing::Test {
 protected:
  void TearDown() override {
    use_tuned_limits({});
    EXPECT_TRUE(setting().set(""));
  }
};

TEST_F(Limits, HaveNamesOfTheirOwnAndTheirBuiltInValues) {
  std::set<std::string> names;
  for (int i = 0; i < kLimitCount; ++i) {
    const auto which = static_cast<Limit>(i);
    const LimitFacts& facts = facts_of(which);
    EXPECT_TRUE(names.insert(facts.name).second) << facts.name;
    EXPECT_EQ(limit_of_name(facts.name), which);
    EXPECT_LE(facts.built_in, facts.most);
    for (const bool is_in_one_process : {false, true}) {
      EXPECT_EQ(limit(which, is_in_one_process), facts.built_in);
      EXPECT_EQ(source_of(which, is_in_one_process), LimitSource::kBuiltIn);
    }
  }
  EXPECT_FALSE(limit_of_name("no_such"));
}

TEST_F(Limits, MeasuredOnesHoldOnlyWithinAProcess) {
  const LimitValue tuned[] = {{Limit::kBcastSegmented, 4096}};
  use_tuned_limits(tuned);
  EXPECT_EQ(limit(Limit::kBcastSegmented, true), 4096);
  EXPECT_EQ(source_of(Limit::kBcastSegmented, true), LimitSource::kTuned);
  EXPECT_EQ(limit(Limit::kBcastSegmented, false), 256 << 10);
  EXPECT_EQ(limit(Limit::kReduceSegmented, true), 256 << 10);
}

TEST_F(Limits, WhatTheUserSaysHoldsEverywhere) {
  const LimitValue tuned[] = {{Limit::kBcastSegmented, 4096}};
  use_tuned_limits(tuned);
  ASSERT_TRUE(setting().set("bcast_segmented:64k,direct_reduce:1G"));
  for (const bool is_in_one_process : {false, true}) {
    EXPECT_EQ(limit(Limit::kBcastSegmented, is_in_one_process), 64 << 10);
    EXPECT_EQ(source_of(Limit::kBcastSegmented, is_in_one_process),
              LimitSource::kForced);
  }
  EXPECT_EQ(limit(Limit::kDirectReduce, true), facts_of(Limit::kDirectReduce).most);
}

TEST_F(Limits, WrongOnesAreRefusedWithTheirNameAndChangeNothing) {
  for (const char* bad : {"bcast_segmented", "bcast_segmented:", "bcast_segmented:x",
                          "bcast_segmented:-1", "bcast_segment:1"}) {
    const auto refused = setting().set(std::string("reduce_segmented:1,") + bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_NE(refused.error().message.find("bcast_segment"), std::string::npos) << bad;
    EXPECT_EQ(limit(Limit::kReduceSegmented, true), 256 << 10) << bad;
  }
}

TEST_F(Limits, AreWhatSelectionGoesBy) {
  Shape s;
  s.coll = Coll::kBcast;
  s.size = 4;
  s.recv_count = 8192;
  s.recv_type.size = s.recv_type.extent = 1;
  s.is_in_one_process = true;
  const std::vector<int> places = {0, 0, 1, 1};
  s.place_of_rank = places;
  EXPECT_STREQ(select(s).name, "tree");
  const LimitValue tuned[] = {{Limit::kBcastSegmented, 8192}};
  use_tuned_limits(tuned);
  EXPECT_STREQ(select(s).name, "tree_segmented");
  s.is_in_one_process = false;
  EXPECT_STREQ(select(s).name, "tree");
}

TEST_F(Limits, AlltoallOfFewBytesGoesOverWorkersThatRanksShare) {
  Shape s;
  s.coll = Coll::kAlltoall;
  s.size = 64;
  s.recv_count = s.send_count = 8;
  s.recv_type.size = s.recv_type.extent = 1;
  s.is_in_one_process = true;
  std::vector<int> places(64), one(64, 0);
  for (size_t r = 0; r < 64; ++r) places[r] = static_cast<int>(r / 32);
  s.place_of_rank = places;
  EXPECT_STREQ(select(s).name, "bruck");  // who shares a worker is not known
  const Homes workers(one, places, one);
  s.workers = &workers;
  EXPECT_STREQ(select(s).name, "two_level");
  s.recv_count = s.send_count = 4096;
  EXPECT_STREQ(select(s).name, "linear");
}

}  // namespace
}  // namespace mpc::nbc

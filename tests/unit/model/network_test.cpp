// Several hosts: the levels of the network above those of a host, by hand.
#include "nbc/model/network.h"

#include <gtest/gtest.h>

#include <limits>

#include "nbc/model/chooser.h"
#include "nbc/model/levels.h"
#include "nbc/model/paper.h"

namespace mpc::nbc {
namespace {

constexpr PaperOperation kBcast{Weight::kConstant, 1};
constexpr PaperOperation kGather{Weight::kDoubling, 1};
constexpr PaperOperation kAllreduce{Weight::kConstant, 2};

// 16 hosts of 64 cores; a message between hosts takes 0.4 of a copy.
TEST(PaperNetwork, AddsALevelForEachDoublingOfHosts) {
  const PaperNetwork network{16, 0.4};
  // Six levels of memory and four of the network: 6 + 4 * 0.4.
  EXPECT_DOUBLE_EQ(paper_blocking(kBcast, 64, network), 7.6);
  EXPECT_DOUBLE_EQ(paper_compute(kBcast, 64, 51, network), 64.0 / 51 * 7.6);
  const PaperRow row = paper_row(kBcast, 64, 51, 10, network);
  EXPECT_EQ(row.height, 10);
  // 51 ranks: levels of 1, 2, 3, 6, 13 and 25 edges on 13 cores: 7 steps; the network: 1.6.
  EXPECT_DOUBLE_EQ(row.nonblocking[0], 8.6);
  EXPECT_DOUBLE_EQ(row.overlapped[0], 64.0 / 51 * 7.6);
  EXPECT_DOUBLE_EQ(row.nonblocking[1], 1 + 5 + 1.6);
  EXPECT_DOUBLE_EQ(row.nonblocking[6], 6 + 1.6);
  EXPECT_DOUBLE_EQ(row.overlapped[6], 6 + 64.0 / 51 * 7.6);
  // The seventh level that is kept is one of the network.
  EXPECT_DOUBLE_EQ(paper_kept(kBcast, 51, 7, network), 6.4);
  EXPECT_DOUBLE_EQ(paper_folded(kBcast, 51, 7, 13, network), 1.2);
  EXPECT_DOUBLE_EQ(paper_kept(kBcast, 51, 10, network), 7.6);
  EXPECT_DOUBLE_EQ(paper_folded(kBcast, 51, 10, 0, network), 0);
  EXPECT_EQ(paper_folded(kBcast, 51, 9, 0, network),
            std::numeric_limits<double>::infinity());
}

TEST(PaperNetwork, CarriesWholeHostsInAGather) {
  const PaperNetwork network{16, 0.4};
  // 1 + 2 + .. + 32 in memory, then 64, 128, 256 and 512 blocks between hosts.
  EXPECT_DOUBLE_EQ(paper_blocking(kGather, 64, network), 63 + 0.4 * 960);
  EXPECT_DOUBLE_EQ(paper_kept(kGather, 64, 7, network), 63 + 0.4 * 64);
  EXPECT_DOUBLE_EQ(paper_blocking(kAllreduce, 64, network), 2 * 7.6);
}

TEST(PaperNetwork, OfOneHostIsThePapersModelExactly) {
  for (const PaperOperation operation : {kBcast, kGather, kAllreduce})
    for (int ranks = 2; ranks < 64; ++ranks) {
      const PaperRow one = paper_row(operation, 64, ranks, 6, {1, 0.4});
      const PaperRow paper = paper_row(operation, 64, ranks, 6);
      EXPECT_EQ(one.height, paper.height);
      EXPECT_EQ(one.nonblocking, paper.nonblocking);
      EXPECT_EQ(one.overlapped, paper.overlapped);
      EXPECT_EQ(one.best_split, paper.best_split);
    }
}

// A copy of 2 MB takes 2000 us, a message of them 1000 us and 2 us before the first byte.
Parameters plain() {
  Parameters p;
  p.shape = {16, 16, 16};
  for (CopyCost& copy : p.copy) copy = {0, 1};
  p.network = {2, 2};
  p.reduce_gbs = 4;
  return p;
}

Situation situation(Coll coll, int hosts) {
  Situation s;
  s.coll = coll;
  s.ranks = s.application_cores = s.communication_cores = 8;
  s.bytes = 2000000;
  s.hosts = hosts;
  return s;
}
const Plan kTree{"tree", Form::kTree, 2, 0};

TEST(NetworkModel, AddsTheLevelsOfTheNetworkToThoseOfAHost) {
  const Parameters p = plain();
  const auto host = predict(situation(Coll::kBcast, 1), kTree, p);
  const auto times = predict(situation(Coll::kBcast, 4), kTree, p);
  ASSERT_EQ(host.size(), 4u);
  ASSERT_EQ(times.size(), 6u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(times[i].split, static_cast<int>(i));
    EXPECT_DOUBLE_EQ(times[i].kept_us, host[i].kept_us);
    EXPECT_DOUBLE_EQ(times[i].folded_us, host[i].folded_us + 2004);
    EXPECT_DOUBLE_EQ(times[i].together_us, host[i].together_us + 2004);
  }
  EXPECT_DOUBLE_EQ(times[3].kept_us, 6000);
  EXPECT_DOUBLE_EQ(times[3].folded_us, 2004);
  EXPECT_DOUBLE_EQ(times[4].kept_us, 7002);
  EXPECT_DOUBLE_EQ(times[4].folded_us, 1002);
  EXPECT_DOUBLE_EQ(times[5].kept_us, 8004);
  EXPECT_DOUBLE_EQ(times[5].folded_us, 0);
  EXPECT_DOUBLE_EQ(blocking_us(situation(Coll::kBcast, 4), kTree, p), 8004);
}

TEST(NetworkModel, CountsBlocksReductionsAndHandovers) {
  Parameters p = plain();
  // Six hosts of eight ranks: 2, 2 and 1 hosts below the edges from the root on, 16 MB each.
  EXPECT_EQ(network_levels(situation(Coll::kGather, 6), p, 1, false),
            (std::vector<double>{2 + 16000, 2 + 16000, 2 + 8000}));
  // A sum of 2 MB takes 500 us.
  EXPECT_EQ(network_levels(situation(Coll::kReduce, 6), p, 1, true),
            (std::vector<double>{1502, 1502, 1502}));
  p.node_us = 1;
  p.message_us = 10;
  p.handover_us = 100;
  EXPECT_EQ(network_levels(situation(Coll::kReduce, 2), p, 1, true),
            (std::vector<double>{2 + 10 + 2 + 1000 + 1 + 500}));
  // In three segments: what is not bytes comes three times.
  EXPECT_EQ(network_levels(situation(Coll::kBcast, 2), p, 3, false),
            (std::vector<double>{3 * 14 + 1000}));
  const auto host = predict(situation(Coll::kAllreduce, 1), kTree, p);
  const auto times = predict(situation(Coll::kAllreduce, 2), kTree, p);
  EXPECT_NEAR(times[0].folded_us, host[0].folded_us + 1515 + 1014 + 200, 1e-6);
}

TEST(NetworkModel, OfOneHostIsTheModelOfAHost) {
  const Parameters& p = *builtin_parameters("knl64");
  for (const Coll coll : {Coll::kBcast, Coll::kGather, Coll::kAllreduce})
    for (const int ranks : {2, 51, 63}) {
      Situation s = situation(coll, 1);
      s.ranks = s.application_cores = ranks;
      s.communication_cores = 64 - ranks;
      s.window_us = 3000;
      const Choice one = choose(s, p);
      Parameters slow = p;
      slow.network = {1e6, 1e-6};
      const Choice same = choose(s, slow);
      EXPECT_EQ(one.split, same.split);
      EXPECT_EQ(one.predicted_us, same.predicted_us);
      EXPECT_STREQ(one.algorithm, same.algorithm);
    }
}

// Levels that only the network has hide behind the computation: S stays as it is in one host.
TEST(NetworkModel, ChoosesTreesOverHostsAndKeepsMemoryLevelsOnly) {
  const Parameters& p = *builtin_parameters("knl64");
  for (const int ranks : {48, 56, 60, 62, 63}) {
    Situation s = situation(Coll::kReduce, 1024);
    s.ranks = s.application_cores = ranks;
    s.communication_cores = 64 - ranks;
    s.bytes = 2 << 20;
    const Choice choice = choose(s, p);
    EXPECT_TRUE(std::string_view(choice.algorithm).starts_with("tree")) << ranks;
    EXPECT_LE(choice.split, tree_height(ranks)) << ranks;
  }
  Situation s = situation(Coll::kBcast, 4);
  s.ranks = 1;  // a rank on each host
  EXPECT_EQ(predict_best(s, p).times.size(), 3u);
}

}  // namespace
}  // namespace mpc::nbc

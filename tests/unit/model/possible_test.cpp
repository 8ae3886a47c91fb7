// What the model says is possible: when handing over pays, and what is left of it.
#include "nbc/model/possible.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mpc::nbc {
namespace {

// Copies of 1 byte/ns, and nothing else costs anything.
Parameters plain() {
  Parameters p;
  p.machine = "plain";
  p.shape = {4, 4, 4};
  for (CopyCost& copy : p.copy) copy = {0, 1};
  p.reduce_gbs = 1;
  return p;
}

constexpr int64_t kBytes = 10'000;  // a copy takes 10 us

Situation situation(Coll coll, int ranks, int application, int communication,
                    double window_us) {
  Situation s;
  s.coll = coll;
  s.ranks = ranks;
  s.application_cores = application;
  s.communication_cores = communication;
  s.bytes = kBytes;
  s.window_us = window_us;
  return s;
}

TEST(Possible, HidesWhatFitsBehindTheLastRanksComputation) {
  const Possible p = possible(situation(Coll::kBcast, 2, 1, 1, 10), plain());
  EXPECT_NEAR(p.blocking_us, 10, 1e-9);
  EXPECT_NEAR(p.computation_us, 20, 1e-9);
  EXPECT_NEAR(p.kept_us, 30, 1e-9);
  EXPECT_NEAR(p.handed_us, 20, 1e-9);
  EXPECT_TRUE(p.hands_over());
  EXPECT_NEAR(p.hidden_share(), 1, 1e-9);
  // The first one's computation hides nothing: the other has not started.
  const Possible half = possible(situation(Coll::kBcast, 2, 1, 1, 5), plain());
  EXPECT_NEAR(half.handed_us, 15, 1e-9);
  EXPECT_NEAR(half.hidden_share(), 1, 1e-9);  // of what 5 us can hide
}

TEST(Possible, KeepsWhatIsInTheCacheOfTheRanksCore) {
  Parameters p = plain();
  p.caches = {{kBytes, 2, 12, 1, 6}};
  const Possible kept = possible(situation(Coll::kBcast, 2, 1, 1, 2.4), p);
  EXPECT_NEAR(kept.blocking_us, 2, 1e-9);
  EXPECT_NEAR(kept.kept_us, 6.8, 1e-9);
  EXPECT_NEAR(kept.handed_us, 14.4, 1e-9);
  EXPECT_FALSE(kept.hands_over());
  EXPECT_NEAR(kept.shortest_us(), 6.8, 1e-9);
  EXPECT_EQ(kept.hidden_share(), 0);
  // A window that covers the far copy makes it worth it.
  const Possible longer = possible(situation(Coll::kBcast, 2, 1, 1, 12), p);
  EXPECT_NEAR(longer.kept_us, 26, 1e-9);
  EXPECT_NEAR(longer.handed_us, 24, 1e-9);
  EXPECT_NEAR(longer.hidden_share(), 1, 1e-9);
}

TEST(Possible, SumsReadFromTheSendersMemory) {
  Parameters p = plain();
  p.caches = {{kBytes, 2, 12, 3, 7}};
  const Possible reduce = possible(situation(Coll::kReduce, 2, 1, 1, 4), p);
  EXPECT_NEAR(reduce.kept_us, 8 + 3, 1e-3);
  EXPECT_NEAR(reduce.handed_us, 4 + 7, 1e-3);
  const Possible both = possible(situation(Coll::kAllreduce, 2, 1, 1, 0), p);
  EXPECT_NEAR(both.kept_us, 3 + 2, 1e-3);
  EXPECT_NEAR(both.handed_us, 7 + 12, 1e-3);
}

TEST(Possible, CountsCallsAndHandingOverForEachRankOfACore) {
  Parameters p = plain();
  p.call_us = 1;
  p.handover_us = 0.5;
  const Possible long_copy = possible(situation(Coll::kBcast, 2, 1, 1, 4), p);
  EXPECT_NEAR(long_copy.kept_us, 2 * (1 + 4) + 10, 1e-9);
  // One tree level is handed over once more inside of the model of trees.
  EXPECT_NEAR(long_copy.handed_us, 2 * 1.5 + 4 + 2 * 0.5 + 10 + 0.5, 1e-9);
  const Possible long_window = possible(situation(Coll::kBcast, 2, 1, 1, 50), p);
  EXPECT_NEAR(long_window.handed_us, 2 * 1.5 + 100, 1e-9);
  EXPECT_NEAR(long_window.hidden_share(), 0.7, 1e-9);
}

TEST(Possible, RanksThatWaitTakePartInLongCopies) {
  Parameters p = plain();
  p.caches = {{kBytes, 10, 30, 5, 20}};
  // After 15 us half of the copy is left, for one that is as fast and one three times as fast.
  const Situation bcast = situation(Coll::kBcast, 2, 1, 1, 15);
  EXPECT_NEAR(possible(bcast, p).handed_us, 15 + 30, 1e-9);
  EXPECT_NEAR(possible(bcast, p, 0).handed_us, 15 + 30, 1e-9);
  EXPECT_NEAR(possible(bcast, p, kBytes + 1).handed_us, 15 + 30, 1e-9);
  EXPECT_NEAR(possible(bcast, p, kBytes).handed_us, 15 + 15 + 15 * 0.25, 1e-9);
  // A window that covers the copy leaves nothing to share.
  const Situation covered = situation(Coll::kBcast, 2, 1, 1, 40);
  EXPECT_NEAR(possible(covered, p, kBytes).handed_us, 80, 1e-9);
}

TEST(Possible, RanksThatWaitTakeNoPartInSums) {
  Parameters p = plain();
  p.caches = {{kBytes, 10, 30, 5, 20}};
  const Situation reduce = situation(Coll::kReduce, 2, 1, 1, 15);
  EXPECT_NEAR(possible(reduce, p, 1).handed_us, 15 + 20, 1e-3);
  // Up 20 us, then down 30 us, of which the ranks, who would need 15 us for both, do their part.
  const Situation both = situation(Coll::kAllreduce, 2, 1, 1, 15);
  EXPECT_NEAR(possible(both, p, 1).handed_us, 15 + 20 + 30 * 15.0 / (15 + 50), 1e-3);
  EXPECT_NEAR(possible(both, p, 0).handed_us, 15 + 50, 1e-3);
}

TEST(Possible, RanksOnCoresOfTheirOwnHaveNothingNear) {
  Parameters p = plain();
  p.caches = {{kBytes, 2, 12, 1, 6}};
  const Possible apart = possible(situation(Coll::kBcast, 2, 2, 1, 8), p);
  EXPECT_NEAR(apart.blocking_us, 10, 1e-9);  // cache to cache, as the model has it
  EXPECT_NEAR(apart.kept_us, 18, 1e-9);
  EXPECT_NEAR(apart.handed_us, 12, 1e-9);
}

TEST(Possible, NothingIsHiddenWithoutACoreForIt) {
  const Possible p = possible(situation(Coll::kGather, 2, 2, 0, 100), plain());
  EXPECT_TRUE(std::isinf(p.handed_us));
  EXPECT_FALSE(p.hands_over());
  EXPECT_EQ(p.hidden_share(), 0);
}

TEST(Possible, OwnBlocksCount) {
  const Possible gather = possible(situation(Coll::kGather, 2, 1, 1, 0), plain());
  EXPECT_NEAR(gather.blocking_us, 20, 1e-9);  // the root's own one, and one that comes
  const Possible scatter = possible(situation(Coll::kScatter, 3, 1, 1, 0), plain());
  EXPECT_NEAR(scatter.blocking_us, 30, 1e-9);
  const Possible p = possible(situation(Coll::kAlltoall, 2, 1, 1, 0), plain());
  EXPECT_NEAR(p.blocking_us, 40, 1e-9);
}

TEST(Possible, TheUsualWindowIsThatOfTheBenchmark) {
  const Possible p = possible(situation(Coll::kBcast, 2, 1, 1, -1), plain());
  EXPECT_NEAR(p.window_us, 12, 1e-9);
}

TEST(Possible, StaysBetweenTheComputationAndTheKeptCall) {
  Parameters machine = *builtin_parameters("generic");
  machine.call_us = 0.4;
  machine.caches = {{16 << 10, 0.5, 2, 0.6, 2.5}, {2 << 20, 120, 160, 170, 210}};
  for (Coll coll : {Coll::kBcast, Coll::kReduce, Coll::kAllreduce, Coll::kGather,
                    Coll::kScatter, Coll::kAlltoall, Coll::kAllgather})
    for (int ranks : {2, 3, 7})
      for (int application : {1, 2, 7})
        for (int communication : {0, 1, 3})
          for (int64_t bytes : {1 << 10, 64 << 10, 4 << 20})
            for (double window : {0.0, 3.0, 1e5}) {
              Situation s = situation(coll, ranks, std::min(ranks, application),
                                      communication, window);
              s.bytes = bytes;
              const Possible p = possible(s, machine);
              EXPECT_GE(p.shortest_us(), p.computation_us);
              EXPECT_LE(p.shortest_us(), p.kept_us);
              EXPECT_GE(p.hidden_share(), 0);
              EXPECT_LE(p.hidden_share(), 1);
              EXPECT_TRUE(std::isfinite(p.shortest_us()));
            }
}

TEST(CacheCost, LiesOnStraightLinesBetweenTheMeasuredSizes) {
  const std::vector<CacheCost> caches{{1000, 1, 2, 3, 4}, {3000, 5, 10, 15, 20}};
  EXPECT_EQ(cache_cost(caches, 1000), caches[0]);
  EXPECT_EQ(cache_cost(caches, 3000), caches[1]);
  EXPECT_EQ(cache_cost(caches, 2000), (CacheCost{2000, 3, 6, 9, 12}));
  EXPECT_EQ(cache_cost(caches, 500), (CacheCost{500, 0.5, 1, 1.5, 2}));
  EXPECT_EQ(cache_cost(caches, 6000), (CacheCost{6000, 10, 20, 30, 40}));
}

TEST(CacheCost, ShortestTakesEachFieldFromTheBetterPass) {
  EXPECT_EQ(shortest({1000, 1, 20, 3, 40}, {1000, 2, 10, 2, 50}),
            (CacheCost{1000, 1, 10, 2, 40}));
}

}  // namespace
}  // namespace mpc::nbc

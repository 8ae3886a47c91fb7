// The calibrated model: the paper's in the limit, and what real numbers must change.
#include "nbc/model/calibrated.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nbc/model/levels.h"
#include "nbc/model/paper.h"

namespace mpc::nbc {
namespace {

constexpr int64_t kTwoMiB = 2 << 20;

// Nothing but bandwidth, as much as there are cores.
Parameters ideal(int cores) {
  Parameters p;
  p.machine = "ideal";
  p.shape = {cores, cores, cores};
  for (CopyCost& copy : p.copy) copy = {0, 1};
  p.reduce_gbs = 1e9;
  return p;
}

Situation situation(Coll coll, int cores, int ranks, int64_t bytes = kTwoMiB) {
  Situation s;
  s.coll = coll;
  s.ranks = s.application_cores = ranks;
  s.communication_cores = cores - ranks;
  s.bytes = bytes;
  return s;
}

struct Pair {
  Coll coll;
  PaperOperation paper;
};
constexpr Pair kPairs[] = {{Coll::kBcast, {Weight::kConstant, 1}},
                           {Coll::kReduce, {Weight::kConstant, 1}},
                           {Coll::kScatter, {Weight::kDoubling, 1}},
                           {Coll::kGather, {Weight::kDoubling, 1}},
                           {Coll::kAllreduce, {Weight::kConstant, 2}}};
const Plan kBinomial{"binomial", Form::kTree, 2, 0};

// Complete trees and a core for every edge: then nothing is left but the levels.
TEST(CalibratedModel, IsThePapersWhenOnlyBandwidthCounts) {
  for (const Pair& pair : kPairs)
    for (int ranks : {2, 8, 32, 64}) {
      const int cores = 2 * ranks;
      Parameters p = ideal(cores);
      const Situation s = situation(pair.coll, cores, ranks);
      const double unit = copy_us(p, Reach::kNuma, kTwoMiB);
      const PaperRow row = paper_row(pair.paper, cores, ranks, tree_height(ranks));
      // The paper leaves out that inner ranks of scatter and gather copy their own block.
      const double own =
          pair.paper.weight == Weight::kDoubling ? tree_height(ranks) : 0;
      for (const SplitTime& time : predict(s, kBinomial, p)) {
        const double paper = row.nonblocking[static_cast<size_t>(time.split)];
        EXPECT_GE(time.nonblocking_us() / unit, paper - 1e-4) << name_of(pair.coll);
        EXPECT_LE(time.nonblocking_us() / unit, paper + own + 1e-4)
            << name_of(pair.coll);
      }
    }
}

// Folded levels overlap a little, and cores have not all the same to do: the paper counts
// neither.
TEST(CalibratedModel, LiesNearThePapersWhenFolded) {
  for (int cores : {48, 64})
    for (int ranks = cores / 2; ranks < cores; ++ranks) {
      const Parameters p = ideal(cores);
      const Situation s = situation(Coll::kBcast, cores, ranks);
      const double unit = copy_us(p, Reach::kNuma, kTwoMiB);
      const PaperRow row = paper_row({}, cores, ranks, 6);
      const double window = nominal_window_us(s, p);
      EXPECT_NEAR(window / unit, row.compute, 1e-4);
      const double best =
          best_of(predict(s, kBinomial, p), window).overlapped_us(window);
      EXPECT_NEAR(best / unit / row.best(), 1, 0.16) << ranks << " of " << cores;
    }
}

TEST(CalibratedModel, FoldsKeptLevelsOverTheApplicationCores) {
  const Parameters p = ideal(8);
  Situation s = situation(Coll::kBcast, 8, 8);
  s.ranks = 16;  // two ranks on each core, no spare core
  const double unit = copy_us(p, Reach::kNuma, kTwoMiB);
  EXPECT_NEAR(blocking_us(s, kBinomial, p) / unit, 4, 1e-9);
  s.application_cores = 4;
  EXPECT_NEAR(blocking_us(s, kBinomial, p) / unit, 5, 1e-9);
  s.application_cores = 1;
  EXPECT_NEAR(blocking_us(s, kBinomial, p) / unit, 15, 1e-9);
}

TEST(CalibratedModel, SlowsManyCopiesOfOneNumaNode) {
  Parameters p = ideal(64);
  p.numa_gbs = 8;
  EXPECT_NEAR(copy_us(p, Reach::kNuma, 1000, 4), 1, 1e-9);
  EXPECT_NEAR(copy_us(p, Reach::kNuma, 1000, 16), 2, 1e-9);
  const Situation s = situation(Coll::kBcast, 65, 64);
  const double unit = copy_us(p, Reach::kNuma, kTwoMiB);
  // 1, 2, 4, 8, 16, 32 copies at once.
  EXPECT_NEAR(blocking_us(s, kBinomial, p) / unit, 4 + 2 + 4, 1e-9);
}

TEST(CalibratedModel, CountsLatencyOnEveryLevel) {
  Parameters p = ideal(64);
  p.message_us = 1;
  p.node_us = 0.5;
  const Situation s = situation(Coll::kBcast, 64, 32, 0);
  EXPECT_NEAR(blocking_us(s, kBinomial, p), 5 * 2, 1e-9);
}

TEST(CalibratedModel, HasNoTimeForLevelsWithoutACore) {
  const Situation s = situation(Coll::kReduce, 8, 8);
  const auto times = predict(s, plans_for(s).front(), ideal(8));
  EXPECT_EQ(best_of(times, 100).split, 3);
  EXPECT_FALSE(std::isfinite(times[0].nonblocking_us()));
}

TEST(CalibratedModel, FourNomialTreesHaveHalfTheLevelsAndThreeTimesTheSends) {
  const Parameters p = ideal(64);
  const Situation s = situation(Coll::kBcast, 128, 64);
  const auto times = predict(s, {"knomial", Form::kTree, 4, 0}, p);
  EXPECT_EQ(times.size(), 4u);
  EXPECT_NEAR(times.back().kept_us / copy_us(p, Reach::kNuma, kTwoMiB), 9, 1e-9);
}

}  // namespace
}  // namespace mpc::nbc

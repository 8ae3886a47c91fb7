// The calibrated model: the paper's in the limit, and what real numbers must change.
#include "nbc/model/calibrated.h"

#include <gtest/gtest.h>

#include <cmath>

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

TEST(CalibratedModel, IsThePapersWhenOnlyBandwidthCounts) {
  struct Pair {
    Coll coll;
    PaperOperation paper;
  };
  for (const Pair& pair : {Pair{Coll::kBcast, {Weight::kConstant, 1}},
                           Pair{Coll::kReduce, {Weight::kConstant, 1}},
                           Pair{Coll::kScatter, {Weight::kDoubling, 1}},
                           Pair{Coll::kGather, {Weight::kDoubling, 1}},
                           Pair{Coll::kAllreduce, {Weight::kConstant, 2}}})
    for (int cores : {16, 48, 64}) {
      const Parameters p = ideal(cores);
      const double unit = copy_us(p, Reach::kNuma, kTwoMiB);
      for (const PaperRow& row : paper_table(pair.paper, cores)) {
        const Situation s = situation(pair.coll, cores, row.ranks);
        const double window = nominal_window_us(s, p);
        EXPECT_NEAR(window / unit, row.compute, 1e-4);
        for (const SplitTime& time : predict(s, {"binomial", Form::kTree, 2, 0}, p)) {
          const auto split = static_cast<size_t>(time.split);
          EXPECT_NEAR(time.nonblocking_us() / unit, row.nonblocking[split], 1e-4)
              << name_of(pair.coll) << " N " << row.ranks << " S " << split;
          EXPECT_NEAR(time.overlapped_us(window) / unit, row.overlapped[split], 1e-4);
        }
      }
    }
}

TEST(CalibratedModel, FoldsKeptLevelsOverTheApplicationCores) {
  const Parameters p = ideal(8);
  Situation s = situation(Coll::kBcast, 8, 8);
  s.ranks = 16;  // two ranks on each core, no spare core
  const Plan binomial{"binomial", Form::kTree, 2, 0};
  const double unit = copy_us(p, Reach::kNuma, kTwoMiB);
  EXPECT_NEAR(blocking_us(s, binomial, p) / unit, 4, 1e-9);
  s.application_cores = 4;
  EXPECT_NEAR(blocking_us(s, binomial, p) / unit, 5, 1e-9);
  s.application_cores = 1;
  EXPECT_NEAR(blocking_us(s, binomial, p) / unit, 15, 1e-9);
}

TEST(CalibratedModel, SlowsManyCopiesOfOneNumaNode) {
  Parameters p = ideal(64);
  p.numa_gbs = 8;
  EXPECT_NEAR(copy_us(p, Reach::kNuma, 1000, 4), 1, 1e-9);
  EXPECT_NEAR(copy_us(p, Reach::kNuma, 1000, 16), 2, 1e-9);
  const Situation s = situation(Coll::kBcast, 65, 64);
  const double unit = copy_us(p, Reach::kNuma, kTwoMiB);
  // 1, 2, 4, 8, 16, 32 copies at once.
  EXPECT_NEAR(blocking_us(s, {"binomial", Form::kTree, 2, 0}, p) / unit, 4 + 2 + 4,
              1e-9);
}

TEST(CalibratedModel, CountsLatencyOnEveryLevel) {
  Parameters p = ideal(64);
  p.message_us = 1;
  p.node_us = 0.5;
  const Situation s = situation(Coll::kBcast, 64, 32, 0);
  EXPECT_NEAR(blocking_us(s, {"binomial", Form::kTree, 2, 0}, p), 5 * 2, 1e-9);
}

TEST(CalibratedModel, HasNoTimeForLevelsWithoutACore) {
  const Situation s = situation(Coll::kReduce, 8, 8);
  const auto times = predict(s, plans_for(s).front(), ideal(8));
  EXPECT_EQ(best_of(times, 100).split, 3);
  EXPECT_FALSE(std::isfinite(times[0].nonblocking_us()));
}

TEST(CalibratedModel, QuadTreesHaveHalfTheLevelsAndThreeTimesTheSends) {
  const Parameters p = ideal(64);
  const Situation s = situation(Coll::kBcast, 128, 64);
  const auto times = predict(s, {"quad", Form::kTree, 4, 0}, p);
  EXPECT_EQ(times.size(), 4u);
  EXPECT_NEAR(times.back().kept_us / copy_us(p, Reach::kNuma, kTwoMiB), 9, 1e-9);
}

}  // namespace
}  // namespace mpc::nbc

#include "runtime/job/process_map.h"

#include <gtest/gtest.h>

namespace mpc::job {
namespace {

TEST(ProcessMap, OneProcessHasAllRanks) {
  const ProcessMap map(5);
  EXPECT_TRUE(map.is_one_process());
  EXPECT_EQ(map.ranks_of(0).first, 0);
  EXPECT_EQ(map.ranks_of(0).end, 5);
  EXPECT_EQ(map.process_of(4), 0);
  EXPECT_TRUE(map.share_memory(0, 4));
}

TEST(ProcessMap, EachRankIsInTheProcessWhoseRangeContainsIt) {
  for (int ranks = 1; ranks <= 20; ++ranks) {
    for (int processes = 1; processes <= ranks; ++processes) {
      const ProcessMap map = ProcessMap::in_blocks(ranks, processes);
      ASSERT_EQ(map.processes(), processes);
      EXPECT_EQ(map.ranks(), ranks);
      int next = 0;
      for (int p = 0; p < processes; ++p) {
        const RankRange range = map.ranks_of(p);
        EXPECT_EQ(range.first, next);
        EXPECT_GE(range.size(), ranks / processes);
        EXPECT_LE(range.size(), (ranks + processes - 1) / processes);
        for (int r = range.first; r < range.end; ++r) EXPECT_EQ(map.process_of(r), p);
        next = range.end;
      }
      EXPECT_EQ(next, ranks);
    }
  }
}

TEST(ProcessMap, RanksOfDifferentProcessesShareNoMemory) {
  const ProcessMap map = ProcessMap::in_blocks(4, 2);
  EXPECT_TRUE(map.share_memory(0, 1));
  EXPECT_FALSE(map.share_memory(1, 2));
  EXPECT_TRUE(map.share_memory(3, 2));
}

TEST(ProcessMap, ProcessesMayHaveDifferentNumbersOfRanks) {
  const ProcessMap map = ProcessMap::of_sizes({1, 5, 2});
  EXPECT_EQ(map.processes(), 3);
  EXPECT_EQ(map.ranks(), 8);
  EXPECT_EQ(map.ranks_of(1).first, 1);
  EXPECT_EQ(map.ranks_of(1).end, 6);
  EXPECT_EQ(map.process_of(0), 0);
  EXPECT_EQ(map.process_of(5), 1);
  EXPECT_EQ(map.process_of(6), 2);
  EXPECT_TRUE(ProcessMap::of_sizes({3}).is_one_process());
}

TEST(ProcessMap, ThereAreNoMoreProcessesThanRanks) {
  EXPECT_EQ(ProcessMap::in_blocks(3, 100).processes(), 3);
  EXPECT_EQ(ProcessMap::in_blocks(3, 0).processes(), 1);
}

}  // namespace
}  // namespace mpc::job

#include "scheduler/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace mpc::sched {
namespace {

using Table = std::vector<int>;

Table all_cores(const topo::Machine& machine) {
  Table cores(static_cast<size_t>(machine.core_count()));
  std::iota(cores.begin(), cores.end(), 0);
  return cores;
}

std::unique_ptr<topo::Machine> named(const char* name) {
  return std::move(topo::Machine::by_name(name)).value();
}

TEST(Shares, ArePartsOfTheMachineForWorkersEvenlyApart) {
  auto skylake = named("skylake48");
  const auto shares = share_cores(*skylake, {0, 12, 24, 36}, all_cores(*skylake));
  ASSERT_EQ(shares.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    Table part(12);
    std::iota(part.begin(), part.end(), 12 * i);
    EXPECT_EQ(shares[static_cast<size_t>(i)], part);
  }
}

TEST(Shares, AreEqualAndDisjointAndBeginWithTheWorkersCore) {
  auto knl = named("knl64");
  for (const Table& cores :
       {Table{0}, {0, 1}, {5, 3, 60}, {0, 2, 4, 6, 8, 10, 12}, all_cores(*knl)}) {
    const auto shares = share_cores(*knl, cores, all_cores(*knl));
    std::set<int> taken;
    for (size_t i = 0; i < cores.size(); ++i) {
      EXPECT_EQ(shares[i].front(), cores[i]);
      EXPECT_EQ(shares[i].size(), 64 / cores.size());
      for (const int core : shares[i]) EXPECT_TRUE(taken.insert(core).second) << core;
    }
  }
}

TEST(Shares, AreTakenFromThePoolOnly) {
  auto skylake = named("skylake48");
  EXPECT_EQ(share_cores(*skylake, {4, 6}, {4, 5, 6, 7, 7, 30}),
            (std::vector<Table>{{4, 5}, {6, 7}}));
  EXPECT_EQ(share_cores(*skylake, {4, 6}, {}), (std::vector<Table>{{4}, {6}}));
}

TEST(Placement, GivesNoWorkerTwoRanksWhileOneIsFree) {
  for (const char* name : {"knl64", "skylake48"}) {
    auto machine = named(name);
    for (Placement placement : {Placement::kScatter, Placement::kCompact}) {
      for (int ranks : {1, 2, 7, machine->core_count()}) {
        const Table table =
            *place_ranks(*machine, all_cores(*machine), ranks, placement);
        EXPECT_EQ(std::set<int>(table.begin(), table.end()).size(), table.size());
      }
    }
  }
}

TEST(Placement, ScatterTakesEachPackageAndTileBeforeAnyTwice) {
  auto skylake = named("skylake48");
  const Table two = *place_ranks(*skylake, all_cores(*skylake), 2, Placement::kScatter);
  EXPECT_NE(skylake->core(two[0]).package, skylake->core(two[1]).package);
  auto knl = named("knl64");
  const Table tiles = *place_ranks(*knl, all_cores(*knl), 32, Placement::kScatter);
  std::set<int> used;
  for (int core : tiles) EXPECT_TRUE(used.insert(core / 2).second) << core;
}

TEST(Placement, CompactPutsNeighboursTogether) {
  auto skylake = named("skylake48");
  EXPECT_EQ(*place_ranks(*skylake, all_cores(*skylake), 4, Placement::kCompact),
            (Table{0, 1, 2, 3}));
  EXPECT_EQ(*place_ranks(*skylake, {5, 3}, 6, Placement::kCompact),
            (Table{1, 1, 1, 0, 0, 0}));
}

TEST(Placement, ManyRanksAreSpreadEvenly) {
  auto knl = named("knl64");
  for (Placement placement : {Placement::kScatter, Placement::kCompact}) {
    const Table table = *place_ranks(*knl, all_cores(*knl), 1000, placement);
    std::vector<int> load(64);
    for (int worker : table) ++load[static_cast<size_t>(worker)];
    EXPECT_LE(*std::max_element(load.begin(), load.end()), 16);
    EXPECT_GE(*std::min_element(load.begin(), load.end()), 15);
  }
}

TEST(Placement, ListIsTakenCyclicallyAndNamesCores) {
  auto knl = named("knl64");
  EXPECT_EQ(*place_ranks(*knl, {10, 20, 30}, 5, Placement::kList, {30, 10}),
            (Table{2, 0, 2, 0, 2}));
  EXPECT_FALSE(place_ranks(*knl, {10, 20}, 5, Placement::kList, {11}).ok());
  EXPECT_FALSE(place_ranks(*knl, {10, 20}, 5, Placement::kList, {}).ok());
  EXPECT_FALSE(place_ranks(*knl, {}, 5, Placement::kScatter).ok());
  EXPECT_FALSE(place_ranks(*knl, {1}, 0, Placement::kScatter).ok());
}

}  // namespace
}  // namespace mpc::sched

#include "mpi/objects/group_table.h"

#include <gtest/gtest.h>

#include <thread>

#include "nbc/algorithms/nest.h"

namespace mpc::mpi {
namespace {

TEST(GroupTable, IsOneObjectForEqualContent) {
  const GroupRef a = GroupTable::make({3, 1, 4});
  EXPECT_EQ(a, GroupTable::make({3, 1, 4}));
  EXPECT_NE(a, GroupTable::make({3, 4, 1}));
  EXPECT_EQ(GroupTable::world(5), GroupTable::make({0, 1, 2, 3, 4}));
  EXPECT_EQ(GroupTable::empty(), GroupTable::make({}));
}

TEST(GroupTable, HasHomesWhereMembersShareOneOfSeveralProcesses) {
  const job::ProcessMap map = job::ProcessMap::in_blocks(8, 4);
  const GroupRef shares = GroupTable::make({5, 0, 4, 7});
  const nbc::Homes* homes = shares->homes(map);
  ASSERT_NE(homes, nullptr);
  EXPECT_EQ(shares->homes(map), homes);
  EXPECT_EQ(homes->most_in_process(), 2);
  EXPECT_EQ(homes->all().tree(2, 0).parent, 0);  // 4 lives where 5 does
  EXPECT_EQ(GroupTable::make({0, 2, 4, 6})->homes(map), nullptr);
}

TEST(GroupTable, FindsMembersInAnyOrder) {
  for (const std::vector<int>& ranks :
       {std::vector<int>{0, 1, 2, 3}, {9, 7, 5, 3}, {2, 8, 4, 1}, {6}, {}}) {
    const GroupRef table = GroupTable::make(ranks);
    ASSERT_EQ(table->size(), static_cast<int>(ranks.size()));
    for (int world = -2; world < 12; ++world) {
      const auto it = std::find(ranks.begin(), ranks.end(), world);
      const int expected =
          it == ranks.end() ? -1 : static_cast<int>(it - ranks.begin());
      EXPECT_EQ(table->index_of(world), expected) << world;
    }
  }
}

TEST(GroupTable, StaysOneObjectUnderConcurrentMakersAndDroppers) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 2000; ++i) {
        const GroupRef a = GroupTable::make({i % 7, 100, 50 + i % 3});
        const GroupRef b = GroupTable::make({i % 7, 100, 50 + i % 3});
        ASSERT_EQ(a, b);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace mpc::mpi

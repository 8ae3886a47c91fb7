// GrowingTable: slots that stay where they are.
#include "runtime/job/growing_table.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace mpc::job {
namespace {

TEST(GrowingTable, KeepsItsSlotsWhileItGrows) {
  GrowingTable<int> table;
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.get(0), nullptr);
  table.grow(1);
  std::atomic<int*>* const first = &table.slot(0);
  table.put(0, std::make_unique<int>(7));
  for (const size_t count : {64u, 65u, 191u, 192u, 193u, 100'000u}) {
    table.grow(count);
    EXPECT_EQ(table.size(), count);
    EXPECT_EQ(&table.slot(0), first);
    table.put(count - 1, std::make_unique<int>(static_cast<int>(count)));
    EXPECT_EQ(*table.get(count - 1), static_cast<int>(count));
    EXPECT_EQ(table.get(count), nullptr);
  }
  table.grow(5);
  EXPECT_EQ(table.size(), 100'000u) << "it does not shrink";
  EXPECT_EQ(*table.get(0), 7);
  EXPECT_EQ(table.get(1), nullptr) << "nothing has been put there";
}

TEST(GrowingTable, HasASlotOfItsOwnForEachIndex) {
  GrowingTable<size_t> table;
  constexpr size_t kCount = 1000;
  table.grow(kCount);
  for (size_t i = 0; i < kCount; ++i) table.put(i, std::make_unique<size_t>(i));
  for (size_t i = 0; i < kCount; ++i) EXPECT_EQ(*table.get(i), i);
}

TEST(GrowingTable, IsReadWhileItGrows) {
  GrowingTable<size_t> table;
  constexpr size_t kCount = 20'000;
  std::thread reader([&table] {
    for (size_t seen = 0; seen < kCount;) {
      const size_t* const value = table.get(seen);
      if (value == nullptr) continue;
      ASSERT_EQ(*value, seen);
      ++seen;
    }
  });
  for (size_t i = 0; i < kCount; ++i) {
    table.grow(i + 1);
    table.put(i, std::make_unique<size_t>(i));
  }
  reader.join();
}

}  // namespace
}  // namespace mpc::job

#include "runtime/heap/chunk.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "runtime/heap/size_class.h"

namespace mpc::heap {
namespace {

TEST(SizeClass, IsTheSmallestThatHoldsTheBlock) {
  for (size_t bytes = 0; bytes <= kSmallBytes; ++bytes) {
    const int c = class_of(bytes);
    ASSERT_GE(c, 0);
    ASSERT_LT(c, kClassCount);
    ASSERT_GE(bytes_of_class(c), bytes);
    ASSERT_EQ(bytes_of_class(c) % kAlignment, 0u);
    if (c > 0) {
      ASSERT_LT(bytes_of_class(c - 1), std::max<size_t>(bytes, 1)) << bytes;
    }
  }
}

TEST(AddressMap, KnowsOnlyWhatIsThere) {
  int on_stack = 0;
  EXPECT_EQ(AddressMap::find(&on_stack), nullptr);
  EXPECT_EQ(AddressMap::find(nullptr), nullptr);
  EXPECT_EQ(AddressMap::find(reinterpret_cast<void*>(~uintptr_t{0})), nullptr);
  Chunk* chunk = Chunk::make(nullptr, 2 * kSlotBytes, 0, false, -1);
  ASSERT_NE(chunk, nullptr);
  char* begin = reinterpret_cast<char*>(chunk);
  EXPECT_EQ(AddressMap::find(begin), chunk);
  EXPECT_EQ(AddressMap::find(begin + 2 * kSlotBytes - 1), chunk);
  EXPECT_NE(AddressMap::find(begin + 2 * kSlotBytes), chunk);
  chunk->destroy();
  EXPECT_EQ(AddressMap::find(begin), nullptr);
}

// Free runs without any order, as a heap's bins are for a chunk.
struct Runs {
  explicit Runs(size_t bytes)
      : chunk(Chunk::make(nullptr, bytes, 0, false, -1)), free{chunk->only_run()} {}
  ~Runs() { chunk->destroy(); }

  char* take(uint32_t granules) {
    for (FreeRun* run : free) {
      if (run->granules < granules) continue;
      free.erase(run);
      if (FreeRun* rest = chunk->cut(run, granules)) free.insert(rest);
      return reinterpret_cast<char*>(run);
    }
    return nullptr;
  }
  void give(char* run, uint32_t granules) {
    free.insert(chunk->join(run, granules, [this](FreeRun* neighbour) {
      EXPECT_EQ(free.erase(neighbour), 1u) << "joined with a run that is not free";
    }));
  }

  Chunk* chunk;
  std::set<FreeRun*> free;
};

TEST(Chunk, JoinsWhatIsFreedToOneRunAgainInAnyOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    Runs runs(4 * kSlotBytes);
    const uint32_t whole = runs.chunk->only_run()->granules;
    std::vector<std::pair<char*, uint32_t>> used;
    std::map<char*, char*> ends;
    for (int i = 0; i < 2000; ++i) {
      if (random() % 3 != 0) {
        const auto granules =
            static_cast<uint32_t>(1 + random() % (random() % 10 == 0 ? 500 : 20));
        char* run = runs.take(granules);
        if (run == nullptr) continue;
        char* end = run + granules * kGranuleBytes;
        const auto next = ends.lower_bound(run);
        ASSERT_TRUE(next == ends.end() || end <= next->first) << "runs overlap";
        ASSERT_TRUE(next == ends.begin() || std::prev(next)->second <= run);
        ends[run] = end;
        used.emplace_back(run, granules);
        EXPECT_EQ(runs.chunk->run_of(run), run);
        EXPECT_EQ(runs.chunk->run_of(end - 1), run);
      } else if (!used.empty()) {
        std::swap(used[random() % used.size()], used.back());
        runs.give(used.back().first, used.back().second);
        ends.erase(used.back().first);
        used.pop_back();
      }
    }
    EXPECT_FALSE(runs.chunk->is_empty());
    std::shuffle(used.begin(), used.end(), random);
    for (const auto& [run, granules] : used) runs.give(run, granules);
    EXPECT_TRUE(runs.chunk->is_empty());
    ASSERT_EQ(runs.free.size(), 1u);
    EXPECT_EQ((*runs.free.begin())->granules, whole);
  }
}

}  // namespace
}  // namespace mpc::heap

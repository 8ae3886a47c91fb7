// Which memory the kernel is asked for: what is touched, not what is allocated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "runtime/heap/heap.h"
#include "runtime/heap/large_blocks.h"
#include "runtime/heap/memory.h"
#include "runtime/heap/owner.h"
#include "runtime/heap/thread_heap.h"

namespace mpc::heap {
namespace {

constexpr int kFirstRank = 2000;  // ranks of these tests begin here, each has its own
constexpr size_t kArrayBytes = 3 << 19;
constexpr size_t kPagesOfOne = 4;  // that a block of which one byte is touched may have

template <class Body>
void as_thread_of(int rank, Body body) {
  std::thread([&] {
    enter_owner(rank, -1);
    body();
  }).join();
}

void* array(size_t bytes) {
  bool is_zero;
  return bytes > kMediumBytes ? allocate_large(*thread_heap(), bytes, 16, &is_zero)
                              : thread_heap()->allocate(bytes);
}

void give_back(void* block) {
  Region& region = *AddressMap::find(block);
  if (region.kind == RegionKind::kLarge)
    release_large(static_cast<Large&>(region), block, t_heap);
  else
    t_heap->free_own(static_cast<Chunk&>(region), block);
}

// Of whole pages from the one in which the block begins.
size_t resident_of(void* block, size_t bytes) {
  auto* const page = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(block) /
                                             kPageBytes * kPageBytes);
  return resident_bytes(page, round_up(bytes, kPageBytes));
}

class TouchedLittle : public testing::TestWithParam<size_t> {};

TEST_P(TouchedLittle, CostsLittleWhileItIsKept) {
  as_thread_of(kFirstRank, [] {
    std::vector<void*> blocks;
    for (int i = 0; i < 40; ++i) {
      blocks.push_back(array(GetParam()));
      *static_cast<char*>(blocks.back()) = 1;
    }
    size_t resident = 0;
    for (void* block : blocks) resident += resident_of(block, GetParam());
    EXPECT_LE(resident, blocks.size() * kPagesOfOne * kPageBytes);
    for (void* block : blocks) give_back(block);
  });
}

TEST_P(TouchedLittle, CostsLittleWhereItIsFreedEachTime) {
  as_thread_of(kFirstRank + 1, [] {
    for (int i = 0; i < 40; ++i) {
      void* block = array(GetParam());
      *static_cast<char*>(block) = 1;
      EXPECT_LE(resident_of(block, GetParam()), kPagesOfOne * kPageBytes);
      give_back(block);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Blocks, TouchedLittle,
                         testing::Values(200000, kArrayBytes, 5 << 20, 40 << 20));

bool has_huge_pages(void* block) {
  return static_cast<Chunk*>(AddressMap::find(block))->is_huge();
}

TEST(Arrays, HaveHugePagesOnceThoseBeforeAreUsed) {
  constexpr int kCount = 30;
  as_thread_of(kFirstRank + 2, [] {
    std::vector<void*> blocks;
    for (int i = 0; i < kCount; ++i) {
      blocks.push_back(array(kArrayBytes));
      std::memset(blocks.back(), 1, kArrayBytes);
    }
    EXPECT_FALSE(has_huge_pages(blocks.front()));
    EXPECT_TRUE(has_huge_pages(blocks.back()));
    for (void* block : blocks) give_back(block);
  });
  as_thread_of(kFirstRank + 3, [] {
    std::vector<void*> blocks;
    for (int i = 0; i < kCount; ++i) blocks.push_back(array(kArrayBytes));
    EXPECT_EQ(std::count_if(blocks.begin(), blocks.end(), has_huge_pages), 0);
    for (void* block : blocks) give_back(block);
  });
}

TEST(Arrays, SmallBlocksOfALargeHeapHaveHugePages) {
  as_thread_of(kFirstRank + 4, [] {
    std::vector<void*> blocks;
    for (size_t bytes = 0; bytes < size_t{40} << 20; bytes += 1000)
      blocks.push_back(thread_heap()->allocate(1000));
    EXPECT_TRUE(has_huge_pages(blocks.back()));
    for (void* block : blocks) give_back(block);
  });
}

// What calloc() need not clear: over blocks that are written, freed, joined and given back to the kernel.
TEST(Medium, IsZeroWhereItSaysSo) {
  as_thread_of(kFirstRank + 5, [] {
    constexpr unsigned kSeed = 20261126;
    SCOPED_TRACE(testing::Message() << "seed " << kSeed);
    std::mt19937 random(kSeed);
    struct Block {
      char* begin;
      size_t bytes;
    };
    std::vector<Block> blocks;
    int zeros = 0, others = 0;
    for (int i = 0; i < 4000; ++i) {
      if (blocks.size() > 60 || (!blocks.empty() && random() % 3 == 0)) {
        const size_t which = random() % blocks.size();
        give_back(blocks[which].begin);
        blocks[which] = blocks.back();
        blocks.pop_back();
      } else {
        const size_t bytes = kSmallBytes + 1 + random() % 300000;
        bool is_zero = false;
        auto* begin = static_cast<char*>(
            thread_heap()->allocate_medium(bytes, kAlignment, &is_zero));
        ASSERT_NE(begin, nullptr);
        (is_zero ? zeros : others) += 1;
        if (is_zero) {
          ASSERT_EQ(std::count(begin, begin + bytes, 0), static_cast<ptrdiff_t>(bytes));
        }
        std::memset(begin, 0xa5, bytes);
        blocks.push_back({begin, bytes});
      }
      if (i % 200 == 199) thread_heap()->trim();
    }
    EXPECT_GT(zeros, 20);
    EXPECT_GT(others, 100);
    for (const Block& block : blocks) give_back(block.begin);
  });
}

}  // namespace
}  // namespace mpc::heap

#include "runtime/heap/heap.h"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "runtime/heap/first_chunk.h"
#include "runtime/heap/large_blocks.h"
#include "runtime/heap/owner.h"
#include "runtime/heap/thread_heap.h"

namespace mpc::heap {
namespace {

constexpr int kManyRanks = 1000;  // ranks of these tests begin here, each has its own

uintptr_t page_of(const void* address) {
  return reinterpret_cast<uintptr_t>(address) / kPageBytes;
}

void give_back(void* block) {
  Region* region = AddressMap::find(block);
  ASSERT_NE(region, nullptr);
  if (region->kind == RegionKind::kLarge) {
    release_large(*static_cast<Large*>(region), block, t_heap);
  } else if (region->heap == t_heap) {
    t_heap->free_own(*static_cast<Chunk*>(region), block);
  } else {
    region->heap->free_remote(block);
  }
}

std::set<uintptr_t> pages_of(const std::vector<void*>& blocks) {
  std::set<uintptr_t> pages;
  for (const void* block : blocks) pages.insert(page_of(block));
  return pages;
}

bool share_a_page(const std::vector<void*>& a, const std::vector<void*>& b) {
  const auto pages = pages_of(a);
  return std::any_of(b.begin(), b.end(),
                     [&](void* block) { return pages.count(page_of(block)) != 0; });
}

// As a thread of a rank runs it.
template <class Body>
void as_thread_of(int rank, Body body) {
  std::thread([&] {
    enter_owner(rank, -1);
    body();
  }).join();
}

TEST(Heap, BlocksOfARankThatOthersFreedAreUsedByThatRankOnly) {
  std::vector<void*> mine, others;
  const int a = kManyRanks, b = kManyRanks + 1;
  as_thread_of(a, [&] {
    for (int i = 0; i < 20000; ++i) mine.push_back(thread_heap()->allocate(24));
    std::thread([&] {  // the other rank frees half of them, and allocates
      enter_owner(b, -1);
      for (size_t i = 0; i < mine.size(); i += 2) give_back(mine[i]);
      for (int i = 0; i < 20000; ++i) others.push_back(thread_heap()->allocate(24));
    })
        .join();
    EXPECT_FALSE(share_a_page(mine, others));
    for (size_t i = 0; i < mine.size(); i += 2) mine[i] = thread_heap()->allocate(24);
    EXPECT_FALSE(share_a_page(mine, others));
    EXPECT_EQ(std::set<void*>(mine.begin(), mine.end()).size(), mine.size());
  });
}

TEST(Heap, WhatAThreadLeavesIsContinuedByThreadsOfItsRankOnly) {
  std::vector<void*> left, other_rank, same_rank;
  const int a = kManyRanks + 2, b = kManyRanks + 3;
  as_thread_of(a, [&] {
    for (int i = 0; i < 5000; ++i) left.push_back(thread_heap()->allocate(24));
    for (size_t i = 1; i < left.size(); i += 2) give_back(left[i]);
  });
  as_thread_of(b, [&] {
    for (int i = 0; i < 5000; ++i) other_rank.push_back(thread_heap()->allocate(24));
  });
  as_thread_of(a, [&] {
    for (int i = 0; i < 2000; ++i) same_rank.push_back(thread_heap()->allocate(24));
  });
  EXPECT_FALSE(share_a_page(left, other_rank));
  EXPECT_TRUE(share_a_page(left, same_rank))
      << "the memory of ended threads is not used again";
}

TEST(Heap, KeepsContentsUnderThreadsThatFreeForEachOther) {
  constexpr int kThreads = 4, kRounds = 20000, kPlaces = 256;
  struct alignas(64) Place {
    std::atomic<unsigned char*> block{nullptr};
  };
  static Place places[kPlaces];
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::atomic<int> broken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      enter_owner(kManyRanks + 4 + t % 2, -1);
      std::mt19937 random(seed + static_cast<unsigned>(t));
      for (int i = 0; i < kRounds; ++i) {
        // The first word of a block says how long it is, its last byte repeats a part of that.
        auto bytes =
            static_cast<uint32_t>(8 + random() % (random() % 50 == 0 ? 60000 : 600));
        auto* block = static_cast<unsigned char*>(thread_heap()->allocate(bytes));
        std::memcpy(block, &bytes, sizeof bytes);
        block[bytes - 1] = static_cast<unsigned char>(bytes);
        block =
            places[random() % kPlaces].block.exchange(block, std::memory_order_acq_rel);
        if (block == nullptr) continue;
        std::memcpy(&bytes, block, sizeof bytes);
        if (bytes > 70000 || block[bytes - 1] != static_cast<unsigned char>(bytes))
          ++broken;
        give_back(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken.load(), 0);
  for (Place& place : places)
    if (place.block.load() != nullptr) give_back(place.block.exchange(nullptr));
}

TEST(Heap, AlignsAnyLengthToAnyPowerOfTwo) {
  as_thread_of(kManyRanks + 6, [] {
    std::vector<void*> blocks;
    for (size_t alignment = 32; alignment <= 1 << 20; alignment *= 2) {
      for (const size_t bytes : {16, 100, 5000, 70000}) {
        void* block = thread_heap()->allocate_aligned(bytes, alignment);
        ASSERT_NE(block, nullptr);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
        std::memset(block, 1, bytes);
        blocks.push_back(block);
      }
    }
    for (void* block : blocks) give_back(block);
  });
}

TEST(Heap, GivesMemoryBackAtTheEndOfItsThread) {
  const int rank = kManyRanks + 7;
  std::vector<void*> blocks;
  as_thread_of(rank, [&] {
    for (int i = 0; i < 200; ++i) {
      blocks.push_back(thread_heap()->allocate(300000));
      std::memset(blocks.back(), 1, 300000);
    }
    for (void* block : blocks) give_back(block);
  });
  EXPECT_EQ(owner_of(rank).heaps.load()->usage().used_bytes, 0u);
  EXPECT_EQ(owner_of(rank).heaps.load()->usage().mapped_bytes, kFirstChunkBytes);
}

TEST(Heap, ASmallOneNeedsFewPages) {
  const int rank = kManyRanks + 8;
  as_thread_of(rank, [] {
    for (size_t bytes = 16; bytes <= 1024; bytes += 16)
      std::memset(thread_heap()->allocate(bytes), 1, bytes);
  });
  auto* chunk =
      reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(owner_of(rank).heaps.load()) /
                              kSlotBytes * kSlotBytes);
  std::vector<unsigned char> present(kFirstChunkBytes / kPageBytes);
  ASSERT_EQ(::mincore(chunk, kFirstChunkBytes, present.data()), 0);
  const auto pages = std::count_if(present.begin(), present.end(),
                                   [](unsigned char page) { return (page & 1) != 0; });
  EXPECT_LE(pages, 20) << "64 blocks of 33 KiB together";
}

TEST(Heap, LiesOnTheNodeOfItsRank) {
  const auto policy_at = [](void* address) {
    int mode = -1;
    unsigned long mask[16] = {};
    if (::syscall(SYS_get_mempolicy, &mode, mask, 1024, address, MPOL_F_ADDR) != 0)
      return -2;
    return mode == MPOL_PREFERRED && mask[0] == 1 ? 0 : -1;
  };
  std::thread([&] {
    enter_owner(kManyRanks + 9, 0);
    void* small = thread_heap()->allocate(10);
    if (policy_at(small) == -2) GTEST_SKIP() << "no NUMA in this kernel";
    EXPECT_EQ(policy_at(small), 0);
    EXPECT_EQ(policy_at(thread_heap()->allocate(kMediumBytes)), 0);
    bool is_zero = false;
    void* large =
        allocate_large(*thread_heap(), 2 * kMediumBytes, kAlignment, &is_zero);
    EXPECT_EQ(policy_at(large), 0);
    give_back(large);
  }).join();
}

TEST(Large, IsZeroUnlessItIsUsedAgainAndKeepsItsContentWhenItGrows) {
  as_thread_of(kManyRanks + 10, [] {
    constexpr size_t kBytes = 10 << 20;
    bool is_zero = false;
    auto* block =
        static_cast<char*>(allocate_large(*thread_heap(), kBytes, 16, &is_zero));
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(is_zero);
    std::memset(block, 5, kBytes);
    for (const size_t bytes : {3 * kBytes, 20 * kBytes, 2 * kBytes}) {
      auto& large = *static_cast<Large*>(AddressMap::find(block));
      block = static_cast<char*>(resize_large(large, bytes));
      ASSERT_NE(block, nullptr);
      EXPECT_GE(static_cast<Large*>(AddressMap::find(block))->usable_bytes(), bytes);
      EXPECT_EQ(std::count(block, block + kBytes, 5), static_cast<ptrdiff_t>(kBytes));
    }
    give_back(block);
    void* again = allocate_large(*thread_heap(), 2 * kBytes, 16, &is_zero);
    EXPECT_EQ(again, block);
    EXPECT_FALSE(is_zero);
    give_back(again);
  });
}

TEST(Large, HasNoMemoryForWhatNoMachineHas) {
  as_thread_of(kManyRanks + 11, [] {
    bool is_zero = false;
    EXPECT_EQ(allocate_large(*thread_heap(), size_t{1} << 50, 16, &is_zero), nullptr);
  });
}

TEST(HeapDeathTest, NamesTheRankThatFreesTwice) {
  EXPECT_DEATH(
      {
        enter_owner(42, -1);
        void* block = thread_heap()->allocate(100);
        give_back(block);
        give_back(block);
      },
      "mpcrun: rank 42: free\\(\\): the memory is free already");
}

TEST(HeapDeathTest, NoticesASecondFreeAfterOthers) {
  EXPECT_DEATH(
      {
        enter_owner(43, -1);
        void* blocks[4];
        for (void*& block : blocks) block = thread_heap()->allocate(24);
        for (void* block : blocks) give_back(block);
        give_back(blocks[1]);
      },
      "rank 43: free\\(\\): the memory is free already");
}

TEST(HeapDeathTest, NoticesAPointerIntoABlock) {
  EXPECT_DEATH(
      {
        enter_owner(45, -1);
        auto* block = static_cast<char*>(thread_heap()->allocate(100));
        static_cast<void>(thread_heap()->allocate(100));
        give_back(block + 8);
      },
      "rank 45: free\\(\\): not the beginning of an allocation");
}

TEST(HeapDeathTest, NoticesASecondFreeByAnotherThread) {
  void* block = nullptr;
  as_thread_of(kManyRanks + 12, [&] {
    block = thread_heap()->allocate(24);
    static_cast<void>(thread_heap()->allocate(24));
  });
  EXPECT_DEATH(
      {
        enter_owner(44, -1);
        give_back(block);
        give_back(block);
      },
      "rank 44: free\\(\\): the memory is free already");
}

// A small block that was freed leaves its mark; whatever is made at the same address later is none.
TEST(Heap, TakesWhatLaterBlocksHaveInsteadOfASmallOneBack) {
  constexpr size_t kBytes = 2 << 20;
  as_thread_of(kManyRanks + 13, [] {
    std::vector<void*> small;
    for (size_t bytes = 0; bytes < kBytes; bytes += 32)
      small.push_back(thread_heap()->allocate(32));
    for (void* block : small) give_back(block);
    std::vector<void*> later;
    for (size_t bytes = 0; bytes < kBytes; bytes += 4096) {
      later.push_back(thread_heap()->allocate(16384));
      later.push_back(thread_heap()->allocate_aligned(64, 128));
      later.push_back(thread_heap()->allocate_aligned(10000, 64));
    }
    std::thread([&later] {
      for (size_t i = 0; i < later.size(); i += 2) give_back(later[i]);
    }).join();
    for (size_t i = 1; i < later.size(); i += 2) give_back(later[i]);
  });
}

}  // namespace
}  // namespace mpc::heap

#include "mpi/objects/context_ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

namespace mpc::mpi {
namespace {

TEST(ContextIds, BeginWhereASingleProcessAlwaysBegan) {
  ContextIds ids(0, 1);
  EXPECT_EQ(ids.take(1), (ContextGrant{64, 1}));
  EXPECT_EQ(ids.take(3), (ContextGrant{66, 3}));
  EXPECT_EQ(ids.take(1).first, 72u);
}

TEST(ContextIds, OfTwoProcessesAreNeverTheSame) {
  for (const int processes : {1, 2, 3, 1000, 1 << 20}) {
    for (const int index : {0, 1, processes / 2, processes - 1}) {
      if (index >= processes) continue;
      ContextIds ids(index, processes);
      const uint64_t first = ids.take(1).first;
      EXPECT_EQ(first % 2, 0u);
      if (index == 0) {
        EXPECT_EQ(first, 64u);
      }
      // The whole range up to its end belongs to this process.
      const uint64_t size = (ContextIds::kEndPair - ContextIds::kFirstPair) / processes;
      EXPECT_EQ(first, 64 + 2 * size * index);
      EXPECT_LE(first + 2 * size, uint64_t{kPartitionedBit});
    }
  }
}

// A range so short that it ends soon.
constexpr int kMany = 1 << 20;
constexpr uint64_t kSize = (ContextIds::kEndPair - ContextIds::kFirstPair) / kMany;

TEST(ContextIds, ComeAgainOnlyWhenAllOthersHaveBeenGivenOut) {
  ContextIds ids(5, kMany);
  const msg::ContextId first = ids.take(1).first;
  std::vector<msg::ContextId> round;
  for (uint64_t i = 1; i < kSize; ++i) round.push_back(ids.take(1).first);
  EXPECT_EQ(round.back(), first + 2 * (kSize - 1));
  // The first eighth stays with those that were made first.
  const msg::ContextId kept_end = first + static_cast<msg::ContextId>(2 * (kSize / 8));
  for (int again = 0; again < 2; ++again)
    for (msg::ContextId id = kept_end; id < first + 2 * kSize; id += 2)
      ASSERT_EQ(ids.take(1).first, id);
}

TEST(ContextIds, GrantsStayInsideTheRangeAndApartWithinARound) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  ContextIds ids(7, kMany);
  const uint64_t begin = 64 + 2 * 7 * kSize, end = begin + 2 * kSize;
  uint64_t last_end = begin;
  int rounds = 0;
  for (int i = 0; i < 20000; ++i) {
    const ContextGrant grant = ids.take(static_cast<int>(1 + random() % 12));
    ASSERT_GE(grant.first, begin);
    ASSERT_LE(grant.id(grant.pairs), end);
    if (grant.first < last_end) {
      ++rounds;
      ASSERT_GE(grant.first, begin + 2 * (kSize / 8));
    }
    last_end = grant.id(grant.pairs);
  }
  EXPECT_GT(rounds, 1);
}

TEST(ContextIds, AreGivenOnceUnderFourTakers) {
  ContextIds ids(0, 1);
  std::vector<msg::ContextId> taken[4];
  std::vector<std::thread> threads;
  for (auto& mine : taken)
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) mine.push_back(ids.take(2).first);
    });
  for (auto& thread : threads) thread.join();
  std::vector<msg::ContextId> all;
  for (const auto& mine : taken) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], 64 + 4 * i);
}

}  // namespace
}  // namespace mpc::mpi

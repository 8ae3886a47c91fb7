// Credit: what is granted, what is told, and what is never lost.
#include "runtime/message/credit.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace mpc::msg {
namespace {

constexpr size_t kLimit = 1 << 20;

// Ranks 0 and 1, one in each process: 0 sends.
struct Pair {
  explicit Pair(size_t bytes = kLimit)
      : sender(map, 0, bytes), receiver(map, 1, bytes) {}
  bool send(size_t bytes) { return sender.take(1, bytes); }
  // True: a message of its own goes for it.
  bool receive(size_t bytes) {
    if (!receiver.note_received(0, 1, bytes)) return false;
    return answer();
  }
  bool answer() {
    const uint32_t units = receiver.collect(0, 1);
    sender.give_back(1, units);
    return units != 0;
  }

  const job::ProcessMap map = job::ProcessMap::in_blocks(2, 2);
  Credit sender, receiver;
};

TEST(Credit, GrantsNoMoreMemoryThanTheShare) {
  Pair pair;
  size_t memory = 0;
  while (pair.send(8192)) memory += EagerPool::memory_of(8192);
  EXPECT_LE(memory, kLimit);
  EXPECT_GT(memory, kLimit - 2 * EagerPool::memory_of(8192));
  while (pair.send(0)) memory += EagerPool::memory_of(0);
  EXPECT_LE(memory, kLimit);
  EXPECT_FALSE(pair.send(1));
}

TEST(Credit, IsSharedByTheProcessesThatSend) {
  const auto map = job::ProcessMap::in_blocks(10, 5);
  EXPECT_EQ(Credit(map, 0, kLimit).share_bytes(), kLimit / 4);
  const auto large = job::ProcessMap::in_blocks(1000, 1000);
  EXPECT_EQ(Credit(large, 0, kLimit).share_bytes(), size_t{32} << 10);
}

TEST(Credit, OfZeroGrantsNothing) {
  Pair pair(0);
  EXPECT_FALSE(pair.send(0));
  EXPECT_FALSE(pair.send(8192));
}

TEST(Credit, APingPongNeedsNoMessageOfItsOwn) {
  Pair pair;
  for (int i = 0; i < 100000; ++i) {
    ASSERT_TRUE(pair.send(8));
    ASSERT_FALSE(pair.receive(8));
    ASSERT_TRUE(pair.answer());  // with the pong
  }
}

TEST(Credit, AStreamNeedsOneMessageForEachHalfOfTheShare) {
  Pair pair;
  constexpr size_t kMessages = 100000;
  size_t told = 0;
  for (size_t i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(pair.send(8));
    told += pair.receive(8);
  }
  EXPECT_LE(told, kMessages * EagerPool::memory_of(8) / (kLimit / 2) + 1);
}

TEST(Credit, IsNeverLost) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Pair pair;
    std::mt19937 random(seed);
    std::deque<size_t> under_way;
    size_t memory = 0;
    for (int i = 0; i < 20000; ++i) {
      const size_t bytes = random() % 8193;
      if (random() % 2 != 0 && pair.send(bytes)) {
        under_way.push_back(bytes);
        memory += EagerPool::memory_of(bytes);
      } else if (!under_way.empty() && random() % 8 != 0) {
        memory -= EagerPool::memory_of(under_way.front());
        pair.receive(under_way.front());
        under_way.pop_front();
      } else if (random() % 50 == 0) {
        pair.answer();
      }
      ASSERT_LE(memory, kLimit);
    }
    for (const size_t bytes : under_way) pair.receive(bytes);
    // What the receiver has not told yet is less than half.
    size_t granted = 0;
    while (pair.send(0)) granted += EagerPool::memory_of(0);
    EXPECT_GE(granted, kLimit / 2 - EagerPool::memory_of(0)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace mpc::msg

// The history behind nbc.split=auto: all ranks get the same S, and measurements correct the model.
#include "nbc/model/split_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>

namespace mpc::nbc {
namespace {

constexpr double kWindow_us = 100;
constexpr int kRanks = 4;

// S = 0 hides everything, S = 1 keeps 20 us, S = 2 everything.
std::vector<SplitTime> model() {
  return {{0, 0, 90, 90}, {1, 20, 50, 70}, {2, 60, 0, 60}};
}

// Plays calls in which S takes what `truth` says; returns S of the last one.
template <class Truth>
int play(SplitMemory& memory, uint64_t first, uint64_t last, const Truth& truth) {
  int split = -1;
  for (uint64_t call = first; call < last; ++call) {
    for (int rank = 0; rank < kRanks; ++rank) {
      const int mine = memory.decide(call, model(), kWindow_us, 1).split;
      if (rank == 0) split = mine;
      EXPECT_EQ(mine, split);
    }
    for (int rank = 0; rank < kRanks; ++rank) memory.note_window(kWindow_us);
    for (int rank = 0; rank < kRanks; ++rank)
      memory.note_end(call, truth(split) - rank);  // the slowest counts
  }
  return split;
}

TEST(SplitMemory, BeginsWithWhatTheModelSays) {
  SplitMemory memory(kRanks);
  const auto first = memory.decide(0, model(), kWindow_us, 1);
  EXPECT_EQ(first.split, 0);
  EXPECT_EQ(first.predicted_us, 0);  // of a nominal window
  memory.note_window(10);            // a short one: nothing can hide
  const auto second = memory.decide(1, model(), kWindow_us, 1);
  EXPECT_EQ(second.split, 1);
  EXPECT_DOUBLE_EQ(second.predicted_us, 70);
}

TEST(SplitMemory, StaysWhereTheModelIsRight) {
  SplitMemory memory(kRanks);
  const auto truth = [](int s) {
    return model()[static_cast<size_t>(s)].overlapped_us(kWindow_us);
  };
  EXPECT_EQ(play(memory, 0, 300, truth), 0);
}

TEST(SplitMemory, LeavesAnSThatTakesLongerThanTheModelSays) {
  SplitMemory memory(kRanks);
  const auto truth = [](int s) { return s == 0 ? 200.0 : s == 1 ? 125.0 : 160.0; };
  EXPECT_EQ(play(memory, 0, 12, truth), 1);
}

TEST(SplitMemory, DoesNotChangeForLittle) {
  SplitMemory memory(kRanks);
  const auto truth = [](int s) { return s == 0 ? 122.0 : 120.0; };
  EXPECT_EQ(play(memory, 0, 100, truth), 0);
}

TEST(SplitMemory, IsNotMisledByOneDisturbedCall) {
  SplitMemory memory(kRanks);
  int calls = 0;
  const auto truth = [&](int s) {
    return model()[static_cast<size_t>(s)].overlapped_us(kWindow_us) +
           (++calls == 5 * kRanks + 1 ? 100.0 : 0.0);
  };
  EXPECT_EQ(play(memory, 0, 40, truth), 0);
}

TEST(SplitMemory, ForgetsWhenTheWindowChanges) {
  SplitMemory memory(kRanks);
  play(memory, 0, 12, [](int s) { return s == 0 ? 200.0 : 125.0; });
  for (int i = 0; i < 100; ++i) memory.note_window(400);
  EXPECT_EQ(memory.decide(12, model(), kWindow_us, 1).split, 0);
}

TEST(SplitMemory, GivesRanksThatAskAtTheSameTimeTheSameS) {
  SplitMemory memory(kRanks);
  constexpr uint64_t kCalls = 2000, kApart = 8;
  std::vector<std::vector<int>> splits(kRanks);
  std::array<std::atomic<uint64_t>, kRanks> done{};
  const auto slowest = [&] {
    uint64_t least = kCalls;
    // acquire and release: the order of the ranks' calls, as messages would make it.
    for (const auto& calls : done)
      least = std::min(least, calls.load(std::memory_order_acquire));
    return least;
  };
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      for (uint64_t call = 0; call < kCalls; ++call) {
        while (slowest() + kApart < call) std::this_thread::yield();
        splits[rank].push_back(memory.decide(call, model(), kWindow_us, 1).split);
        memory.note_window(static_cast<double>(call % 200));
        memory.note_end(call, 150);
        done[rank].store(call + 1, std::memory_order_release);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (size_t rank = 1; rank < kRanks; ++rank) EXPECT_EQ(splits[rank], splits[0]);
}

}  // namespace
}  // namespace mpc::nbc

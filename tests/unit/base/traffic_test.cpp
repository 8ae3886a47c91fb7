// Messages counted by who got them from whom.

#include "base/traffic.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <vector>

namespace mpc::traffic {
namespace {

std::map<std::pair<int, int>, std::pair<uint64_t, uint64_t>> taken() {
  std::map<std::pair<int, int>, std::pair<uint64_t, uint64_t>> all;
  for_each([&](const Flow& flow) {
    all[{flow.to, flow.from}] = {flow.messages, flow.bytes};
  });
  return all;
}

using Amount = std::pair<uint64_t, uint64_t>;

TEST(Traffic, CountsByWorldRanksWhateverTheCommunicator) {
  ASSERT_TRUE(start({4, 2, 8}));  // ranks 4 and 5 of 8 are here
  EXPECT_TRUE(is_watched());
  const int world[] = {0, 1, 2, 3, 4, 5, 6, 7}, backwards[] = {7, 6, 5, 4};
  add_senders(4, 0, world, 8);
  add_senders(4, 10, backwards, 4);
  for (int i = 0; i < 3; ++i) count(4, 0, 7, 10);
  count(4, 10, 0, 100);  // rank 7, too
  count(5, 0, 1, 1);     // nobody has said who that is
  EXPECT_EQ(world_rank(4, 10, 1), 6);
  EXPECT_EQ(world_rank(4, 10, 4), -1);
  const auto all = taken();
  EXPECT_EQ(all.at({4, 7}), Amount(4, 130));
  EXPECT_EQ(all.at({5, -1}), Amount(1, 1));
  EXPECT_EQ(all.size(), 2u);
  stop();
  EXPECT_FALSE(is_watched());
  count(4, 0, 7, 10);
  EXPECT_EQ(taken().at({4, 7}), Amount(4, 130));
}

TEST(Traffic, KnowsANewMeaningOfAContextAtOnce) {
  ASSERT_TRUE(start({0, 1, 4}));
  const int first[] = {1, 2}, second[] = {3, 1};
  add_senders(0, 20, first, 2);
  count(0, 20, 0, 1);
  remove_senders(0, 20);
  add_senders(0, 20, second, 2);
  count(0, 20, 0, 1);
  const auto all = taken();
  EXPECT_EQ(all.at({0, 1}), Amount(1, 1));
  EXPECT_EQ(all.at({0, 3}), Amount(1, 1));
  stop();
}

TEST(Traffic, LosesNothingWithManySendersAndThreads) {
  constexpr int kRanks = 100, kRounds = 1000;
  ASSERT_TRUE(start({0, 2, kRanks}));
  std::vector<int> world(kRanks);
  for (int i = 0; i < kRanks; ++i) world[static_cast<size_t>(i)] = i;
  for (int to = 0; to < 2; ++to) add_senders(to, 0, world.data(), kRanks);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < kRounds; ++i) count(t % 2, 0, (i * 7 + t) % kRanks, 8);
    });
  for (std::thread& thread : threads) thread.join();
  uint64_t messages = 0, bytes = 0;
  for (const auto& [pair, amount] : taken()) {
    messages += amount.first;
    bytes += amount.second;
  }
  EXPECT_EQ(messages, uint64_t{4} * kRounds);
  EXPECT_EQ(bytes, uint64_t{4} * kRounds * 8);
  stop();
}

}  // namespace
}  // namespace mpc::traffic

// Long copies that both ranks make: every byte comes over once, whoever takes part.
#include "runtime/message/shared_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "base/counter.h"
#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

uint64_t helped_pieces() {
  for (const Counter* c : Counter::all()) {
    if (std::string_view(c->name()) == "message.helped_pieces") return c->get();
  }
  return 0;
}

std::vector<uint32_t> pattern(size_t words, uint32_t seed) {
  std::vector<uint32_t> data(words);
  for (size_t i = 0; i < words; ++i)
    data[i] = static_cast<uint32_t>(i) * 2654435761u + seed;
  return data;
}

TEST(SharedCopy, NobodyHelps) {
  SharedCopy shared;
  for (size_t bytes :
       {size_t{0}, size_t{1}, size_t{16383}, size_t{16384}, size_t{3 << 20}}) {
    const std::vector<char> from(bytes + 1, 'x');
    std::vector<char> to(bytes + 1, '-');
    EXPECT_TRUE(shared.offer(to.data(), from.data(), bytes));
    EXPECT_EQ(0, std::memcmp(to.data(), from.data(), bytes));
    EXPECT_EQ(to[bytes], '-');
    EXPECT_FALSE(shared.help());
  }
}

// Two copiers compete for one waiting rank's help, two threads of that rank help.
TEST(SharedCopy, CopiersAndHelpersAtTheSameTime) {
  constexpr int kCopiers = 2, kHelpers = 2, kRounds = 400;
  SharedCopy shared;
  std::atomic<int> copying{kCopiers};
  std::atomic<int> offered{0};
  const uint64_t before = helped_pieces();
  std::vector<std::thread> threads;
  for (int c = 0; c < kCopiers; ++c) {
    threads.emplace_back([&, c] {
      std::mt19937 random(static_cast<unsigned>(c));
      std::vector<uint32_t> to(1 << 16);
      // On until somebody has helped: on a busy machine that may take a while.
      for (int i = 0; i < kRounds || helped_pieces() == before; ++i) {
        const size_t words = random() % to.size();
        const auto from = pattern(words, static_cast<uint32_t>(random()));
        std::fill(to.begin(), to.end(), 0);
        while (!shared.offer(to.data(), from.data(), words * 4))
          std::this_thread::yield();
        offered.fetch_add(1);
        ASSERT_EQ(0, std::memcmp(to.data(), from.data(), words * 4)) << c << " " << i;
        ASSERT_TRUE(words == to.size() || to[words] == 0);
      }
      copying.fetch_sub(1);
    });
  }
  for (int h = 0; h < kHelpers; ++h) {
    threads.emplace_back([&] {
      while (copying.load() > 0) {
        if (!shared.help()) std::this_thread::yield();
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_GE(offered.load(), kCopiers * kRounds);
  EXPECT_GT(helped_pieces(), before);
}

class SharedMessages : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, SharedMessages, testing::Values(1, 2));

// Long messages with every way of waiting, and a receive that is shorter than its message.
TEST_P(SharedMessages, ArriveWhole) {
  constexpr int kRounds = 60;
  World world(2, GetParam());
  Why why;
  EXPECT_EQ(world.run([&](job::Rank& me) {
    const int other = 1 - me.world_rank;
    std::mt19937 random(7);  // the same on both
    for (int i = 0; i < kRounds; ++i) {
      const size_t words = 100'000 + random() % 400'000;
      const size_t room = i % 5 == 0 ? words - random() % 50'000 : words;
      const auto out = pattern(words, static_cast<uint32_t>(i));
      std::vector<uint32_t> in(words, 0);
      Request sending, receiving;
      Request* both[] = {&sending, &receiving};
      const bool is_first = (me.world_rank + i) % 2 == 0;
      switch (i % 4) {
        case 0:  // one after the other
          if (is_first)
            send(me, to(other, out.data(), words * 4, 1, me.world_rank), why);
          start_recv(me, receiving, from(other, in.data(), room * 4, 1));
          wait(me, receiving, why);
          if (!is_first)
            send(me, to(other, out.data(), words * 4, 1, me.world_rank), why);
          break;
        case 1:
          start_recv(me, receiving, from(other, in.data(), room * 4, 1));
          start_send(me, sending, to(other, out.data(), words * 4, 1, me.world_rank));
          wait_all(me, both, 2, why);
          break;
        case 2:
          start_send(me, sending, to(other, out.data(), words * 4, 1, me.world_rank));
          start_recv(me, receiving, from(other, in.data(), room * 4, 1));
          wait(me, receiving, why);
          wait(me, sending, why);
          break;
        default: {
          start_send(me, sending, to(other, out.data(), words * 4, 1, me.world_rank));
          start_recv(me, receiving, from(other, in.data(), room * 4, 1));
          auto all_complete = [](void* argument) {
            auto* requests = static_cast<Request**>(argument);
            return requests[0]->is_complete() && requests[1]->is_complete();
          };
          wait_until(me, both, 2, all_complete, both, why);
        }
      }
      ASSERT_EQ(receiving.status().failed, room < words) << i;
      if (has_network() && room < words) continue;  // is not fetched
      ASSERT_EQ(0, std::memcmp(in.data(), out.data(), room * 4)) << i;
      ASSERT_TRUE(room == words || in[room] == 0) << i;
    }
  }),
            "");
}

}  // namespace
}  // namespace mpc::msg::test

// Messages of scattered layouts: whatever both ends look like, however they wait, and whoever copies,
// each byte comes over once, and no other byte is touched.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>

#include "base/counter.h"
#include "runtime/message/network.h"
#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

uint64_t packed_copies() {
  for (const Counter* c : Counter::all())
    if (std::string_view(c->name()) == "message.packed_copies") return c->get();
  return 0;
}

// A layout of `words` numbers, of every kind that moves in its own way.
dt::TypeRef layout_of(int kind, Count words) {
  const dt::Datatype& number = *int_type();
  dt::TypeRef type;
  switch (kind) {
    case 0:
      type = dt::make_contiguous(words, number).value();
      break;
    case 1:  // scattered
      type = dt::make_vector(words, 1, 40, number).value();
      break;
    case 2: {  // scattered, in no order
      std::vector<Count> places;
      for (Count i = 0; i < words; ++i) places.push_back((i * 7919) % words * 20);
      if (words % 7919 == 0) return layout_of(1, words);
      type = dt::make_indexed_block(1, places, number).value();
      break;
    }
    default:  // dense, with gaps
      type = dt::make_vector(words, 1, 2, number).value();
      break;
  }
  type->commit();
  return type;
}
constexpr int kKinds = 4;

struct Buffer {
  Buffer(int kind, Count numbers, int fill)
      : type(layout_of(kind, numbers)),
        words(static_cast<size_t>(type->true_extent() / 4 + 1), fill) {}
  std::vector<int> packed() const {
    std::vector<int> data(static_cast<size_t>(type->size() / 4));
    dt::pack(words.data(), *type, 1, 0, data.data(), data.size() * 4);
    return data;
  }
  void unpack(const std::vector<int>& data, size_t bytes) {
    dt::unpack(words.data(), *type, 1, 0, data.data(), bytes);
  }
  dt::TypeRef type;
  std::vector<int> words;
};

struct Case {
  int kind_out, kind_in;
  Count words, room;
  Mode mode;
  bool is_any;
};

Case random_case(std::mt19937& random) {
  // Around the limits of rings, pieces, blocks and slots, in numbers of four bytes.
  const Count around[] = {56, 512, 1024, 2048, 8192, 9216, 32768};
  Case c;
  c.kind_out = static_cast<int>(random() % kKinds);
  c.kind_in = static_cast<int>(random() % kKinds);
  c.words = around[random() % std::size(around)] + static_cast<Count>(random() % 5) - 2;
  c.room = random() % 6 == 0 ? c.words - 1 - static_cast<Count>(random() % 50)
                             : c.words + static_cast<Count>(random() % 3) * 10;
  const Mode modes[] = {Mode::kStandard, Mode::kStandard, Mode::kSynchronous,
                        Mode::kBuffered};
  c.mode = modes[random() % std::size(modes)];
  c.is_any = random() % 3 == 0;
  return c;
}

SendArgs send_of(const Buffer& data, int dest, int me, const Case& c) {
  return {data.words.data(), 1, data.type.get(), dest, kContext, 5, me, c.mode};
}
RecvArgs receive_of(Buffer& data, int source, const Case& c) {
  return {data.words.data(), 1,
          data.type.get(),   c.is_any ? kAnySource : source,
          kContext,          c.is_any ? kAnyTag : 5};
}

class Scattered : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, Scattered, testing::Values(1, 2));

TEST_P(Scattered, MessagesArriveWhole) {
  constexpr int kRounds = 300;
  World world(2, GetParam());
  Why why;
  EXPECT_EQ(world.run([&](job::Rank& me) {
    const int other = 1 - me.world_rank;
    std::mt19937 random(11);  // the same on both
    for (int i = 0; i < kRounds; ++i) {
      const Case c = random_case(random);
      Buffer out(c.kind_out, c.words, 0), in(c.kind_in, c.room, -1);
      const auto fill = [&](int rank) {
        std::vector<int> data(static_cast<size_t>(c.words));
        for (size_t w = 0; w < data.size(); ++w)
          data[w] = static_cast<int>(w) * 64 + i * 2 + rank;
        return data;
      };
      const std::vector<int> mine = fill(me.world_rank), theirs = fill(other);
      out.unpack(mine, mine.size() * 4);
      Buffer want(c.kind_in, c.room, -1);
      want.unpack(theirs, static_cast<size_t>(std::min(c.words, c.room)) * 4);
      Request sending, receiving;
      Request* both[] = {&sending, &receiving};
      const bool is_first = (me.world_rank + i) % 2 == 0;
      switch (i % 4) {
        case 0:  // one after the other
          if (is_first) send(me, send_of(out, other, me.world_rank, c), why);
          start_recv(me, receiving, receive_of(in, other, c));
          wait(me, receiving, why);
          if (!is_first) send(me, send_of(out, other, me.world_rank, c), why);
          break;
        case 1:  // a halo exchange
          start_recv(me, receiving, receive_of(in, other, c));
          start_send(me, sending, send_of(out, other, me.world_rank, c));
          wait_all(me, both, 2, why);
          break;
        case 2:
          start_send(me, sending, send_of(out, other, me.world_rank, c));
          start_recv(me, receiving, receive_of(in, other, c));
          wait(me, receiving, why);
          wait(me, sending, why);
          break;
        default:  // without ever waiting
          start_recv(me, receiving, receive_of(in, other, c));
          start_send(me, sending, send_of(out, other, me.world_rank, c));
          while (!receiving.is_complete() || !sending.is_complete())
            if (!progress(me)) relax(me);
      }
      ASSERT_EQ(receiving.status().failed, c.room < c.words) << i;
      if (has_network() && c.room < c.words) continue;  // is not fetched
      ASSERT_TRUE(in.words == want.words)
          << i << ": " << c.kind_out << " to " << c.kind_in << ", " << c.words;
      ASSERT_EQ(receiving.status().source, other);
    }
  }),
            "");
}

// On two cores they pass packed, on one they do not; nor does what is dense at the other end.
TEST_P(Scattered, MessagesAreHelpedWith) {
  constexpr int kRounds = 200;
  if (World(2, 1).is_over_network())
    GTEST_SKIP() << "Scattered.MessagesAreHelpedWith: between processes all are packed";
  for (const int kind : {1, 3}) {
    World world(2, GetParam());
    Why why;
    const uint64_t before = packed_copies();
    EXPECT_EQ(world.run([&](job::Rank& me) {
      const int other = 1 - me.world_rank;
      const Case c{kind, kind, 8192, 8192, Mode::kStandard, false};
      Buffer data(kind, c.words, me.world_rank);
      for (int i = 0; i < kRounds; ++i) {
        if (me.world_rank == 0) send(me, send_of(data, other, me.world_rank, c), why);
        recv(me, receive_of(data, other, c), why);
        if (me.world_rank == 1) send(me, send_of(data, other, me.world_rank, c), why);
      }
    }),
              "");
    const uint64_t packed = packed_copies() - before;
    if (kind == 1 && GetParam() == 2) {
      EXPECT_GT(packed, 0u);
    } else {
      EXPECT_EQ(packed, 0u);
    }
  }
}

// An eager one leaves packed: it can be taken back as long as nobody has received it.
TEST_P(Scattered, SendsAreCancelled) {
  World world(2, GetParam());
  Why why;
  EXPECT_EQ(world.run([&](job::Rank& me) {
    const int other = 1 - me.world_rank;
    for (const Count words : {Count{512}, Count{2048}, Count{8192}}) {
      const Case c{1, 1, words, words, Mode::kStandard, false};
      Buffer data(1, words, me.world_rank);
      char token = 0;
      if (me.world_rank == 0) {
        Request sending;
        start_send(me, sending, send_of(data, other, 0, c));
        cancel(me, sending);
        wait(me, sending, why);
        EXPECT_TRUE(sending.status().cancelled) << words;
        send(me, to(other, &token, 1, 6, 0), why);
        recv(me, from(other, &token, 1, 6), why);
      } else {
        recv(me, from(other, &token, 1, 6), why);
        Status status;
        EXPECT_FALSE(iprobe(me, other, kContext, 5, &status)) << words;
        send(me, to(other, &token, 1, 6, 1), why);
      }
    }
  }),
            "");
}

// To a rank that computes on the other core they leave packed and are done with, up to a bound: the rest
// waits for it.
TEST(ScatteredAhead, SendsToARankThatComputesDoNotWait) {
  constexpr Count kWords = 8192;
  constexpr size_t kMessages = 2 * EagerPool::kMostLongBytes / (kWords * 4);
  if (World(2, 1).is_over_network())
    GTEST_SKIP() << "ScatteredAhead.SendsToARankThatComputesDoNotWait: between "
                    "processes all are packed";
  World world(2, 2);
  Why why;
  std::atomic<bool> computes{false}, is_sent{false};
  EXPECT_EQ(world.run([&](job::Rank& me) {
    const int other = 1 - me.world_rank;
    const Case c{1, 1, kWords, kWords, Mode::kStandard, false};
    // A rank that has slept lets others match for it until it looks for messages again.
    char sleeps = 1;
    while (sleeps != 0) {
      if (me.world_rank == 0) {
        recv(me, from(other, &sleeps, 1, 6), why);
        sleeps = mailbox_of(me).is_delegated() ? 1 : 0;
        send(me, to(other, &sleeps, 1, 6, 0), why);
      } else {
        send(me, to(other, &sleeps, 1, 6, 1), why);
        recv(me, from(other, &sleeps, 1, 6), why);
      }
    }
    if (me.world_rank == 0) {
      computes.store(true, std::memory_order_release);
      while (!is_sent.load(std::memory_order_acquire)) {
      }
      for (size_t i = 0; i < kMessages; ++i) {
        Buffer in(1, kWords, -1);
        recv(me, receive_of(in, other, c), why);
        for (const int word : in.packed()) ASSERT_EQ(word, static_cast<int>(i));
      }
      return;
    }
    while (!computes.load(std::memory_order_acquire)) {
    }
    std::vector<Buffer> out;
    std::vector<Request> requests(kMessages);
    size_t done = 0;
    for (size_t i = 0; i < kMessages; ++i)
      out.emplace_back(1, kWords, static_cast<int>(i));
    for (size_t i = 0; i < kMessages; ++i) {
      start_send(me, requests[i], send_of(out[i], other, 1, c));
      done += requests[i].is_complete() ? 1 : 0;
    }
    EXPECT_EQ(done, EagerPool::kMostLongBytes / (kWords * 4));
    is_sent.store(true, std::memory_order_release);
    for (Request& request : requests) wait(me, request, why);
  }),
            "");
}

// Many ranks to one, so that several copies are offered to the same rank and some are refused.
TEST_P(Scattered, ManySendersAtTheSameTime) {
  constexpr int kRanks = 6, kRounds = 40;
  World world(kRanks, GetParam());
  Why why;
  EXPECT_EQ(world.run([&](job::Rank& me) {
    for (int i = 0; i < kRounds; ++i) {
      const Case c{1, i % 2, 9000, 9000, Mode::kStandard, false};
      std::vector<Buffer> in;
      std::vector<Request> requests(2 * kRanks);
      std::vector<Request*> all;
      Buffer out(1, c.words, me.world_rank + kRanks * i);
      for (int r = 0; r < kRanks; ++r) in.emplace_back(c.kind_in, c.room, -1);
      for (int r = 0; r < kRanks; ++r) {
        const auto at = static_cast<size_t>(r);
        start_recv(me, requests[at], receive_of(in[at], r, c));
        all.push_back(&requests[at]);
      }
      for (int r = 0; r < kRanks; ++r) {
        const auto at = static_cast<size_t>(kRanks + r);
        start_send(me, requests[at], send_of(out, r, me.world_rank, c));
        all.push_back(&requests[at]);
      }
      wait_all(me, all.data(), all.size(), why);
      for (int r = 0; r < kRanks; ++r)
        for (const int word : in[static_cast<size_t>(r)].packed())
          ASSERT_EQ(word, r + kRanks * i);
    }
  }),
            "");
}

}  // namespace
}  // namespace mpc::msg::test

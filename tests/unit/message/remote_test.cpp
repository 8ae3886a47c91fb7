// Messages between processes, over the loopback network, in its order and in others.
#include <gtest/gtest.h>

#include <mutex>
#include <random>

#include "runtime/message/cell.h"
#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

// Sizes: nothing, eager, offered; see message.eager_limit.
constexpr size_t kSizes[] = {0, 1, 44, kInlineBytes + 1, 4000, 8192, 8193, 100000};
constexpr int kSizeCount = 8;

std::vector<char> pattern(size_t bytes, int seed) {
  std::vector<char> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 7 + seed * 13 + 1);
  return data;
}

class Remote : public testing::TestWithParam<uint64_t> {
 protected:
  void run(int ranks, const std::function<void(job::Rank&)>& body) {
    run(ranks, ranks, body);
  }
  void run(int ranks, int processes, const std::function<void(job::Rank&)>& body) {
    World world(ranks, 2);
    world.with_processes(processes, GetParam());
    EXPECT_EQ(world.run(body), "");
  }
  void poll_until(job::Rank& me, const std::function<bool()>& done) {
    while (!done()) {
      progress(me);
      relax(me);
    }
  }
  Why why_;
};
INSTANTIATE_TEST_SUITE_P(Seeds, Remote, testing::Values(0, 1, 2, 3));

// The next message stands behind the last in the order of sending, whatever the network does.
TEST_P(Remote, MessagesOfAllKindsKeepTheirOrder) {
  constexpr int kCount = 300;
  run(2, [&](job::Rank& me) {
    if (me.world_rank == 0) {
      std::vector<std::vector<char>> data;
      std::vector<Request> requests(kCount);
      for (int i = 0; i < kCount; ++i)
        data.push_back(pattern(kSizes[i % kSizeCount], i));
      for (int i = 0; i < kCount; ++i) {
        const Mode mode = i % 3 == 0 ? Mode::kSynchronous : Mode::kStandard;
        const auto& d = data[static_cast<size_t>(i)];
        start_send(me, requests[static_cast<size_t>(i)],
                   to(1, d.data(), d.size(), 1, 0, mode));
      }
      for (Request& r : requests) wait(me, r, why_);
      return;
    }
    for (int i = 0; i < kCount; ++i) {
      std::vector<char> in(100000);
      const Status s = recv(
          me, from(i % 2 == 0 ? 0 : kAnySource, in.data(), in.size(), kAnyTag), why_);
      ASSERT_EQ(s.bytes, static_cast<int64_t>(kSizes[i % kSizeCount])) << i;
      in.resize(static_cast<size_t>(s.bytes));
      ASSERT_EQ(in, pattern(in.size(), i)) << i;
    }
  });
}

TEST_P(Remote, AllPairsOfRanksOfSeveralProcessesMeet) {
  constexpr int kRanks = 6, kRounds = 40;
  run(kRanks, 3, [&](job::Rank& me) {  // two in each: near ones do not pass the network
    std::mt19937 random(static_cast<unsigned>(me.world_rank));
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::vector<char>> in(kRanks), out(kRanks);
      std::vector<Request> requests(2 * kRanks);
      std::vector<Request*> all;
      for (int r = 0; r < kRanks; ++r) {
        const auto at = static_cast<size_t>(r);
        in[at].resize(100000);
        out[at] = pattern(kSizes[random() % kSizeCount], me.world_rank * 10 + round);
        start_recv(me, requests[at], from(r, in[at].data(), in[at].size(), round));
        start_send(me, requests[kRanks + at],
                   to(r, out[at].data(), out[at].size(), round, me.world_rank));
        all.push_back(&requests[at]);
        all.push_back(&requests[kRanks + at]);
      }
      wait_all(me, all.data(), all.size(), why_);
      for (int r = 0; r < kRanks; ++r) {
        const auto at = static_cast<size_t>(r);
        in[at].resize(static_cast<size_t>(requests[at].status().bytes));
        ASSERT_EQ(in[at], pattern(in[at].size(), r * 10 + round));
      }
    }
  });
}

TEST_P(Remote, ASynchronousSendEndsOnlyWithItsReceive) {
  run(2, [&](job::Rank& me) {
    for (const size_t bytes : {size_t{0}, size_t{8}, size_t{100000}}) {
      auto data = pattern(bytes, 1);
      if (me.world_rank == 0) {
        Request r;
        start_send(me, r, to(1, data.data(), bytes, 1, 0, Mode::kSynchronous));
        recv(me, from(1, nullptr, 0, 2), why_);  // it has come, and is not matched
        EXPECT_FALSE(r.is_complete());
        send(me, to(1, nullptr, 0, 3, 0), why_);
        wait(me, r, why_);
      } else {
        Status s;
        poll_until(me, [&] { return iprobe(me, 0, kContext, 1, &s); });
        EXPECT_EQ(s.bytes, static_cast<int64_t>(bytes));
        send(me, to(0, nullptr, 0, 2, 1), why_);
        recv(me, from(0, nullptr, 0, 3), why_);
        recv(me, from(0, data.data(), bytes, 1), why_);
        EXPECT_EQ(data, pattern(bytes, 1));
      }
    }
  });
}

TEST_P(Remote, MatchedProbesTakeEachMessageOutOfMatching) {
  run(2, [&](job::Rank& me) {
    for (const size_t bytes : kSizes) {
      if (me.world_rank == 0) {
        const auto first = pattern(bytes, 1), second = pattern(bytes, 2);
        Request requests[2];
        start_send(me, requests[0], to(1, first.data(), bytes, 1, 0));
        start_send(me, requests[1], to(1, second.data(), bytes, 1, 0));
        for (Request& r : requests) wait(me, r, why_);
        recv(me, from(1, nullptr, 0, 2), why_);
        cancel(me, requests[0]);  // received long ago
        EXPECT_FALSE(requests[0].status().cancelled);
      } else {
        MatchedMessage* message = nullptr;
        Status s;
        poll_until(me, [&] {
          message = improbe(me, kAnySource, kContext, kAnyTag, &s);
          return message != nullptr;
        });
        std::vector<char> in(bytes);
        recv(me, from(0, in.data(), bytes, 1), why_);
        EXPECT_EQ(in, pattern(bytes, 2));
        Request r;
        start_mrecv(me, r, message, in.data(), static_cast<Count>(bytes), byte_type());
        wait(me, r, why_);
        EXPECT_EQ(in, pattern(bytes, 1));
        send(me, to(0, nullptr, 0, 2, 1), why_);
      }
    }
  });
}

TEST_P(Remote, TooLongAMessageFailsAtTheReceiverOnly) {
  run(2, [&](job::Rank& me) {
    for (const size_t bytes : {size_t{8}, size_t{8000}, size_t{100000}}) {
      for (const Mode mode : {Mode::kStandard, Mode::kSynchronous}) {
        std::vector<char> data(bytes, 'a');
        if (me.world_rank == 0) {
          Request r;
          start_send(me, r, to(1, data.data(), bytes, 1, 0, mode));
          wait(me, r, why_);
          EXPECT_FALSE(r.status().failed);
          EXPECT_FALSE(r.status().cancelled);
        } else {
          std::vector<char> in(bytes, 'x');
          const Status s = recv(me, from(0, in.data(), bytes / 2, 1), why_);
          EXPECT_TRUE(s.failed);
          EXPECT_EQ(s.error, Errc::kTruncate);
          EXPECT_EQ(in[bytes / 2], 'x');
        }
      }
    }
  });
}

// Who is asked decides: each message is either received or withdrawn, and both sides agree.
TEST_P(Remote, ASendIsWithdrawnOrReceived) {
  constexpr int kCount = 200;
  int withdrawn = 0, received = 0;
  run(2, [&](job::Rank& me) {
    std::mt19937 random(static_cast<unsigned>(GetParam()));
    if (me.world_rank == 0) {
      for (int i = 0; i < kCount; ++i) {
        const auto data = pattern(kSizes[i % kSizeCount], i);
        const Mode mode = i % 3 == 0 ? Mode::kSynchronous : Mode::kStandard;
        Request r;
        start_send(me, r, to(1, data.data(), data.size(), 1, 0, mode));
        if (random() % 2 != 0) sched::sleep_until(sched::now_ns() + random() % 200'000);
        cancel(me, r);
        wait(me, r, why_);
        withdrawn += r.status().cancelled;
      }
      send(me, to(1, &withdrawn, sizeof withdrawn, 2, 0), why_);
    } else {
      std::vector<char> in(100000);
      int of_sender = -1;
      Request end;
      start_recv(me, end, from(0, &of_sender, sizeof of_sender, 2));
      poll_until(me, [&] {
        if (iprobe(me, 0, kContext, 1, nullptr) && random() % 2 != 0) {
          Request r;  // it may be withdrawn meanwhile
          start_recv(me, r, from(0, in.data(), in.size(), 1));
          if (random() % 2 != 0) cancel(me, r);
          if (end.is_complete() && !r.is_complete()) cancel(me, r);
          poll_until(me, [&] {
            if (end.is_complete() && !r.is_complete()) cancel(me, r);
            return r.is_complete();
          });
          received += !r.status().cancelled;
        }
        return end.is_complete() && !iprobe(me, 0, kContext, 1, nullptr);
      });
      wait(me, end, why_);
      EXPECT_EQ(of_sender + received, kCount);
    }
  });
}

TEST_P(Remote, LayoutsArePackedOnTheWay) {
  // Every second int.
  auto made = *dt::make_vector(1000, 1, 2, *int_type());
  run(2, [&](job::Rank& me) {
    for (const Count count : {Count{1}, Count{3}}) {
      std::vector<int> data(6000, -1);
      const dt::Datatype* const type = made.get();
      if (me.world_rank == 0) {
        for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(i);
        send(me, {data.data(), count, type, 1, kContext, 1, 0, Mode::kStandard}, why_);
        send(
            me,
            {data.data(), count * 1000, int_type(), 1, kContext, 1, 0, Mode::kStandard},
            why_);
      } else {
        recv(me, {data.data(), count * 1000, int_type(), 0, kContext, 1}, why_);
        EXPECT_EQ(data[1], 2);
        EXPECT_EQ(data[999], 1998);
        data.assign(6000, -1);
        recv(me, {data.data(), count, type, 0, kContext, 1}, why_);
        EXPECT_EQ(data[1], -1);
        EXPECT_EQ(data[1998], 999);
      }
    }
  });
}

// What comes back is a callback on the network's thread, which sends again.
TEST_P(Remote, CallbacksMaySendAgain) {
  constexpr int kRounds = 500;
  struct Chain {
    job::Rank* me;
    Request in, out;
    int64_t got = 0, sent = 0;
    std::atomic<int> rounds{0};
  };
  run(2, [&](job::Rank& me) {
    Chain chain;
    chain.me = &me;
    const auto received = [](Request*, void* argument) {
      auto& c = *static_cast<Chain*>(argument);
      const int other = 1 - c.me->world_rank;
      c.sent = c.got + 1;
      start_send(*c.me, c.out, to(other, &c.sent, 8, 1, c.me->world_rank));
      const int rounds = c.rounds.load() + 1;
      if (rounds < kRounds) start_recv(*c.me, c.in, from(other, &c.got, 8, 1));
      c.rounds.store(rounds);
      if (rounds == kRounds) notify(*c.me);
    };
    chain.in.set_on_complete(received, &chain);
    start_recv(me, chain.in, from(1 - me.world_rank, &chain.got, 8, 1));
    if (me.world_rank == 0) send(me, to(1, &chain.sent, 8, 1, 0), why_);
    wait_until(
        me, nullptr, 0,
        [](void* c) { return static_cast<Chain*>(c)->rounds.load() == kRounds; },
        &chain, why_);
    if (me.world_rank == 0) return;
    int64_t last = 0;
    recv(me, from(0, &last, 8, 1), why_);
    EXPECT_EQ(last, 2 * kRounds);
  });
}

// Ranks end with everything under way: nobody's memory is touched afterwards.
TEST_P(Remote, RanksThatEndHarmNobody) {
  for (int round = 0; round < 20; ++round) {
    World world(3, 2);
    world.with_processes(3, GetParam());
    world.run([&](job::Rank& me) {
      std::mt19937 random(static_cast<unsigned>(round * 3 + me.world_rank));
      std::vector<char> large(100000);
      std::vector<std::vector<char>> in(12);
      std::vector<Request> requests(12);
      int i = 0;
      for (Request& r : requests) {
        const int other = (me.world_rank + 1 + i % 2) % 3;
        const size_t bytes = kSizes[random() % kSizeCount];
        const Mode mode = random() % 2 != 0 ? Mode::kSynchronous : Mode::kStandard;
        if (++i % 3 == 0) {
          auto& buffer = in[static_cast<size_t>(i) - 1];
          buffer.resize(large.size());
          start_recv(me, r, from(kAnySource, buffer.data(), buffer.size(), kAnyTag));
        } else {
          start_send(me, r, to(other, large.data(), bytes, i, me.world_rank, mode));
        }
      }
      sched::sleep_until(sched::now_ns() + random() % 300'000);
      destroy_mailbox(me);
    });
  }
}

TEST(RemoteQuiescence, AMessageInTheNetworkIsNoDeadlock) {
  World world(2, 2);
  world.with_processes(2, 1);
  transport::LoopbackConfig late;
  late.seed = 1;
  late.delay_ns = 400'000'000;
  world.with_network(late);
  std::atomic<int> reports{0};
  world.on_quiescence([&] { reports.fetch_add(1); });
  EXPECT_EQ(world.run([&](job::Rank& me) {
    const Why why;
    char byte = 0;
    if (me.world_rank == 0) {
      send(me, to(1, &byte, 1, 1, 0), why);
      send(me, to(1, &byte, 1, 2, 0, Mode::kSynchronous), why);
    } else {
      recv(me, from(0, &byte, 1, 2), why);
      recv(me, from(0, &byte, 1, 1), why);
    }
  }),
            "");
  EXPECT_EQ(reports.load(), 0);
}

TEST(RemoteQuiescence, ADeadlockOverTwoProcessesIsSeen) {
  World world(2, 2);
  world.with_processes(2, 1);
  std::atomic<bool> is_seen{false};
  std::mutex reporting;  // a rank does not end before it has been told
  world.on_quiescence([&] {
    const std::lock_guard lock(reporting);
    is_seen.store(true);
    for (int r = 0; r < 2; ++r) notify(world.rank(r));
  });
  EXPECT_EQ(world.run([&](job::Rank& me) {
    Request request;
    start_recv(me, request, from(1 - me.world_rank, nullptr, 0, 1));
    wait_until(
        me, nullptr, 0,
        [](void* seen) { return static_cast<std::atomic<bool>*>(seen)->load(); },
        &is_seen, Why());
    const std::lock_guard lock(reporting);
    cancel(me, request);
    EXPECT_TRUE(request.status().cancelled);
  }),
            "");
}

}  // namespace
}  // namespace mpc::msg::test

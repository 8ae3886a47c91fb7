#include <gtest/gtest.h>

#include <numeric>

#include "runtime/message/cell.h"
#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

// One worker, and two.
class Messages : public testing::TestWithParam<int> {
 protected:
  void run(int ranks, const std::function<void(job::Rank&)>& body) {
    World world(ranks, GetParam());
    EXPECT_EQ(world.run(body), "");
  }
  Why why_;
};
INSTANTIATE_TEST_SUITE_P(Workers, Messages, testing::Values(1, 2));

std::vector<char> pattern(size_t bytes, int seed) {
  std::vector<char> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 7 + seed * 13 + 1);
  return data;
}

constexpr size_t kSizes[] = {
    0,      1,    8,    43,   44,   45,           104,
    105,    224,  225,  226,  256,  kInlineBytes, kInlineBytes + 1,
    500,    1000, 4096, 8192, 8193, 65536,        100000,
    1 << 20};

TEST_P(Messages, OfEverySizeArriveWhole) {
  run(2, [&](job::Rank& me) {
    for (size_t bytes : kSizes) {
      if (me.world_rank == 0) {
        const auto data = pattern(bytes, 3);
        send(me, to(1, data.data(), bytes, 5, 0), why_);
      } else {
        std::vector<char> data(bytes + 8);
        const Status s = recv(me, from(0, data.data(), bytes + 8, 5), why_);
        EXPECT_EQ(s.source, 0);
        EXPECT_EQ(s.tag, 5);
        EXPECT_EQ(s.bytes, static_cast<int64_t>(bytes));
        EXPECT_FALSE(s.failed);
        data.resize(bytes);
        EXPECT_EQ(data, pattern(bytes, 3));
      }
    }
  });
}

TEST_P(Messages, PingPongKeepsOrder) {
  run(2, [&](job::Rank& me) {
    const int other = 1 - me.world_rank;
    for (int64_t i = 0; i < 3000; ++i) {
      int64_t value = i;
      if (me.world_rank == 0) send(me, to(other, &value, 8, 1, 0), why_);
      int64_t got = -1;
      recv(me, from(other, &got, 8, 1), why_);
      EXPECT_EQ(got, i);
      if (me.world_rank == 1) send(me, to(other, &got, 8, 1, 1), why_);
    }
  });
}

TEST_P(Messages, AWindowLongerThanTheRingKeepsOrder) {
  run(2, [&](job::Rank& me) {
    constexpr int kCount = 5000;
    if (me.world_rank == 0) {
      for (int i = 0; i < kCount; ++i) send(me, to(1, &i, sizeof i, 1, 0), why_);
    } else {
      for (int i = 0; i < kCount; ++i) {
        int got = -1;
        recv(me, from(kAnySource, &got, sizeof got, kAnyTag), why_);
        ASSERT_EQ(got, i);
      }
    }
  });
}

TEST_P(Messages, NonblockingOnesCompleteInAnyOrderOfWaiting) {
  run(2, [&](job::Rank& me) {
    constexpr int kCount = 200;
    std::vector<int> values(kCount);
    std::vector<Request> requests(kCount);
    for (int i = 0; i < kCount; ++i) {
      auto& value = values[static_cast<size_t>(i)];
      auto& request = requests[static_cast<size_t>(i)];
      if (me.world_rank == 0) {
        value = i * 3;
        start_send(me, request, to(1, &value, sizeof value, i, 0));
      } else {
        start_recv(me, request, from(0, &value, sizeof value, i));
      }
    }
    for (int i = kCount - 1; i >= 0; --i)
      wait(me, requests[static_cast<size_t>(i)], why_);
    if (me.world_rank == 1) {
      for (int i = 0; i < kCount; ++i) EXPECT_EQ(values[static_cast<size_t>(i)], i * 3);
    }
  });
}

TEST_P(Messages, LargeOnesBothWaysAtOnce) {
  run(2, [&](job::Rank& me) {
    const int other = 1 - me.world_rank;
    const size_t bytes = 300000;
    for (int round = 0; round < 20; ++round) {
      const auto data = pattern(bytes, me.world_rank + round);
      std::vector<char> in(bytes);
      Request out_request, in_request;
      start_recv(me, in_request, from(other, in.data(), bytes, 9));
      start_send(me, out_request, to(other, data.data(), bytes, 9, me.world_rank));
      wait(me, out_request, why_);
      wait(me, in_request, why_);
      EXPECT_EQ(in, pattern(bytes, other + round));
    }
  });
}

TEST_P(Messages, SynchronousSendsWaitForTheirReceive) {
  std::atomic<bool> posted{false};
  run(2, [&](job::Rank& me) {
    int value = 7;
    if (me.world_rank == 0) {
      send(me, to(1, &value, sizeof value, 1, 0, Mode::kSynchronous), why_);
      EXPECT_TRUE(posted.load());
      Request request;
      start_send(me, request, to(1, nullptr, 0, 2, 0, Mode::kSynchronous));
      wait(me, request, why_);
    } else {
      for (int i = 0; i < 10; ++i) sched::Execution::self().yield();
      posted.store(true);
      int got = 0;
      recv(me, from(0, &got, sizeof got, 1), why_);
      EXPECT_EQ(got, 7);
      recv(me, from(0, nullptr, 0, 2), why_);
    }
  });
}

TEST_P(Messages, ToOneselfWork) {
  run(1, [&](job::Rank& me) {
    for (size_t bytes : kSizes) {
      const auto data = pattern(bytes, 1);
      std::vector<char> in(bytes);
      Request request;
      start_recv(me, request, from(0, in.data(), bytes, 1));
      send(me, to(0, data.data(), bytes, 1, 0), why_);
      wait(me, request, why_);
      EXPECT_EQ(in, data);
      // Send first: small ones are buffered, large ones wait as a request.
      Request out;
      std::fill(in.begin(), in.end(), char{});
      start_send(me, out, to(0, data.data(), bytes, 2, 0));
      const Status s = recv(me, from(0, in.data(), bytes, 2), why_);
      wait(me, out, why_);
      EXPECT_EQ(in, data);
      EXPECT_EQ(s.bytes, static_cast<int64_t>(bytes));
    }
  });
}

TEST_P(Messages, AreCutToTheReceiversBuffer) {
  run(2, [&](job::Rank& me) {
    for (size_t bytes : {size_t{8}, size_t{200}, size_t{5000}, size_t{100000}}) {
      for (bool late : {false, true}) {
        if (me.world_rank == 0) {
          recv(me, from(1, nullptr, 0, 99), why_);
          const auto data = pattern(bytes, 2);
          Request r;
          start_send(me, r, to(1, data.data(), bytes, 1, 0));
          send(me, to(1, nullptr, 0, 2, 0), why_);
          const Status s = (wait(me, r, why_), r.status());
          EXPECT_FALSE(s.failed);
        } else {
          std::vector<char> in(bytes, 'x');
          Request r;
          if (!late) start_recv(me, r, from(0, in.data(), bytes / 2, 1));
          send(me, to(0, nullptr, 0, 99, 1), why_);
          recv(me, from(0, nullptr, 0, 2), why_);
          if (late) start_recv(me, r, from(0, in.data(), bytes / 2, 1));
          wait(me, r, why_);
          EXPECT_TRUE(r.status().failed);
          EXPECT_EQ(r.status().error, Errc::kTruncate);
          EXPECT_EQ(r.status().bytes, static_cast<int64_t>(bytes / 2));
          auto expected = pattern(bytes, 2);
          std::fill(expected.begin() + static_cast<long>(bytes / 2), expected.end(),
                    'x');
          // A large one of another process is not fetched.
          if (!has_network() || bytes <= 8192) {
            EXPECT_EQ(in, expected);
          }
        }
      }
    }
  });
}

// A blocking receive may take its message from the ring without being posted: not if an earlier
// receive wants it, not if it is for somebody else, and cut if it is too long.
TEST_P(Messages, BlockingReceivesTakeTheirTurn) {
  constexpr int kRounds = 200;
  run(2, [&](job::Rank& me) {
    const int other = 1 - me.world_rank;
    char token = 0;
    for (int round = 0; round < kRounds; ++round) {
      const size_t bytes = round % 3 == 0 ? 100 : 4;
      std::vector<char> first(bytes, 'f'), second(bytes, 's'), third(bytes, 't');
      if (me.world_rank == 0) {
        if (round % 2 != 0) recv(me, from(other, &token, 1, 9), why_);
        send(me, to(other, first.data(), bytes, 1, 0), why_);
        send(me, to(other, second.data(), bytes, 2, 0), why_);
        send(me, to(other, third.data(), bytes, 1, 0), why_);
      } else {
        std::vector<char> early(bytes), late(bytes), cut(2);
        Request posted;
        start_recv(me, posted, from(kAnySource, early.data(), bytes, 1));
        if (round % 2 != 0) send(me, to(other, &token, 1, 9, 1), why_);
        const Status third_status = recv(me, from(other, late.data(), bytes, 1), why_);
        EXPECT_EQ(third_status.bytes, static_cast<int64_t>(bytes));
        const Status second_status =
            recv(me, from(other, cut.data(), 2, kAnyTag), why_);
        wait(me, posted, why_);
        EXPECT_EQ(early, first);
        EXPECT_EQ(late, third);
        EXPECT_TRUE(second_status.failed && second_status.tag == 2);
        EXPECT_EQ(cut, std::vector<char>(2, 's'));
      }
    }
  });
}

TEST_P(Messages, DoNotCrossContexts) {
  run(2, [&](job::Rank& me) {
    if (me.world_rank == 0) {
      int a = 1, b = 2;
      send(me, to(1, &a, sizeof a, 1, 0, Mode::kStandard, 4), why_);
      send(me, to(1, &b, sizeof b, 1, 0, Mode::kStandard, 6), why_);
    } else {
      int got = 0;
      recv(me, from(kAnySource, &got, sizeof got, kAnyTag, 6), why_);
      EXPECT_EQ(got, 2);
      recv(me, from(kAnySource, &got, sizeof got, kAnyTag, 4), why_);
      EXPECT_EQ(got, 1);
    }
  });
}

TEST_P(Messages, ManyRanksToOne) {
  constexpr int kRanks = 40, kEach = 50;
  run(kRanks, [&](job::Rank& me) {
    if (me.world_rank != 0) {
      for (int i = 0; i < kEach; ++i) {
        send(me, to(0, &i, sizeof i, i % 3, me.world_rank), why_);
      }
      return;
    }
    std::vector<int> next(kRanks, 0);
    for (int n = 0; n < (kRanks - 1) * kEach; ++n) {
      int got = -1;
      const Status s = recv(me, from(kAnySource, &got, sizeof got, kAnyTag), why_);
      EXPECT_EQ(got, next[static_cast<size_t>(s.source)]++);
      EXPECT_EQ(s.tag, got % 3);
    }
  });
}

TEST_P(Messages, PollingForOneLetsItsSenderRun) {
  run(2, [&](job::Rank& me) {
    int value = 5;
    if (me.world_rank == 0) {
      Request r;
      start_recv(me, r, from(1, &value, sizeof value, 1));
      while (!r.is_complete()) {
        if (!progress(me)) relax(me);
      }
      EXPECT_EQ(value, 6);
      Status s;
      while (!iprobe(me, kAnySource, kContext, 2, &s)) relax(me);
      EXPECT_EQ(s.source, 1);
      EXPECT_EQ(s.bytes, 4);
      recv(me, from(s.source, &value, sizeof value, 2), why_);
    } else {
      value = 6;
      send(me, to(0, &value, sizeof value, 1, 1), why_);
      send(me, to(0, &value, sizeof value, 2, 1), why_);
    }
  });
}

}  // namespace
}  // namespace mpc::msg::test

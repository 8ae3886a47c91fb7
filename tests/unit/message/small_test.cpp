// Small messages by the way whose arguments stay in registers: they are matched as all others are.
#include <gtest/gtest.h>

#include <vector>

#include "base/settings.h"
#include "runtime/message/cell.h"
#include "runtime/message/mailbox.h"
#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

// Workers; with one the ranks take turns, and receivers are parked.
class Small : public testing::TestWithParam<int> {
 protected:
  void run(const std::function<void(job::Rank&)>& body) {
    World world(2, GetParam());
    is_near_ = !world.is_over_network();
    EXPECT_EQ(world.run(body), "");
  }
  // As MPI_Send and MPI_Recv do. Returns whether it went the short way.
  bool send_any(job::Rank& me, const void* data, int bytes, int tag) {
    if (send_small(me, data, static_cast<size_t>(bytes), 1 - me.world_rank,
                   {kContext, me.world_rank}, tag))
      return true;
    send(me, to(1 - me.world_rank, data, bytes, tag, me.world_rank), why_);
    return false;
  }
  Status recv_any(job::Rank& me, void* buffer, int room, int source, int tag) {
    Status status;
    if (recv_small(me, buffer, static_cast<size_t>(room), {kContext, source}, tag,
                   &status))
      return status;
    return recv_by_posting(me, from(source, buffer, room, tag), why_);
  }
  Why why_;
  bool is_near_ = true;
};
INSTANTIATE_TEST_SUITE_P(Workers, Small, testing::Values(1, 2));

constexpr auto kInRing = static_cast<int>(kInlineBytes);

char mark(int bytes, int at) { return static_cast<char>(7 * bytes + at); }

TEST_P(Small, AllLengthsArriveWhole) {
  run([&](job::Rank& me) {
    std::vector<char> data(static_cast<size_t>(kInRing) + 2);
    for (int round = 0; round < 3; ++round) {
      for (int bytes = 0; bytes <= kInRing + 2; ++bytes) {
        if (me.world_rank == 0) {
          for (int i = 0; i < bytes; ++i) data[static_cast<size_t>(i)] = mark(bytes, i);
          const bool is_short = send_any(me, data.data(), bytes, bytes);
          EXPECT_EQ(is_short, is_near_ && bytes <= kInRing) << bytes;
          recv_any(me, data.data(), 0, 1, 1);  // now and then the receiver is first
          continue;
        }
        std::fill(data.begin(), data.end(), 'x');
        const int source = bytes % 3 == 0 ? kAnySource : 0;
        const int tag = bytes % 5 == 0 ? kAnyTag : bytes;
        const Status got = recv_any(me, data.data(), bytes, source, tag);
        EXPECT_EQ(got.source, 0);
        EXPECT_EQ(got.tag, bytes);
        EXPECT_EQ(got.bytes, bytes);
        EXPECT_FALSE(got.failed || got.cancelled);
        for (int i = 0; i < bytes; ++i)
          ASSERT_EQ(data[static_cast<size_t>(i)], mark(bytes, i)) << bytes;
        for (size_t i = static_cast<size_t>(bytes); i < data.size(); ++i)
          ASSERT_EQ(data[i], 'x') << bytes;
        send_any(me, nullptr, 0, 1);
      }
    }
  });
}

// Short and long messages, in one order.
TEST_P(Small, DoNotOvertake) {
  run([&](job::Rank& me) {
    constexpr int kMessages = 3000;
    constexpr int kLengths[] = {4, 60, 4, kInRing, 4, 4, 5000, 4};
    std::vector<char> data(5000);
    for (int i = 0; i < kMessages; ++i) {
      const int bytes = kLengths[i % 8];
      if (me.world_rank == 0) {
        std::memcpy(data.data(), &i, sizeof i);
        send_any(me, data.data(), bytes, i % 2);
      } else {
        const Status got = recv_any(me, data.data(), 5000, 0, kAnyTag);
        int number;
        std::memcpy(&number, data.data(), sizeof number);
        ASSERT_EQ(number, i);
        ASSERT_EQ(got.bytes, bytes);
        ASSERT_EQ(got.tag, i % 2);
      }
    }
  });
}

TEST_P(Small, ARequestThatWasPostedFirstGetsTheFirst) {
  run([&](job::Rank& me) {
    int first = -1, second = -1, other = -1;
    for (int round = 0; round < 500; ++round) {
      if (me.world_rank == 0) {
        recv_any(me, nullptr, 0, 1, 9);
        for (const int value : {round, round + 1, round + 2})
          send_any(me, &value, sizeof value, value == round + 1 ? 4 : 3);
        continue;
      }
      Request posted;
      start_recv(me, posted, from(0, &first, sizeof first, 3));
      send_any(me, nullptr, 0, 9);
      EXPECT_EQ(recv_any(me, &other, sizeof other, 0, 4).tag, 4);
      EXPECT_EQ(recv_any(me, &second, sizeof second, kAnySource, kAnyTag).tag, 3);
      wait(me, posted, why_);
      EXPECT_EQ(first, round);
      EXPECT_EQ(other, round + 1);
      EXPECT_EQ(second, round + 2);
    }
  });
}

// The message stays for the way that reports it.
TEST_P(Small, WhatIsTooLongIsLeftAlone) {
  run([&](job::Rank& me) {
    for (const int bytes : {2, 8, 100}) {
      std::vector<char> data(static_cast<size_t>(bytes), 'a');
      if (me.world_rank == 0) {
        send_any(me, data.data(), bytes, 1);
        recv_any(me, nullptr, 0, 1, 2);
        continue;
      }
      Status status;
      std::vector<char> room(static_cast<size_t>(bytes), '-');
      const auto most = static_cast<size_t>(bytes) - 1;
      for (int i = 0; i < 100; ++i) {
        ASSERT_FALSE(recv_small(me, room.data(), most, {kContext, 0}, 1, &status));
        sched::Execution::self().yield();
      }
      EXPECT_EQ(room, std::vector<char>(static_cast<size_t>(bytes), '-'));
      status = recv_by_posting(me, from(0, room.data(), bytes - 1, 1), why_);
      EXPECT_TRUE(status.failed);
      EXPECT_EQ(status.bytes, bytes - 1);
      send_any(me, nullptr, 0, 2);
    }
  });
}

TEST_P(Small, WithoutAStatus) {
  run([&](job::Rank& me) {
    int value = me.world_rank;
    for (int i = 0; i < 1000; ++i) {
      if (me.world_rank == 0) {
        send_any(me, &i, sizeof i, 5);
        recv_any(me, &value, sizeof value, 1, 5);
        EXPECT_EQ(value, i);
      } else {
        if (!recv_small(me, &value, sizeof value, {kContext, 0}, 5, nullptr))
          recv_by_posting(me, from(0, &value, sizeof value, 5), why_);
        send_any(me, &value, sizeof value, 5);
      }
    }
  });
}

TEST_P(Small, NothingIsBufferedIfNothingMayBe) {
  ASSERT_TRUE(Settings::assign("message.eager_limit=0").ok());
  run([&](job::Rank& me) {
    int value = 3;
    if (me.world_rank == 0) {
      EXPECT_FALSE(send_small(me, &value, sizeof value, 1, {kContext, 0}, 1));
      send(me, to(1, &value, sizeof value, 1, 0), why_);
    } else {
      EXPECT_EQ(recv_any(me, &value, sizeof value, 0, 1).bytes, 4);
    }
  });
  ASSERT_TRUE(Settings::assign("message.eager_limit=8192").ok());
}

}  // namespace
}  // namespace mpc::msg::test

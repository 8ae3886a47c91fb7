// What other processes send to a rank that does not receive stays within its limit, and is all
// received later.
#include <gtest/gtest.h>

#include "runtime/message/mailbox.h"
#include "scheduler/outside_work.h"
#include "tests/unit/message/unreceived.h"
#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

constexpr size_t kBytes = 8192, kLimit = 1 << 20;

class Flow : public testing::TestWithParam<uint64_t> {
 protected:
  World world(int ranks, int processes, size_t limit) {
    World made(ranks, 2);
    made.with_processes(processes, GetParam()).with_unexpected_bytes(limit);
    return made;
  }
  ~Flow() override { World(1, 1).with_unexpected_bytes(8 << 20); }
  Why why_;
};
INSTANTIATE_TEST_SUITE_P(Seeds, Flow, testing::Values(0, 1, 2, 3));

// Message i is a part of this that begins at i.
struct Text {
  explicit Text(size_t messages) : bytes(messages + kBytes) {
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i >> 3);
  }
  std::vector<char> bytes;
};

// Two ranks send, the third one computes; or only one sends, and waits for each message.
TEST_P(Flow, TenThousandMessagesToARankThatComputesStayWithTheirSenders) {
  constexpr int kMessages = 5000, kSenders = 2;
  const Text text(kMessages);
  std::atomic<int> started{0};
  EXPECT_EQ(world(3, 3, kLimit).run([&](job::Rank& me) {
    if (me.world_rank < kSenders) {
      std::vector<Request> requests(kMessages);
      for (size_t i = 0; i < requests.size(); ++i)
        start_send(me, requests[i],
                   to(kSenders, &text.bytes[i], kBytes, 1, me.world_rank));
      started.fetch_add(1);
      for (Request& request : requests) wait(me, request, why_);
      return;
    }
    while (started.load() < kSenders || sched::outside_work().is_under_way)
      sched::sleep_until(sched::now_ns() + 100'000);
    const Held held = held_by(mailbox_of(me));
    EXPECT_LE(held.data_memory, kLimit);
    EXPECT_GT(held.data_memory, kLimit / 2);
    EXPECT_EQ(held.messages, size_t{kSenders * kMessages});
    EXPECT_EQ(held.offer_memory, (held.messages - held.with_data) * 256);
    std::vector<char> in(kBytes);
    for (size_t i = 0; i < kMessages; ++i) {
      for (int source = 0; source < kSenders; ++source) {
        const Status s = recv(me, from(source, in.data(), kBytes, 1), why_);
        ASSERT_EQ(s.bytes, int64_t{kBytes});
        ASSERT_EQ(std::memcmp(in.data(), &text.bytes[i], kBytes), 0) << i;
      }
    }
  }),
            "");
}

// Who waits for each message offers at most one.
TEST_P(Flow, ABlockingSenderIsHeldUp) {
  constexpr int kMessages = 500;
  const Text text(kMessages);
  EXPECT_EQ(world(2, 2, kLimit).run([&](job::Rank& me) {
    if (me.world_rank == 0) {
      for (size_t i = 0; i < kMessages; ++i)
        send(me, to(1, &text.bytes[i], kBytes, 1, 0), why_);
      return;
    }
    size_t seen = 0;
    for (int quiet = 0; quiet < 20; ++quiet) {  // until nothing more comes
      sched::sleep_until(sched::now_ns() + 1'000'000);
      const Held held = held_by(mailbox_of(me));
      EXPECT_LE(held.data_memory, kLimit);
      EXPECT_LE(held.messages, held.with_data + 1);
      if (held.messages != std::exchange(seen, held.messages)) quiet = 0;
    }
    EXPECT_LT(seen, size_t{kMessages});
    std::vector<char> in(kBytes);
    for (size_t i = 0; i < kMessages; ++i) {
      recv(me, from(0, in.data(), kBytes, 1), why_);
      ASSERT_EQ(std::memcmp(in.data(), &text.bytes[i], kBytes), 0) << i;
    }
  }),
            "");
}

// After a flood the receiver has told its sender so: data leave at once again.
TEST_P(Flow, WhatIsReceivedMakesRoomAgain) {
  constexpr int kMessages = 1000;
  const std::vector<char> data(kBytes);
  EXPECT_EQ(world(2, 2, kLimit).run([&](job::Rank& me) {
    std::vector<char> in(kBytes);
    for (int round = 0; round < 3; ++round) {
      if (me.world_rank == 0) {
        std::vector<Request> requests(kMessages);
        for (Request& r : requests) start_send(me, r, to(1, data.data(), kBytes, 1, 0));
        for (Request& r : requests) wait(me, r, why_);
        recv(me, from(1, nullptr, 0, 2), why_);
        Request last;
        start_send(me, last, to(1, data.data(), kBytes, 3, 0));
        EXPECT_TRUE(last.is_complete()) << "round " << round;
        wait(me, last, why_);
      } else {
        for (int i = 0; i < kMessages; ++i)
          recv(me, from(0, in.data(), kBytes, 1), why_);
        send(me, to(0, nullptr, 0, 2, 1), why_);
        recv(me, from(0, in.data(), kBytes, 3), why_);
      }
    }
  }),
            "");
}

// A message that waits behind others is received before them: offers always go.
TEST_P(Flow, TheLastMessageMayBeReceivedFirst) {
  constexpr int kMessages = 300;
  const Text text(kMessages);
  EXPECT_EQ(world(2, 2, 64 << 10).run([&](job::Rank& me) {
    if (me.world_rank == 0) {
      std::vector<Request> requests(kMessages);
      for (int i = 0; i < kMessages; ++i) {
        const auto at = static_cast<size_t>(i);
        start_send(me, requests[at], to(1, &text.bytes[at], kBytes, i, 0));
      }
      for (Request& r : requests) wait(me, r, why_);
      return;
    }
    std::vector<char> in(kBytes);
    for (int i = kMessages; i-- > 0;) {
      recv(me, from(0, in.data(), kBytes, i), why_);
      const char* const sent = &text.bytes[static_cast<size_t>(i)];
      ASSERT_EQ(std::memcmp(in.data(), sent, kBytes), 0) << i;
    }
  }),
            "");
}

// Messages to a rank that has ended are dropped, and take no room for ever.
TEST_P(Flow, AnEndedRankGivesItsRoomBack) {
  std::atomic<bool> is_over{false};
  const std::vector<char> data(kBytes);
  World world = this->world(2, 2, 64 << 10);
  world.run([&](job::Rank& me) {
    if (me.world_rank == 1) {
      for (int i = 0; i < 7; ++i) {  // they wait here when we end
        while (!iprobe(me, 0, kContext, i, nullptr)) {
          progress(me);
          relax(me);
        }
      }
      destroy_mailbox(me);
      return is_over.store(true);
    }
    for (int i = 0; i < 7; ++i) send(me, to(1, data.data(), kBytes, i, 0), why_);
    while (!is_over.load()) sched::sleep_until(sched::now_ns() + 100'000);
    for (int i = 0; i < 100; ++i) {
      while (sched::outside_work().is_under_way)
        sched::sleep_until(sched::now_ns() + 100'000);
      Request request;
      start_send(me, request, to(1, data.data(), kBytes, 8, 0));
      ASSERT_TRUE(request.is_complete()) << i;
    }
  });
}

}  // namespace
}  // namespace mpc::msg::test

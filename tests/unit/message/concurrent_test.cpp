// Many things at once: threads of one rank, callbacks, cancel and probe races, ends.
// Long: its promises share one fixture, and threads that act for a rank.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

class Concurrent : public testing::TestWithParam<int> {
 protected:
  void run(int ranks, const std::function<void(job::Rank&)>& body) {
    World world(ranks, GetParam());
    EXPECT_EQ(world.run(body), "");
  }
  Why why_;
};
INSTANTIATE_TEST_SUITE_P(Workers, Concurrent, testing::Values(1, 2));

// Runs `body(i)` on kernel threads that act for the rank, and joins them.
void on_threads(job::Rank& rank, int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  std::atomic<int> finished{0};
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      sched::Execution::self().set_identity(&rank);
      body(i);
      finished.fetch_add(1);
    });
  }
  while (finished.load() < count) sched::sleep_until(sched::now_ns() + 200'000);
  for (auto& t : threads) t.join();
}

TEST_P(Concurrent, ThreadsOfARankSendAndReceiveAtTheSameTime) {
  constexpr int kThreads = 3, kRounds = 300;
  run(2, [&](job::Rank& me) {
    const int other = 1 - me.world_rank;
    on_threads(me, kThreads, [&](int t) {
      for (int i = 0; i < kRounds; ++i) {
        const size_t words = i % 10 == 0 ? 2000 : i % 3 == 0 ? 40 : 1;
        std::vector<int> out(words, i * kThreads + t), in(words, -1);
        Request r;
        start_recv(me, r, from(other, in.data(), words * 4, t));
        send(me, to(other, out.data(), words * 4, t, me.world_rank), why_);
        wait(me, r, why_);
        ASSERT_EQ(in, out);
      }
    });
  });
}

// A sender that loses its core while the ring is full finds it empty when it gets it back: two
// threads that compute take the workers' cores away now and then. Receives that are started
// meanwhile take messages out of the ring, the queue, or wait for them, in order all the same.
TEST_P(Concurrent, AFullRingThatIsEmptiedMeanwhileLetsItsSenderGoOn) {
  constexpr size_t kWindow = 64;
  constexpr int kWindows = 1000;
  std::atomic<bool> is_over{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i)
    others.emplace_back([&] {
      while (!is_over.load()) {
      }
    });
  run(2, [&](job::Rank& me) {
    struct TwoCells {
      int number;
      char rest[60];
    };
    std::vector<TwoCells> messages(kWindow);
    std::vector<Request> requests(kWindow);
    std::vector<Request*> all;
    for (Request& r : requests) all.push_back(&r);
    for (int w = 0; w < kWindows; ++w) {
      for (size_t i = 0; i < kWindow; ++i) {
        TwoCells& m = messages[i];
        if (me.world_rank == 0) {
          m.number = w * 64 + static_cast<int>(i);
          start_send(me, requests[i], to(1, &m, sizeof m, 1, 0));
        } else {
          start_recv(me, requests[i], from(0, &m, sizeof m, i % 3 == 0 ? kAnyTag : 1));
        }
      }
      wait_all(me, all.data(), all.size(), why_);
      if (me.world_rank == 0) continue;
      for (size_t i = 0; i < kWindow; ++i) {
        ASSERT_EQ(messages[i].number, w * 64 + static_cast<int>(i));
      }
    }
  });
  is_over.store(true);
  for (std::thread& t : others) t.join();
}

// Whoever completes a receive wakes the waiter a moment before it says so. A condition that has
// found it incomplete, and takes its time to say that, must be asked again.
TEST_P(Concurrent, WhatCompletesWhileAConditionIsEvaluatedIsSeen) {
  constexpr int kRounds = 1000;
  std::atomic<int> begun{0}, seen{0};
  std::atomic<sched::Execution*> receiver{nullptr};
  run(2, [&](job::Rank& me) {
    if (me.world_rank == 0) {
      receiver.store(me.execution);
      for (int i = 0; i < kRounds; ++i) {
        int got = -1;
        Request r;
        Request* const list[] = {&r};
        start_recv(me, r, from(1, &got, sizeof got, 1));
        begun.store(i + 1);
        auto slow = [](void* request) {
          const auto* receive = static_cast<Request*>(request);
          const bool is_complete = receive->is_complete();
          for (int k = 0; !is_complete && k < 500 && !receive->is_complete(); ++k)
            __builtin_ia32_pause();
          return is_complete;
        };
        wait_until(me, list, 1, slow, &r, why_);
        if (!r.is_complete()) wait(me, r, why_);  // after a failure
        seen.store(i + 1);
      }
      return;
    }
    for (int i = 0; i < kRounds; ++i) {
      while (begun.load() <= i || !receiver.load()->is_parked())
        sched::sleep_until(sched::now_ns() + 20'000);
      send(me, to(0, &i, sizeof i, 1, 1), why_);
      const uint64_t end = sched::now_ns() + 3'000'000'000;
      while (seen.load() <= i && sched::now_ns() < end)
        sched::sleep_until(sched::now_ns() + 20'000);
      if (seen.load() > i) continue;
      ADD_FAILURE() << "round " << i << ": the receiver sleeps";
      receiver.load()->unpark();
      while (seen.load() <= i) sched::sleep_until(sched::now_ns() + 20'000);
    }
  });
}

// The main execution of a rank keeps the lock while it waits in a quick receive; a thread that
// wants it has to get it all the same, and receives that it has posted come first.
TEST_P(Concurrent, AWaitingReceiveGivesWayToAnotherThreadOfItsRank) {
  constexpr int kRounds = 300;
  std::atomic<bool> is_enough{false};
  run(2, [&](job::Rank& me) {
    if (me.world_rank == 1) {  // answers until a negative number comes
      for (int64_t got = 0; got >= 0;) {
        recv(me, from(0, &got, sizeof got, 1), why_);
        send(me, to(0, &got, sizeof got, 1, 1), why_);
      }
      return;
    }
    std::thread thread([&] {
      sched::Execution::self().set_identity(&me);
      for (int i = 0; i < kRounds; ++i) {
        int64_t nothing = 0;
        Request r;
        start_recv(me, r, from(1, &nothing, sizeof nothing, 7));
        cancel(me, r);
        EXPECT_TRUE(r.is_complete() && r.status().cancelled);
      }
      is_enough.store(true);
    });
    for (int64_t i = 0, got = 0; got >= 0; ++i) {
      const int64_t sent = is_enough.load() ? -1 : i;
      send(me, to(1, &sent, sizeof sent, 1, 0), why_);
      recv(me, from(1, &got, sizeof got, 1), why_);
      ASSERT_EQ(got, sent);
    }
    thread.join();
  });
}

TEST_P(Concurrent, ThreadsOfARankShareOneStreamWithoutLoss) {
  constexpr int kThreads = 3, kEach = 500;
  std::atomic<int64_t> sum{0};
  run(2, [&](job::Rank& me) {
    if (me.world_rank == 0) {
      for (int i = 1; i <= kThreads * kEach; ++i) send(me, to(1, &i, 4, 1, 0), why_);
    } else {
      on_threads(me, kThreads, [&](int) {
        for (int i = 0; i < kEach; ++i) {
          int got = 0;
          recv(me, from(kAnySource, &got, 4, kAnyTag), why_);
          sum.fetch_add(got);
        }
      });
    }
  });
  constexpr int64_t n = kThreads * kEach;
  EXPECT_EQ(sum.load(), n * (n + 1) / 2);
}

TEST_P(Concurrent, WaitAllWakesWhenTheLastOneIsThere) {
  constexpr size_t kCount = 1000;
  run(2, [&](job::Rank& me) {
    std::vector<int> values(kCount);
    std::vector<Request> requests(kCount);
    std::vector<Request*> pointers;
    for (size_t i = 0; i < kCount; ++i) {
      pointers.push_back(i % 7 == 3 ? nullptr : &requests[i]);
      values[i] = static_cast<int>(i);
      if (pointers[i] == nullptr) continue;
      if (me.world_rank == 0) {
        const Mode mode = i % 5 == 0 ? Mode::kSynchronous : Mode::kStandard;
        start_send(me, requests[i], to(1, &values[i], 4, static_cast<int>(i), 0, mode));
      } else {
        values[i] = -1;
        const size_t k = kCount - 1 - i;  // in the other order
        if (k % 7 != 3) {
          start_recv(me, requests[i], from(0, &values[i], 4, static_cast<int>(k)));
        } else {
          start_recv(me, requests[i], from(0, &values[i], 4, 100000));
        }
      }
    }
    if (me.world_rank == 1) {
      for (size_t i = 0; i < kCount; ++i) {
        if (pointers[i] != nullptr && (kCount - 1 - i) % 7 == 3)
          cancel(me, requests[i]);
        if (pointers[i] == nullptr) {  // whose message has no receive yet
          int value = -1;
          recv(me, from(0, &value, 4, static_cast<int>(kCount - 1 - i)), why_);
          EXPECT_EQ(value, static_cast<int>(kCount - 1 - i));
        }
      }
    }
    wait_all(me, pointers.data(), kCount, why_);
    for (auto* p : pointers) EXPECT_TRUE(p == nullptr || p->is_complete());
  });
}

TEST_P(Concurrent, WaitUntilSeesTheFirstOfSeveral) {
  run(3, [&](job::Rank& me) {
    constexpr int kRounds = 200;
    if (me.world_rank != 0) {
      for (int i = 0; i < kRounds; ++i) {
        send(me, to(0, &i, 4, 1, me.world_rank), why_);
        recv(me, from(0, nullptr, 0, 2), why_);
      }
      return;
    }
    int values[2];
    Request requests[2];
    Request* pointers[2] = {&requests[0], &requests[1]};
    int seen[2] = {0, 0};
    for (int k : {0, 1}) start_recv(me, requests[k], from(k + 1, &values[k], 4, 1));
    while (seen[0] + seen[1] < 2 * kRounds) {
      auto any = [](void* argument) {
        auto* all = static_cast<Request**>(argument);
        return all[0]->is_complete() || all[1]->is_complete();
      };
      // A finished side stays complete, so wait for the other one alone.
      for (int k : {0, 1}) {
        if (seen[k] == kRounds) wait(me, requests[1 - k], why_);
      }
      wait_until(me, pointers, 2, any, pointers, why_);
      for (int k : {0, 1}) {
        if (seen[k] == kRounds || !requests[k].is_complete()) continue;
        EXPECT_EQ(values[k], seen[k]++);
        send(me, to(k + 1, nullptr, 0, 2, 0), why_);
        if (seen[k] < kRounds)
          start_recv(me, requests[k], from(k + 1, &values[k], 4, 1));
      }
    }
  });
}

// A completer wakes such a waiter a moment before it says that the operation is complete. A
// waiter that looks in between must not fall asleep for ever.
TEST_P(Concurrent, WaitUntilIsNotLostBetweenWakeUpAndCompletion) {
  constexpr int kRounds = 3000;
  constexpr int64_t kBytes = 40'000;  // not buffered
  std::vector<char> out(kBytes, 'a'), in(kBytes);
  run(2, [&](job::Rank& me) {
    std::mt19937 random(static_cast<unsigned>(me.world_rank) + 5);
    for (int round = 0; round < kRounds; ++round) {
      Request request;
      const uint64_t end =
          sched::now_ns() + random() % 60'000;  // about as long as a wait polls
      while (sched::now_ns() < end) {
      }
      if (me.world_rank == 0)
        start_send(me, request, to(1, out.data(), kBytes, 1, 0));
      else
        start_recv(me, request, from(0, in.data(), kBytes, 1));
      Request* all[] = {&request};
      wait_until(
          me, all, 1,
          [](void* argument) { return static_cast<Request*>(argument)->is_complete(); },
          &request, why_);
    }
  });
}

TEST_P(Concurrent, NotifyMakesAWaitLookAgain) {
  std::atomic<int> turn{0};
  std::atomic<job::Rank*> ranks[2] = {};
  run(2, [&](job::Rank& me) {
    ranks[me.world_rank] = &me;
    while (ranks[1 - me.world_rank] == nullptr) sched::Execution::self().yield();
    struct Condition {
      std::atomic<int>* turn;
      int mine;
    } condition{&turn, me.world_rank};
    for (int i = 0; i < 300; ++i) {
      wait_until(
          me, nullptr, 0,
          [](void* argument) {
            auto* c = static_cast<Condition*>(argument);
            return c->turn->load() % 2 == c->mine;
          },
          &condition, why_);
      turn.fetch_add(1);
      notify(*ranks[1 - me.world_rank]);
    }
  });
  EXPECT_EQ(turn.load(), 600);
}

// A message that callbacks hand on around a ring: 20,000 hops, in constant stack.
struct Hop {
  job::Rank* self;
  Request in, out;
  int value = 0;
  std::atomic<bool> done{false};
  static constexpr int kHops = 20000;
  static void arrived(Request*, void* argument) {
    Hop& hop = *static_cast<Hop*>(argument);
    const int next = (hop.self->world_rank + 1) % hop.self->world_size;
    const int value = hop.value++;
    if (value + 1 < kHops) {
      const int passed = value + 1;
      start_send(*hop.self, hop.out, to(next, &passed, 4, 1, hop.self->world_rank));
    }
    // Last: what it receives may use `out` at once, on another thread.
    if (value + hop.self->world_size < kHops) {
      start_recv(*hop.self, hop.in, from(kAnySource, &hop.value, 4, 1));
    }
    if (value + hop.self->world_size >= kHops) {
      hop.done.store(true);
      notify(*hop.self);
    }
  }
};

TEST_P(Concurrent, CallbacksMayStartOperationsWithoutGoingDeeper) {
  constexpr int kRanks = 8;
  std::vector<Hop> hops(kRanks);
  std::atomic<int> ready{0};
  run(kRanks, [&](job::Rank& me) {
    Hop& hop = hops[static_cast<size_t>(me.world_rank)];
    hop.self = &me;
    hop.in.set_on_complete(&Hop::arrived, &hop);
    start_recv(me, hop.in, from(kAnySource, &hop.value, 4, 1));
    ready.fetch_add(1);
    while (ready.load() < kRanks) sched::Execution::self().yield();
    if (me.world_rank == 0) {
      int first = 0;
      send(me, to(0, &first, 4, 1, 0), why_);
    }
    wait_until(
        me, nullptr, 0, [](void* h) { return static_cast<Hop*>(h)->done.load(); }, &hop,
        why_);
  });
}

TEST_P(Concurrent, CancelAndArrivalAgreeOnOneOutcome) {
  run(2, [&](job::Rank& me) {
    constexpr int kRounds = 1000;
    // By reference; and by value: one cell, several cells, a block.
    constexpr Count kBytes[] = {4, 4, 200, 4000};
    for (int i = 0; i < kRounds; ++i) {
      const Mode mode = i / 2 % 4 == 0 ? Mode::kSynchronous : Mode::kStandard;
      const Count bytes = kBytes[i / 2 % 4];
      int values[1000] = {-1};
      int& value = values[0];
      if (me.world_rank == 0) {  // it is withdrawn, or received
        Request r;
        value = i;
        start_send(me, r, to(1, values, bytes, 1, 0, mode));
        if (i % 2 == 0) cancel(me, r);
        wait(me, r, why_);
        const bool cancelled = r.status().cancelled;
        send(me, to(1, &cancelled, 1, 2, 0), why_);
        recv(me, from(1, nullptr, 0, 3), why_);  // its receive is over, too
      } else {
        Request r;
        start_recv(me, r, from(0, values, bytes, 1));
        bool cancelled = false;
        recv(me, from(0, &cancelled, 1, 2), why_);
        if (cancelled) cancel(me, r);
        wait(me, r, why_);
        EXPECT_EQ(r.status().cancelled, cancelled);
        if (!cancelled) {
          EXPECT_EQ(value, i);
        }
        send(me, to(0, nullptr, 0, 3, 1), why_);
      }
    }
  });
}

TEST_P(Concurrent, CancelTakesBackTheRightOneOfEqualMessages) {
  constexpr Count kBytes[] = {4, 200, 4000, 20000};
  run(2, [&](job::Rank& me) {
    for (const Count bytes : kBytes) {
      std::vector<int> values(5000);
      if (me.world_rank == 0) {
        constexpr int kCount =
            40;  // fewer cells than the ring has, so both ways are taken
        std::vector<Request> requests(kCount);
        std::vector<std::vector<int>> buffers(kCount, values);
        for (int i = 0; i < kCount; ++i) {
          buffers[i][0] = i;
          start_send(me, requests[i], to(1, buffers[i].data(), bytes, 1, 0));
        }
        for (int i = 0; i < kCount; i += 3) {
          cancel(me, requests[i]);
          if (has_network()) wait(me, requests[i], why_);
          EXPECT_TRUE(requests[i].is_complete());
          EXPECT_TRUE(requests[i].status().cancelled);
        }
        send(me, to(1, nullptr, 0, 2, 0), why_);
        for (Request& r : requests) wait(me, r, why_);
        recv(me, from(1, nullptr, 0, 3), why_);
        cancel(me, requests[1]);  // received long ago
        EXPECT_FALSE(requests[1].status().cancelled);
      } else {
        recv(me, from(0, nullptr, 0, 2), why_);
        for (int i = 0; i < 40; ++i) {
          if (i % 3 == 0) continue;
          recv(me, from(0, values.data(), bytes, 1), why_);
          EXPECT_EQ(values[0], i);
        }
        EXPECT_FALSE(iprobe(me, kAnySource, kContext, kAnyTag, nullptr));
        send(me, to(0, nullptr, 0, 3, 1), why_);
      }
    }
  });
}

TEST_P(Concurrent, MatchedProbesOfSeveralThreadsTakeEachMessageOnce) {
  constexpr int kThreads = 3, kCount = 600;
  std::vector<std::atomic<int>> seen(kCount);
  run(2, [&](job::Rank& me) {
    if (me.world_rank == 0) {
      for (int i = 0; i < kCount; ++i) send(me, to(1, &i, 4, 1, 0), why_);
      return;
    }
    std::atomic<int> left{kCount};
    on_threads(me, kThreads, [&](int) {
      while (left.load() > 0) {
        Status s;
        MatchedMessage* m = improbe(me, kAnySource, kContext, 1, &s);
        if (m == nullptr) {
          relax(me);
          continue;
        }
        left.fetch_sub(1);
        Request r;
        int value = -1;
        start_mrecv(me, r, m, &value, 4, byte_type());
        wait(me, r, why_);
        seen[static_cast<size_t>(value)].fetch_add(1);
      }
    });
  });
  for (auto& s : seen) EXPECT_EQ(s.load(), 1);
}

// A prober waits for a message that nobody has posted a receive for, so its sender matches
// nothing: it must be woken all the same. Both sizes that are kept in different ways.
TEST_P(Concurrent, AParkedProberIsWokenByItsMessage) {
  struct Probe {
    job::Rank* self;
    Status status;
  };
  run(2, [&](job::Rank& me) {
    for (size_t bytes : {size_t{4}, size_t{1000}, size_t{100000}}) {
      std::vector<char> data(bytes);
      for (int i = 0; i < 50; ++i) {
        if (me.world_rank == 0) {
          recv(me, from(1, nullptr, 0, 2), why_);
          // Longer than a spin, so that the prober is parked.
          sched::sleep_until(sched::now_ns() + 100'000);
          send(me, to(1, data.data(), bytes, 1, 0), why_);
          continue;
        }
        send(me, to(0, nullptr, 0, 2, 1), why_);
        Probe probe{&me, {}};
        wait_until(
            me, nullptr, 0,
            [](void* argument) {
              auto& p = *static_cast<Probe*>(argument);
              return iprobe(*p.self, 0, kContext, 1, &p.status);
            },
            &probe, why_);
        ASSERT_EQ(probe.status.bytes, static_cast<int64_t>(bytes));
        recv(me, from(0, data.data(), bytes, 1), why_);
      }
    }
  });
}

TEST_P(Concurrent, ThousandsMayBeOutstanding) {
  constexpr size_t kCount = 10000;
  run(2, [&](job::Rank& me) {
    std::vector<int> values(kCount);
    std::vector<Request> requests(kCount);
    std::vector<Request*> pointers;
    for (auto& r : requests) pointers.push_back(&r);
    for (int phase : {0, 1}) {  // unexpected first, then posted first
      const bool sends = me.world_rank == phase;
      if (!sends && phase == 0) recv(me, from(0, nullptr, 0, 99999), why_);
      if (sends && phase == 1) recv(me, from(0, nullptr, 0, 99999), why_);
      for (size_t i = 0; i < kCount; ++i) {
        if (sends) {
          values[i] = static_cast<int>(i);
          start_send(me, requests[i],
                     to(1 - phase, &values[i], 4, static_cast<int>(i), phase));
        } else {
          const size_t k = kCount - 1 - i;
          start_recv(me, requests[k], from(phase, &values[k], 4, static_cast<int>(k)));
        }
      }
      if (me.world_rank == 0) send(me, to(1, nullptr, 0, 99999, 0), why_);
      wait_all(me, pointers.data(), kCount, why_);
      if (!sends) {
        for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], static_cast<int>(i));
      }
    }
  });
}

TEST_P(Concurrent, AReceiverThatComputesHasItsMessageCopiedByTheSender) {
  // Over a network its thread copies, and the sender is done when its data have been read.
  const bool ends_later = World(2, 1).is_over_network();
  std::atomic<bool> sent{false};
  run(2, [&](job::Rank& me) {
    std::vector<char> data(1 << 20, me.world_rank == 0 ? 'a' : 'b');
    if (me.world_rank == 0) {
      recv(me, from(1, nullptr, 0, 1), why_);
      send(me, to(1, data.data(), data.size(), 2, 0), why_);
      sent.store(true);
    } else {
      Request r;
      start_recv(me, r, from(0, data.data(), data.size(), 2));
      send(me, to(0, nullptr, 0, 1, 1), why_);
      // No call of the message layer from here on, until the data is there.
      while (!sent.load()) sched::Execution::self().yield();
      while (ends_later && !r.is_complete()) sched::Execution::self().yield();
      EXPECT_TRUE(r.is_complete());
      EXPECT_EQ(data.back(), 'a');
      wait(me, r, why_);
    }
  });
}

TEST(Ends, WithOperationsUnderWayHarmNobody) {
  World world(3, 1);
  const std::string left = world.run([&](job::Rank& me) {
    const Why why;
    std::vector<char> large(100000);
    if (me.world_rank == 0) {  // leaves a receive and a large send behind
      auto receive = std::make_unique<Request>();
      auto send = std::make_unique<Request>();
      start_recv(me, *receive, from(1, large.data(), 8, 7));
      start_send(me, *send, to(1, large.data(), large.size(), 8, 0));
      destroy_mailbox(me);
    } else if (me.world_rank == 1) {
      while (world.rank(0).mailbox != nullptr) sched::Execution::self().yield();
      send(me, to(0, large.data(), 8, 7, 1), why);     // dropped
      send(me, to(0, large.data(), 4000, 7, 1), why);  // dropped
      Request stays;
      start_send(me, stays, to(0, large.data(), large.size(), 7, 1));
      EXPECT_FALSE(stays.is_complete());
      cancel(me, stays);
      wait(me, stays, why);
      EXPECT_TRUE(stays.status().cancelled);
      EXPECT_FALSE(iprobe(me, kAnySource, kContext, kAnyTag, nullptr));
      destroy_mailbox(me);
    } else {
      destroy_mailbox(me);
    }
  });
  EXPECT_EQ(left, "");
}

}  // namespace
}  // namespace mpc::msg::test

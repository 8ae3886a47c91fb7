// Windows of small messages: receives that are started without a look at the ring, and senders that
// are a ring ahead, keep the order of each sender and lose nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

class Stream : public testing::TestWithParam<int> {
 protected:
  void run(int ranks, const std::function<void(job::Rank&)>& body) {
    World world(ranks, GetParam());
    EXPECT_EQ(world.run(body), "");
  }
  Why why_;
};
INSTANTIATE_TEST_SUITE_P(Workers, Stream, testing::Values(1, 2, 3));

constexpr int kRanks = 3, kOldTag = 1 << 20;

// What one rank has under way in one round.
struct Window {
  std::vector<Request> sends, receives;
  std::vector<int> out, in;
  explicit Window(size_t each)
      : sends(2 * each), receives(2 * each), out(2 * each), in(2 * each, -1) {}
};

void post_receives(job::Rank& me, Window& w, size_t each, int round, bool is_wild) {
  for (size_t i = 0; i < 2 * each; ++i) {
    const int source = (me.world_rank + 1 + static_cast<int>(i % 2)) % kRanks;
    start_recv(me, w.receives[i],
               from(is_wild ? kAnySource : source, &w.in[i], sizeof(int), round));
  }
}

void start_sends(job::Rank& me, Window& w, size_t each, int round) {
  for (size_t i = 0; i < 2 * each; ++i) {
    const int dest = (me.world_rank + 1 + static_cast<int>(i % 2)) % kRanks;
    w.out[i] = static_cast<int>(i / 2);
    start_send(me, w.sends[i], to(dest, &w.out[i], sizeof(int), round, me.world_rank));
  }
}

void end_all(job::Rank& me, Window& w, int how, const Why& why) {
  std::vector<Request*> all;
  for (auto* list : {&w.receives, &w.sends})
    for (Request& request : *list) all.push_back(&request);
  if (how == 0) return wait_all(me, all.data(), all.size(), why);
  if (how == 1) {
    for (size_t i = all.size(); i-- > 0;) wait(me, *all[i], why);
    return;
  }
  auto is_done = [&] {
    return std::all_of(all.begin(), all.end(),
                       [](const Request* r) { return r->is_complete(); });
  };
  while (!is_done()) {
    if (!progress(me)) relax(me);
  }
}

// The messages of each source, in the order of the receives that have got them.
void expect_order(const Window& w) {
  std::vector<int> next(kRanks, 0);
  for (size_t i = 0; i < w.receives.size(); ++i) {
    const Status& status = w.receives[i].status();
    ASSERT_EQ(status.bytes, int64_t{sizeof(int)});
    ASSERT_EQ(w.in[i], next[static_cast<size_t>(status.source)]++) << "receive " << i;
  }
}

// A receive that stands in the queue all the time must not keep others from being looked for.
TEST_P(Stream, WindowsInAllDirectionsKeepTheirOrder) {
  constexpr int kRounds = 150;
  run(kRanks, [&](job::Rank& me) {
    std::mt19937 random(static_cast<unsigned>(me.world_rank));
    std::mt19937 common(7);
    Request old;
    int value = 0;
    start_recv(me, old, from(kAnySource, &value, sizeof value, kOldTag));
    for (int round = 0; round < kRounds; ++round) {
      const size_t each = 1 + common() % 150;
      const bool is_wild = common() % 2 == 0;
      Window w(each);
      const bool sends_first = random() % 2 == 0;
      if (sends_first) start_sends(me, w, each, round);
      post_receives(me, w, each, round, is_wild);
      if (!sends_first) start_sends(me, w, each, round);
      end_all(me, w, static_cast<int>(random() % 3), why_);
      expect_order(w);
      // Whoever ends the last round first sends what it waits for.
      if (round + 1 < kRounds) {
        ASSERT_FALSE(old.is_complete());
      }
    }
    const int last = 4711;
    send(me,
         to((me.world_rank + 1) % kRanks, &last, sizeof last, kOldTag, me.world_rank),
         why_);
    wait(me, old, why_);
    EXPECT_EQ(value, last);
  });
}

// Probes, cancelled receives and blocking ones between receives that were not looked for.
TEST_P(Stream, WhatComesBetweenSeesTheOldestMessage) {
  constexpr int kRounds = 500;
  constexpr size_t kWindow = 24;
  run(2, [&](job::Rank& me) {
    const int other = 1 - me.world_rank;
    int next = 0;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<int> values(kWindow);
      std::vector<Request> requests(kWindow);
      if (me.world_rank == 0) {
        for (size_t i = 0; i < kWindow; ++i) {
          values[i] = next++;
          start_send(me, requests[i], to(other, &values[i], sizeof(int), 1, 0));
        }
        for (Request& request : requests) wait(me, request, why_);
        recv(me, from(other, nullptr, 0, 2), why_);
        continue;
      }
      Request unwanted;
      start_recv(me, unwanted, from(other, nullptr, 0, 3));
      const size_t posted = static_cast<size_t>(round) % kWindow;
      for (size_t i = 0; i < posted; ++i)
        start_recv(me, requests[i], from(other, &values[i], sizeof(int), 1));
      if (round % 3 == 0) cancel(me, unwanted);
      Status status;
      if (round % 2 == 0) {  // finds the first message behind those for the receives
        while (!iprobe(me, kAnySource, kContext, 1, &status)) relax(me);
        EXPECT_EQ(status.bytes, int64_t{sizeof(int)});
      }
      for (size_t i = posted; i < kWindow; ++i)
        recv(me, from(other, &values[i], sizeof(int), 1), why_);
      for (size_t i = 0; i < posted; ++i) wait(me, requests[i], why_);
      for (int value : values) ASSERT_EQ(value, next++);
      if (round % 3 != 0) cancel(me, unwanted);
      EXPECT_TRUE(unwanted.status().cancelled);
      send(me, to(other, nullptr, 0, 2, 1), why_);
    }
  });
}

}  // namespace
}  // namespace mpc::msg::test

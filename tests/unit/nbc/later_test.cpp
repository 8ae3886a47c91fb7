// Meetings that nobody waits for at once: members are any number of meetings ahead of each other, and none ends early.
#include "nbc/direct/later.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "nbc/direct/key.h"
#include "nbc/direct/pending.h"
#include "tests/unit/nbc/findings.h"

namespace mpc::nbc::direct {
namespace {

// Without mailboxes: nobody is told, as nobody waits.
struct Members {
  explicit Members(const std::vector<int>& places)
      : later(places), ranks(places.size()), calls(places.size()) {}
  uint64_t arrive(size_t member, Coll coll = Coll::kBarrier) {
    Pending& call = calls[member].emplace_back();
    call.self = &ranks[member];
    call.member = static_cast<int>(member);
    call.call.coll = coll;
    call.key = make_key(coll, 0, 0);
    call.wrong_member = -1;
    return later.arrive(call);
  }
  Later later;
  std::deque<job::Rank> ranks;
  std::vector<std::deque<Pending>> calls;  // of each member, in order
};

TEST(Later, IsOverWhenTheLastMemberHasComeAndNotBefore) {
  Members members({0, 1, 0, 1, 0});
  for (uint64_t number = 1; number <= 3; ++number)
    for (size_t m = 0; m < 5; ++m) {
      EXPECT_FALSE(members.later.is_over(number));
      EXPECT_EQ(members.later.missing(number), static_cast<int>(m));
      EXPECT_EQ(members.arrive(m), number);
    }
  EXPECT_TRUE(members.later.is_over(3));
  EXPECT_EQ(members.later.missing(3), -1);
  EXPECT_FALSE(members.later.is_over(4));
}

TEST(Later, AMemberMayBeManyMeetingsAhead) {
  constexpr uint64_t kAhead = 1000;
  Members members({0, 0, 1});
  for (uint64_t i = 1; i <= kAhead; ++i) EXPECT_EQ(members.arrive(2), i);
  for (uint64_t i = 1; i <= kAhead; ++i) EXPECT_EQ(members.arrive(0), i);
  EXPECT_FALSE(members.later.is_over(1));
  for (uint64_t i = 1; i <= kAhead; ++i) {
    members.arrive(1);
    EXPECT_TRUE(members.later.is_over(i));
    EXPECT_FALSE(members.later.is_over(i + 1));
  }
}

// Each thread says before it comes how far it is: nobody may find a meeting over that another one has not come to.
TEST(Later, NoMeetingEndsEarlyWithThreadsThatRunAheadOfEachOther) {
  constexpr int kThreads = 4;
  constexpr uint64_t kMeetings = 20000;
  Members members({0, 1, 1, 0});
  std::atomic<uint64_t> told[kThreads] = {};
  test::Findings findings;
  const auto run = [&](size_t me) {
    std::mt19937 random(static_cast<unsigned>(me));
    for (uint64_t i = 1; i <= kMeetings; ++i) {
      told[me].store(i, std::memory_order_relaxed);
      const uint64_t number = members.arrive(me);
      if (random() % 8 != 0) continue;
      while (!members.later.is_over(number)) std::this_thread::yield();
      for (const auto& other : told)
        if (other.load(std::memory_order_relaxed) < number)
          findings.add("meeting " + std::to_string(number) + " is over too early");
    }
    while (!members.later.is_over(kMeetings)) std::this_thread::yield();
  };
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) threads.emplace_back(run, t);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(findings.all(), "");
  EXPECT_TRUE(members.later.is_over(kMeetings));
}

TEST(Later, CallsThatDifferAreSaidToEachMember) {
  Members members({0, 0, 1});
  members.arrive(0);
  members.arrive(2);
  members.arrive(1, Coll::kAllgather);
  ASSERT_TRUE(members.later.is_over(1));
  EXPECT_EQ(members.calls[0][0].wrong_member, 1);
  EXPECT_EQ(members.calls[1][0].wrong_member, 0);
  EXPECT_EQ(members.calls[2][0].wrong_member, 1);
  EXPECT_EQ(members.calls[1][0].wrong_key, make_key(Coll::kBarrier, 0, 0));
}

}  // namespace
}  // namespace mpc::nbc::direct

// What a member may do when, and that post, start, complete and wait order memory.
#include <gtest/gtest.h>

#include "tests/unit/rma/window.h"

namespace mpc::rma {
namespace {

using test::kWhy;
using test::text_of;
using test::Window;
using test::World;

// One rank, on its own.
void alone(const std::function<void(Access&, Window&)>& body) {
  World world(1, 1);
  Window window(world, 64);
  EXPECT_EQ(world.run([&](job::Rank& self) { body(window.of(self), window); }), "");
}

TEST(Access, NeedsAnEpochForAnOperation) {
  alone([](Access& access, Window&) {
    EXPECT_NE(access.reach(0, kWhy), nullptr);
    access.after_fence(true);
    EXPECT_EQ(access.reach(0, kWhy), nullptr);
    access.after_fence(false);
    EXPECT_NE(access.reach(0, kWhy), nullptr);
  });
}

TEST(Access, LetsALockReplaceAFenceThatNothingFollowed) {
  alone([](Access& access, Window&) {
    access.after_fence(true);
    EXPECT_EQ(text_of(access.lock(LockType::kShared, 0, false, kWhy)), "");
    EXPECT_NE(access.before_fence(), nullptr);
    EXPECT_EQ(text_of(access.unlock(0)), "");
    EXPECT_NE(access.reach(0, kWhy), nullptr);  // the fence's epoch is over
  });
}

TEST(Access, RefusesALockAmongOperationsOfAFence) {
  alone([](Access& access, Window&) {
    access.after_fence(true);
    EXPECT_EQ(access.reach(0, kWhy), nullptr);
    EXPECT_NE(access.lock(LockType::kShared, 0, false, kWhy), nullptr);
    EXPECT_NE(access.lock_all(false, kWhy), nullptr);
    EXPECT_NE(access.start(std::vector<int>{0}), nullptr);
    EXPECT_EQ(text_of(access.before_fence()), "");
    EXPECT_EQ(text_of(access.before_free()), "");
  });
}

TEST(Access, RefusesToLockTwiceAndToUnlockWhatIsFree) {
  alone([](Access& access, Window&) {
    EXPECT_NE(access.unlock(0), nullptr);
    EXPECT_NE(access.unlock_all(), nullptr);
    EXPECT_NE(access.flush(0), nullptr);
    EXPECT_NE(access.flush_all(), nullptr);
    EXPECT_EQ(text_of(access.lock(LockType::kExclusive, 0, false, kWhy)), "");
    EXPECT_NE(access.lock(LockType::kShared, 0, true, kWhy), nullptr);
    EXPECT_NE(access.lock_all(false, kWhy), nullptr);
    EXPECT_NE(access.unlock_all(), nullptr);
    EXPECT_NE(access.before_free(), nullptr);
    EXPECT_EQ(text_of(access.flush(0)), "");
    EXPECT_TRUE(access.is_passive());
    EXPECT_EQ(text_of(access.unlock(0)), "");
    EXPECT_FALSE(access.is_passive());
  });
}

TEST(Access, LeavesTheLockAloneWhereTheProgramSaysThatNobodyElseLocks) {
  alone([](Access& access, Window& window) {
    EXPECT_EQ(text_of(access.lock(LockType::kExclusive, 0, true, kWhy)), "");
    EXPECT_TRUE(window.share.target(0).lock.try_lock(LockType::kExclusive, 0));
    EXPECT_EQ(text_of(access.unlock(0)), "");
    EXPECT_EQ(window.share.target(0).lock.exclusive_holder(), 0);
    window.share.target(0).lock.unlock(LockType::kExclusive);
  });
}

TEST(Access, RefusesHalfOfAPostOrAStart) {
  alone([](Access& access, Window&) {
    bool is_over = false;
    EXPECT_NE(access.wait(kWhy), nullptr);
    EXPECT_NE(access.test(&is_over), nullptr);
    EXPECT_NE(access.complete(kWhy), nullptr);
    EXPECT_EQ(text_of(access.post(std::vector<int>{0})), "");
    EXPECT_NE(access.post(std::vector<int>{0}), nullptr);
    EXPECT_EQ(text_of(access.test(&is_over)), "");
    EXPECT_FALSE(is_over);
    EXPECT_EQ(text_of(access.start(std::vector<int>{0})), "");
    EXPECT_NE(access.start(std::vector<int>{0}), nullptr);
    EXPECT_NE(access.before_free(), nullptr);
    EXPECT_EQ(access.reach(0, kWhy), nullptr);
    EXPECT_EQ(text_of(access.complete(kWhy)), "");
    EXPECT_NE(access.before_free(), nullptr);  // the post is open
    EXPECT_EQ(text_of(access.test(&is_over)), "");
    EXPECT_TRUE(is_over);
    EXPECT_EQ(text_of(access.before_free()), "");
  });
}

TEST(Access, LocksOnlyWhatIsReachedAndAllOfItWhereMembersShareMemory) {
  for (const bool may_share : {false, true}) {
    World world(3, 1);
    Window window(world, 64, may_share);
    EXPECT_EQ(world.run([&](job::Rank& self) {
      if (self.world_rank != 1) return;
      Access& mine = window.of(self);
      mine.lock_all(false, kWhy);
      for (int t = 0; t < 3; ++t) {
        const bool is_held = may_share || t == 1;
        EXPECT_EQ(window.share.target(t).lock.shares(), is_held ? 1 : 0) << t;
      }
      EXPECT_EQ(mine.reach(2, kWhy), nullptr);
      EXPECT_EQ(window.share.target(2).lock.shares(), 1);
      mine.unlock_all();
      for (int t = 0; t < 3; ++t)
        EXPECT_EQ(window.share.target(t).lock.shares(), 0) << t;
    }),
              "");
  }
}

// Each rank writes to its neighbours between post and wait, plainly: what is not ordered is lost, or a
// race for ThreadSanitizer.
void ring_of_posts(int ranks, int workers, int turns, int reach) {
  World world(ranks, workers);
  Window window(world, sizeof(int64_t) * static_cast<size_t>(ranks + 1));
  std::atomic<int> wrong{0};
  EXPECT_EQ(world.run([&](job::Rank& self) {
    const int me = self.world_rank;
    std::vector<int> targets, origins;
    for (int i = 1; i <= reach; ++i) {
      targets.push_back((me + i) % ranks);
      origins.push_back((me + ranks - i % ranks) % ranks);
    }
    Access& mine = window.of(self);
    for (int turn = 1; turn <= turns; ++turn) {
      if (turn % 2 == 0 && mine.start(targets) != nullptr) ++wrong;
      if (mine.post(origins) != nullptr) ++wrong;
      if (turn % 2 != 0 && mine.start(targets) != nullptr) ++wrong;
      for (const int target : targets) {
        if (turn % 3 != 0 && test::reach_now(mine, target) != nullptr) ++wrong;
        if (turn % 3 != 0) window.of(target)[me] = turn;
      }
      if (mine.complete(kWhy) != nullptr) ++wrong;
      bool is_over = false;
      if (turn % 5 == 0) {
        while (!is_over) mine.test(&is_over);
      } else if (mine.wait(kWhy) != nullptr) {
        ++wrong;
      }
      for (const int origin : origins) {
        const int64_t want = turn % 3 != 0 ? turn : turn - 1;
        if (window.of(me)[origin] != want) ++wrong;
      }
    }
  }),
            "");
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Access, OrdersPostsOfTwoRanksOnTwoCores) { ring_of_posts(2, 2, 1500, 1); }
TEST(Access, OrdersPostsOf64RanksOnTwoCores) { ring_of_posts(64, 2, 60, 5); }
TEST(Access, OrdersPostsToOneself) { ring_of_posts(3, 2, 300, 3); }
TEST(Access, OrdersPostsOf70RanksToAll) { ring_of_posts(70, 2, 12, 69); }

}  // namespace
}  // namespace mpc::rma

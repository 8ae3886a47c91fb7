// Locks of targets: exclusion, order, fairness; what one holder writes the next one reads.
#include <algorithm>
#include <thread>

#include "tests/unit/rma/window.h"

namespace mpc::rma {
namespace {

using test::kWhy;
using test::Window;
using test::World;

TEST(TargetLock, IsSharedByReadersAndHeldByOneWriter) {
  TargetLock lock;
  EXPECT_TRUE(lock.try_lock(LockType::kShared, 0));
  EXPECT_TRUE(lock.try_lock(LockType::kShared, 1));
  EXPECT_EQ(lock.shares(), 2);
  EXPECT_FALSE(lock.try_lock(LockType::kExclusive, 2));
  lock.unlock(LockType::kShared);
  lock.unlock(LockType::kShared);
  EXPECT_TRUE(lock.try_lock(LockType::kExclusive, 2));
  EXPECT_EQ(lock.exclusive_holder(), 2);
  EXPECT_FALSE(lock.try_lock(LockType::kShared, 0));
  EXPECT_FALSE(lock.try_lock(LockType::kExclusive, 0));
  lock.unlock(LockType::kExclusive);
  EXPECT_EQ(lock.exclusive_holder(), -1);
}

struct Ticket final : LockWaiter {
  Ticket(LockType wanted, int who, std::vector<int>& told)
      : LockWaiter(wanted, who), order(told) {}
  void granted() noexcept override { order.push_back(rank); }
  std::vector<int>& order;
};

// Else two readers of two targets and a writer at each could all wait for each other.
TEST(TargetLock, WhoHoldsAnotherTargetPassesWritersThatWait) {
  TargetLock lock;
  std::vector<int> order;
  Ticket writer(LockType::kExclusive, 1, order), other(LockType::kExclusive, 2, order),
      joins(LockType::kJoin, 3, order), later(LockType::kJoin, 4, order);
  ASSERT_TRUE(lock.try_lock(LockType::kShared, 0));
  EXPECT_FALSE(lock.lock_or_queue(writer));
  EXPECT_FALSE(lock.lock_or_queue(other));
  EXPECT_FALSE(lock.try_lock(LockType::kJoin, 3));  // not without the queue's mutex
  EXPECT_TRUE(lock.lock_or_queue(joins));
  lock.unlock(LockType::kShared);
  EXPECT_TRUE(order.empty());
  lock.unlock(LockType::kShared);  // what has joined
  EXPECT_EQ(order, std::vector<int>{1});
  EXPECT_FALSE(lock.lock_or_queue(later));  // a writer holds it: then it is the next
  lock.unlock(LockType::kExclusive);
  EXPECT_EQ(order, (std::vector<int>{1, 4}));
  lock.unlock(LockType::kShared);
  EXPECT_EQ(order, (std::vector<int>{1, 4, 2}));
  lock.unlock(LockType::kExclusive);
  EXPECT_TRUE(lock.try_lock(LockType::kExclusive, 0));  // nothing is left
  lock.unlock(LockType::kExclusive);
}

TEST(TargetLock, GivesWayInTheOrderOfTheQueueAndToReadersTogether) {
  TargetLock lock;
  std::vector<int> order;
  Ticket reader1(LockType::kShared, 1, order), reader2(LockType::kShared, 2, order),
      writer(LockType::kExclusive, 3, order), late(LockType::kShared, 4, order);
  ASSERT_TRUE(lock.try_lock(LockType::kExclusive, 0));
  EXPECT_FALSE(lock.lock_or_queue(reader1));
  EXPECT_FALSE(lock.lock_or_queue(reader2));
  EXPECT_FALSE(lock.lock_or_queue(writer));
  EXPECT_FALSE(lock.lock_or_queue(late));
  lock.unlock(LockType::kExclusive);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_FALSE(lock.try_lock(LockType::kShared, 5));  // it would pass the writer by
  lock.unlock(LockType::kShared);
  EXPECT_EQ(order.size(), 2u);
  lock.unlock(LockType::kShared);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(lock.exclusive_holder(), 3);
  lock.unlock(LockType::kExclusive);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
  lock.unlock(LockType::kShared);
  EXPECT_TRUE(lock.try_lock(LockType::kExclusive, 0));  // nothing is left
  lock.unlock(LockType::kExclusive);
}

TEST(TargetLock, IsTakenAtOnceWhereTheHolderHasGoneMeanwhile) {
  TargetLock lock;
  std::vector<int> order;
  Ticket writer(LockType::kExclusive, 1, order), reader(LockType::kShared, 2, order);
  EXPECT_TRUE(lock.lock_or_queue(writer));
  lock.unlock(LockType::kExclusive);
  EXPECT_TRUE(lock.lock_or_queue(reader));
  EXPECT_TRUE(lock.try_lock(LockType::kShared, 3));  // no bit of the queue is left
  lock.unlock(LockType::kShared);
  lock.unlock(LockType::kShared);
  EXPECT_TRUE(order.empty());
}

// Plain memory under the locks: a missing order is a race for ThreadSanitizer, and a lost increment
// without it.
void mix_locks(int ranks, int workers, int turns) {
  SCOPED_TRACE("seed " + std::to_string(test::seed()));
  World world(ranks, workers);
  const int targets = std::min(ranks, 3);
  Window window(world, 64);
  std::vector<int64_t> wanted(static_cast<size_t>(targets));
  std::atomic<int64_t> torn{0};
  std::vector<std::atomic<int64_t>> added(static_cast<size_t>(targets));
  EXPECT_EQ(world.run([&](job::Rank& self) {
    std::mt19937 random(test::seed() + static_cast<unsigned>(self.world_rank));
    Access& mine = window.of(self);
    for (int turn = 0; turn < turns; ++turn) {
      const int target = static_cast<int>(random()) & 0xffff;
      const int t = target % targets;
      const bool writes = random() % 3 != 0;
      const auto type = writes ? LockType::kExclusive : LockType::kShared;
      if (mine.lock(type, t, false, kWhy) != nullptr) ++torn;
      if (test::reach_now(mine, t) != nullptr) ++torn;
      int64_t* const memory = window.of(t);
      if (memory[0] != memory[1]) ++torn;
      if (writes) {
        ++memory[0];
        if (random() % 8 == 0) sched::Execution::self().yield();
        ++memory[1];
        added[static_cast<size_t>(t)].fetch_add(1, std::memory_order_relaxed);
      }
      if (mine.unlock(t) != nullptr) ++torn;
    }
  }),
            "");
  EXPECT_EQ(torn.load(), 0);
  for (int t = 0; t < targets; ++t)
    EXPECT_EQ(window.of(t)[0], added[static_cast<size_t>(t)].load());
}

TEST(TargetLock, ExcludesWritersOfTwoRanksOnTwoCores) { mix_locks(2, 2, 20000); }
TEST(TargetLock, ExcludesWritersOf64RanksOnTwoCores) { mix_locks(64, 2, 300); }
TEST(TargetLock, ExcludesWritersOnOneCore) { mix_locks(16, 1, 500); }
TEST(TargetLock, ExcludesWritersWithMoreCoresThanTheMachineHas) {
  mix_locks(12, 4, 500);
}

// Who unlocks and locks again stands behind all who wait: nobody is more than a turn ahead of the
// others once all have come. On one core, as the system may keep the ranks of another one from coming.
TEST(TargetLock, ServesAllOf64RanksInTurn) {
  constexpr int kRanks = 64, kTurns = 50;
  World world(kRanks, 1);
  Window window(world, 64);
  std::vector<int> turns(kRanks, 0);  // under the lock
  int furthest_apart = 0;
  EXPECT_EQ(world.run([&](job::Rank& self) {
    Access& mine = window.of(self);
    for (int turn = 0; turn < kTurns; ++turn) {
      mine.lock(LockType::kExclusive, 0, false, kWhy);
      test::reach_now(mine, 0);
      const auto me = static_cast<size_t>(self.world_rank);
      ++turns[me];
      // While it holds the lock the others run and queue up.
      sched::Execution::self().yield();
      const auto [least, most] = std::minmax_element(turns.begin(), turns.end());
      if (*least > 1 && *most < kTurns)
        furthest_apart = std::max(furthest_apart, *most - *least);
      mine.unlock(0);
    }
  }),
            "");
  EXPECT_LE(furthest_apart, 2);
}

// A kernel thread of a rank waits on a futex, not on a worker.
TEST(TargetLock, IsHandedToAKernelThread) {
  World world(2, 2);
  Window window(world, 64);
  std::atomic<bool> is_held{false}, is_over{false};
  EXPECT_EQ(world.run([&](job::Rank& self) {
    Access& mine = window.of(self);
    if (self.world_rank == 0) {
      mine.lock(LockType::kExclusive, 0, false, kWhy);
      is_held = true;
      for (int i = 0; i < 1000; ++i) sched::Execution::self().yield();
      ++window.of(0)[0];
      mine.unlock(0);
      while (!is_over) sched::Execution::self().yield();
      return;
    }
    while (!is_held) sched::Execution::self().yield();
    std::thread other([&] {
      sched::Execution::self().set_identity(&self);
      mine.lock(LockType::kExclusive, 0, false, kWhy);
      test::reach_now(mine, 0);
      ++window.of(0)[0];
      mine.unlock(0);
      is_over = true;
    });
    other.join();
  }),
            "");
  EXPECT_EQ(window.of(0)[0], 2);
}

}  // namespace
}  // namespace mpc::rma

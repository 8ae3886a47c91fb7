// Epochs within a process whose lock or post has not come: calls return, and the thread that lets them in does the
// operations.
#include "runtime/rma/local_queue.h"

#include <array>
#include <atomic>
#include <cstring>

#include "tests/unit/rma/window.h"

namespace mpc::rma {
namespace {

using test::compute_until;
using test::has_come;
using test::kWhy;
using test::Window;
using test::World;

struct LocalQueues : testing::Test {
  // One word.
  static void put(Window& window, const job::Rank& me, int target, size_t word,
                  int64_t value, LocalQueue::IsOver* later = nullptr) {
    int64_t* const to = window.of(target) + word;
    act(window, me, target, {[=] { std::memcpy(to, &value, sizeof value); }, true, 8},
        later);
  }
  static void add(Window& window, const job::Rank& me, int target, size_t word,
                  int64_t value, int64_t* old = nullptr) {
    std::atomic_ref<int64_t> to(window.of(target)[word]);
    act(window, me, target,
        {[=] {
           const int64_t was = to.fetch_add(value);
           if (old != nullptr) *old = was;
         },
         old == nullptr, 8});
  }
  static void act(Window& window, const job::Rank& me, int target,
                  LocalOperation operation, LocalQueue::IsOver* later = nullptr) {
    Access& access = window.of(me);
    const Complaint complaint = access.reach(target, kWhy);
    if (complaint == nullptr) return operation.run();
    ASSERT_EQ(complaint, kLater);
    access.push(target, std::move(operation), later);
  }
  static void lock(Window& window, const job::Rank& me, int target, LockType type) {
    ASSERT_EQ(window.of(me).lock(type, target, false, kWhy), nullptr);
  }
  static void unlock(Window& window, const job::Rank& me, int target) {
    window.of(me).before_unlock(target, kWhy);
    ASSERT_EQ(window.of(me).unlock(target), nullptr);
  }
  // All ranks come; nothing waits any more.
  static void flush(Window& window, const job::Rank& me, int target) {
    ASSERT_EQ(window.of(me).flush(target), nullptr);
    window.of(me).finish(target, false, kWhy);
  }
};

// The holder releases only when the other one's lock and operations have been called.
TEST_F(LocalQueues, DoWhatWaitsForALockWhileTheOriginComputes) {
  World world(2, 2);
  Window window(world, 16);
  std::atomic<bool> is_held{false}, is_issued{false};
  EXPECT_EQ(world.run([&](job::Rank& me) {
    if (me.world_rank == 1) {
      lock(window, me, 1, LockType::kExclusive);
      is_held = true;
      compute_until([&] { return is_issued.load(); });
      EXPECT_TRUE(has_come(window.of(1), 0));
      unlock(window, me, 1);
    } else {
      compute_until([&] { return is_held.load(); });
      int64_t old = -1;
      LocalQueue::IsOver later;
      lock(window, me, 1, LockType::kExclusive);
      put(window, me, 1, 0, 5);
      add(window, me, 1, 0, 2, &old);
      put(window, me, 1, 1, 9, &later);
      EXPECT_TRUE(later != nullptr && !later->load());
      EXPECT_EQ(window.of(me).wants(1), Wants::kLock);
      is_issued = true;
      compute_until([&] { return later->load(); });
      EXPECT_EQ(old, 5);
      EXPECT_EQ(window.of(1)[0], 7);
      // Nothing waits any more, so this is done at once.
      put(window, me, 1, 1, 10);
      EXPECT_EQ(window.of(1)[1], 10);
      unlock(window, me, 1);
      EXPECT_EQ(window.of(me).wants(1), Wants::kNothing);
    }
  }),
            "");
}

// Loads and stores ask nobody.
TEST_F(LocalQueues, HaveTheLockOfTheOwnMemoryWhenTheCallReturns) {
  constexpr int kRanks = 4, kTurns = 200;
  World world(kRanks, 2);
  Window window(world, 8);
  EXPECT_EQ(world.run([&](job::Rank& me) {
    for (int turn = 0; turn < kTurns; ++turn) {
      const int target = (me.world_rank + turn) % kRanks;
      lock(window, me, target, LockType::kExclusive);
      if (target == me.world_rank)
        ++*window.of(target);
      else
        act(window, me, target, {[word = window.of(target)] { ++*word; }});
      unlock(window, me, target);
    }
  }),
            "");
  for (int r = 0; r < kRanks; ++r) EXPECT_EQ(*window.of(r), kTurns);
}

// Each is asked for when the one before is held: no circle.
TEST_F(LocalQueues, AcquireLocksInTheOrderOfTheCalls) {
  constexpr int kRanks = 5, kTurns = 50;
  World world(kRanks, 2);
  Window window(world, 8);
  EXPECT_EQ(world.run([&](job::Rank& me) {
    for (int turn = 0; turn < kTurns; ++turn) {
      for (int t = 0; t < kRanks; ++t) lock(window, me, t, LockType::kExclusive);
      for (int t = kRanks - 1; t >= 0; --t)
        act(window, me, t, {[word = window.of(t)] { ++*word; }});
      for (int t = 0; t < kRanks; ++t) unlock(window, me, t);
    }
  }),
            "");
  for (int r = 0; r < kRanks; ++r) EXPECT_EQ(*window.of(r), kRanks * kTurns);
}

// Several epochs ahead of their posts, which come only then; each post lets one of them in.
TEST_F(LocalQueues, CompleteLittleOnesBeforeTheTargetPosts) {
  constexpr int64_t kEpochs = 5;
  World world(2, 2);
  Window window(world, 16);
  std::atomic<bool> are_complete{false};
  EXPECT_EQ(world.run([&](job::Rank& me) {
    Access& access = window.of(me);
    const std::array to{1}, from{0};
    if (me.world_rank == 0) {
      for (int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
        EXPECT_EQ(access.start(to), nullptr);
        put(window, me, 1, 0, epoch);
        add(window, me, 1, 1, epoch);
        EXPECT_EQ(access.complete(kWhy), nullptr);
      }
      EXPECT_EQ(access.start(to), nullptr);  // without operations
      EXPECT_EQ(access.complete(kWhy), nullptr);
      EXPECT_EQ(access.wants(1), Wants::kPost);
      are_complete = true;
      access.finish_all(false, kWhy);
      EXPECT_FALSE(access.has_queued());
      return;
    }
    compute_until([&] { return are_complete.load(); });
    EXPECT_EQ(*window.of(1), 0);
    for (int64_t epoch = 1, sum = 1; epoch <= kEpochs; ++epoch, sum += epoch) {
      EXPECT_EQ(access.post(from), nullptr);
      EXPECT_EQ(access.wait(kWhy), nullptr);
      EXPECT_EQ(window.of(1)[0], epoch);
      EXPECT_EQ(window.of(1)[1], sum);
    }
    EXPECT_EQ(access.post(from), nullptr);
    EXPECT_EQ(access.wait(kWhy), nullptr);
  }),
            "");
}

// What needs the caller's buffers is done at the post, and MPI_Win_complete waits for it.
TEST_F(LocalQueues, CompleteOthersWhenTheTargetHasPosted) {
  constexpr int kRanks = 3, kTurns = 100;
  World world(kRanks, 2);
  Window window(world, 8);
  EXPECT_EQ(world.run([&](job::Rank& me) {
    Access& access = window.of(me);
    const std::array to{(me.world_rank + 1) % kRanks},
        from{(me.world_rank + kRanks - 1) % kRanks};
    for (int64_t turn = 1; turn <= kTurns; ++turn) {
      int64_t data = turn * 100 + me.world_rank;
      EXPECT_EQ(access.start(to), nullptr);
      const auto copy = [&data, word = window.of(to[0])] { *word = data; };
      if (turn % 2 == 0) act(window, me, to[0], {copy});
      EXPECT_EQ(access.post(from), nullptr);
      if (turn % 2 == 1) act(window, me, to[0], {copy});
      EXPECT_EQ(access.complete(kWhy), nullptr);
      data = -1;
      EXPECT_EQ(access.wait(kWhy), nullptr);
      EXPECT_EQ(*window.of(me.world_rank), turn * 100 + from[0]);
    }
  }),
            "");
}

// Readers of all targets, writers of one, and many operations while the queue shrinks.
TEST_F(LocalQueues, MixLocksOfOneAndOfAll) {
  constexpr int kRanks = 6, kTurns = 60;
  World world(kRanks, 2);
  Window window(world, 16);
  EXPECT_EQ(world.run([&](job::Rank& me) {
    Access& access = window.of(me);
    std::mt19937 random(test::seed() + static_cast<unsigned>(me.world_rank));
    for (int turn = 0; turn < kTurns; ++turn) {
      if (turn % 2 == 0) {
        EXPECT_EQ(access.lock_all(false, kWhy), nullptr);
        for (int t = 0; t < kRanks; ++t)
          for (int i = 0; i < 10; ++i)
            add(window, me, (t + me.world_rank) % kRanks, 0, 1);
        flush(window, me, static_cast<int>(random() % kRanks));
        access.before_unlock_all(kWhy);
        EXPECT_EQ(access.unlock_all(), nullptr);
      } else {
        const int t = static_cast<int>(random() % kRanks);
        lock(window, me, t, LockType::kExclusive);
        act(window, me, t, {[word = window.of(t) + 1] { ++*word; }});
        if (random() % 2 == 0) flush(window, me, t);
        unlock(window, me, t);
      }
    }
  }),
            "");
  int64_t exclusive = 0;
  for (int t = 0; t < kRanks; ++t) {
    EXPECT_EQ(window.of(t)[0], kRanks * kTurns / 2 * 10);
    exclusive += window.of(t)[1];
  }
  EXPECT_EQ(exclusive, kRanks * kTurns / 2);
}

}  // namespace
}  // namespace mpc::rma

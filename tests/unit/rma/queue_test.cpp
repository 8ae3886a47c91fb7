// Epochs whose lock or post has not come: calls return, operations are sent by whoever polls.
#include <array>
#include <atomic>

#include "base/settings.h"
#include "tests/unit/rma/far_window.h"

namespace mpc::rma {
namespace {

using test::compute_until;
using test::FarWindow;
using test::has_come;
using test::kWhy;
using test::word_type;
using test::words;
using test::World;

constexpr Count kLongWords = 20'000;  // more than net.window_offer_bytes

class QueuedEpochs : public test::OverProcesses {};
INSTANTIATE_TEST_SUITE_P(Processes, QueuedEpochs, test::some_processes(),
                         test::OverProcesses::name);

// The holder releases only when the other one's lock and operations have been called.
TEST_P(QueuedEpochs, SendWhatWaitsForALockWhileTheOriginComputes) {
  World world = make_world();
  FarWindow window(world, GetParam().processes, kLongWords + 2);
  const int target = world.size() - 1, holder = target;
  std::atomic<bool> is_held{false}, is_issued{false};
  EXPECT_EQ(world.run([&](job::Rank& me) {
    if (me.world_rank == holder) {
      window.lock(me, target, LockType::kExclusive);
      is_held = true;
      compute_until([&] { return is_issued.load(); });
      EXPECT_TRUE(has_come(window.of(target), 0));
      window.unlock(me, target);
    } else if (me.world_rank == 0) {
      compute_until([&] { return is_held.load(); });
      std::vector<int64_t> data(kLongWords, 5);
      const int64_t one = 1, last = 7;
      int64_t old = -1;
      const Buffer result = words(&old, 1);
      window.lock(me, target, LockType::kExclusive);
      window.put(me, {target, 2, word_type(), kLongWords},
                 words(data.data(), kLongWords));
      window.accumulate(me, dt::abi::kSum, word_type(), {target, 1, word_type(), 1},
                        words(&one, 1), &result);
      window.put(me, {target, 0, word_type(), 1}, words(&last, 1));
      is_issued = true;
      compute_until([&] {
        return has_come(window.of(target), last) && has_come(&old, 0) &&
               has_come(window.of(target) + kLongWords + 1, 5);
      });
      window.unlock(me, target);
      EXPECT_EQ(window.of(target)[1], 1);
    }
    window.close(me);
  }),
            "");
}

// Requests were sent in the order of the calls, and each when the one before was granted: no circle.
TEST_P(QueuedEpochs, AcquireLocksInTheOrderOfTheCalls) {
  World world = make_world();
  const int n = world.size();
  FarWindow window(world, GetParam().processes, 1);
  constexpr int kTurns = 15;
  EXPECT_EQ(world.run([&](job::Rank& me) {
    for (int turn = 0; turn < kTurns; ++turn) {
      for (int t = 0; t < n; ++t) window.lock(me, t, LockType::kExclusive);
      for (int t = n - 1; t >= 0; --t) {
        int64_t seen = -1;
        window.get(me, {t, 0, word_type(), 1}, words(&seen, 1));
        window.flush(me, t);
        ++seen;
        window.put(me, {t, 0, word_type(), 1}, words(&seen, 1));
        window.flush(me, t);
      }
      for (int t = 0; t < n; ++t) window.unlock(me, t);
    }
    window.close(me);
  }),
            "");
  for (int t = 0; t < n; ++t) EXPECT_EQ(*window.of(t), int64_t{n} * kTurns);
}

// Packets behind a lock, more than there is room for: the thread that has the grant does not wait for room.
TEST_P(QueuedEpochs, GoOnWhenRoomComesBack) {
  constexpr Count kWords = 100'000;
  ASSERT_TRUE(Settings::assign("net.window_bytes=262144").ok());
  ASSERT_TRUE(Settings::assign("net.window_offer_bytes=1G").ok());
  World world = make_world();
  const int n = world.size();
  FarWindow window(world, GetParam().processes, kWords);
  EXPECT_EQ(world.run([&](job::Rank& me) {
    std::vector<int64_t> data(kWords), back(kWords, -1);
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<int64_t>(i) * (me.world_rank + 1);
    for (const int to : {0, n - 1}) {
      window.lock(me, to, LockType::kExclusive);
      window.put(me, {to, 0, word_type(), kWords}, words(data.data(), kWords));
      window.get(me, {to, 0, word_type(), kWords}, words(back.data(), kWords));
      window.unlock(me, to);
      EXPECT_EQ(data, back);
    }
    window.close(me);
  }),
            "");
  ASSERT_TRUE(Settings::assign("net.window_bytes=4194304").ok());
  ASSERT_TRUE(Settings::assign("net.window_offer_bytes=32k").ok());
}

// Several epochs ahead of their posts, which come only then; each post lets one of them in.
TEST_P(QueuedEpochs, CompleteShortOnesBeforeTheTargetPosts) {
  constexpr int64_t kEpochs = 5;
  World world = make_world();
  const int target = world.size() - 1;
  FarWindow window(world, GetParam().processes, 2);
  std::atomic<bool> are_complete{false};
  EXPECT_EQ(world.run([&](job::Rank& me) {
    Access& access = window.access(me);
    const std::array to{target}, from{0};
    if (me.world_rank == 0) {
      for (int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
        EXPECT_EQ(access.start(to), nullptr);
        int64_t value = epoch;
        window.put(me, {target, 0, word_type(), 1}, words(&value, 1));
        window.accumulate(me, dt::abi::kSum, word_type(), {target, 1, word_type(), 1},
                          words(&value, 1), nullptr);
        EXPECT_EQ(access.complete(kWhy), nullptr);
        value = -1;  // it belongs to the caller again
      }
      // One without operations.
      EXPECT_EQ(access.start(to), nullptr);
      EXPECT_EQ(access.complete(kWhy), nullptr);
      are_complete = true;
    } else if (me.world_rank == target) {
      compute_until([&] { return are_complete.load(); });
      EXPECT_EQ(*window.of(target), 0);
      int64_t sum = 0;
      for (int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
        EXPECT_EQ(access.post(from), nullptr);
        EXPECT_EQ(access.wait(kWhy), nullptr);
        sum += epoch;
        EXPECT_EQ(window.of(target)[0], epoch);
        EXPECT_EQ(window.of(target)[1], sum);
      }
      EXPECT_EQ(access.post(from), nullptr);
      EXPECT_EQ(access.wait(kWhy), nullptr);
    }
    window.close(me);
  }),
            "");
}

TEST_P(QueuedEpochs, SendLongOnesWhenTheTargetPostsWhileTheOriginComputes) {
  World world = make_world();
  const int target = world.size() - 1;
  FarWindow window(world, GetParam().processes, kLongWords);
  std::atomic<bool> is_issued{false};
  EXPECT_EQ(world.run([&](job::Rank& me) {
    Access& access = window.access(me);
    const std::array to{target}, from{0};
    if (me.world_rank == 0) {
      std::vector<int64_t> data(kLongWords, 3);
      EXPECT_EQ(access.start(to), nullptr);
      window.put(me, {target, 0, word_type(), kLongWords},
                 words(data.data(), kLongWords));
      is_issued = true;
      compute_until([&] { return has_come(window.of(target) + kLongWords - 1, 3); });
      EXPECT_EQ(access.complete(kWhy), nullptr);
    } else if (me.world_rank == target) {
      compute_until([&] { return is_issued.load(); });
      EXPECT_TRUE(has_come(window.of(target), 0));
      EXPECT_EQ(access.post(from), nullptr);
      EXPECT_EQ(access.wait(kWhy), nullptr);
      EXPECT_EQ(std::vector<int64_t>(window.of(target), window.of(target) + kLongWords),
                std::vector<int64_t>(kLongWords, 3));
    }
    window.close(me);
  }),
            "");
}

// Data that nobody copies: MPI_Win_complete waits for them.
TEST_P(QueuedEpochs, KeepTheBuffersOfLongOnesUntilTheyAreSent) {
  World world = make_world();
  const int n = world.size();
  FarWindow window(world, GetParam().processes, kLongWords);
  EXPECT_EQ(world.run([&](job::Rank& me) {
    Access& access = window.access(me);
    const std::array to{(me.world_rank + 1) % n}, from{(me.world_rank + n - 1) % n};
    for (int64_t turn = 1; turn <= 5; ++turn) {
      EXPECT_EQ(access.start(to), nullptr);
      std::vector<int64_t> data(kLongWords, turn * 100 + me.world_rank);
      // Of a target in this process it waits for the post.
      if (window.share_of(me.world_rank).is_elsewhere(to[0]))
        window.put(me, {to[0], 0, word_type(), kLongWords},
                   words(data.data(), kLongWords));
      EXPECT_EQ(access.post(from), nullptr);
      if (!window.share_of(me.world_rank).is_elsewhere(to[0]))
        window.put(me, {to[0], 0, word_type(), kLongWords},
                   words(data.data(), kLongWords));
      EXPECT_EQ(access.complete(kWhy), nullptr);
      std::ranges::fill(data, -1);
      EXPECT_EQ(access.wait(kWhy), nullptr);
      EXPECT_EQ(std::vector<int64_t>(window.of(me.world_rank),
                                     window.of(me.world_rank) + kLongWords),
                std::vector<int64_t>(kLongWords, turn * 100 + from[0]));
    }
    window.close(me);
  }),
            "");
}

// A short put is over when it has been sent, a fetch when its result is there.
TEST_P(QueuedEpochs, EndRequestsWhenTheLockHasCome) {
  World world = make_world();
  const int target = world.size() - 1;
  FarWindow window(world, GetParam().processes, 2);
  std::atomic<bool> is_held{false}, is_issued{false};
  EXPECT_EQ(world.run([&](job::Rank& me) {
    if (me.world_rank == target) {
      window.lock(me, target, LockType::kExclusive);
      window.of(target)[1] = 9;
      is_held = true;
      compute_until([&] { return is_issued.load(); });
      window.unlock(me, target);
    } else if (me.world_rank == 0) {
      compute_until([&] { return is_held.load(); });
      const int64_t value = 4;
      int64_t got = -1;
      RemoteAccess::IsOver put, get, sum;
      window.lock(me, target, LockType::kShared);
      RemoteAccess& remote = *window.access(me).remote();
      remote.put({target, 0, word_type(), 1}, words(&value, 1), kWhy, &put);
      remote.get({target, 1, word_type(), 1}, words(&got, 1), kWhy, &get);
      remote.accumulate(dt::abi::kSum, word_type(), {target, 1, word_type(), 1},
                        words(&value, 1), nullptr, kWhy, &sum);
      EXPECT_TRUE(put && get && sum);
      EXPECT_FALSE(put->load() || get->load() || sum->load());
      is_issued = true;
      compute_until([&] { return put->load() && get->load() && sum->load(); });
      EXPECT_EQ(got, 9);
      window.unlock(me, target);
      EXPECT_EQ(window.of(target)[0], 4);
      EXPECT_EQ(window.of(target)[1], 13);
    }
    window.close(me);
  }),
            "");
}

// All at once: readers of all targets, writers of one, in no order.
TEST_P(QueuedEpochs, MixLocksOfOneAndOfAll) {
  World world = make_world();
  const int n = world.size();
  FarWindow window(world, GetParam().processes, static_cast<size_t>(n) + 1);
  constexpr int kTurns = 30;
  EXPECT_EQ(world.run([&](job::Rank& me) {
    Access& access = window.access(me);
    std::mt19937 random(test::seed() + static_cast<unsigned>(me.world_rank));
    const int64_t one = 1;
    for (int turn = 0; turn < kTurns; ++turn) {
      if (turn % 2 == 0) {
        EXPECT_EQ(access.lock_all(false, kWhy), nullptr);
        for (int t = 0; t < n; ++t)
          window.accumulate(me, dt::abi::kSum, word_type(),
                            {(t + me.world_rank) % n, me.world_rank, word_type(), 1},
                            words(&one, 1), nullptr);
        access.before_unlock_all(kWhy);
        EXPECT_EQ(access.unlock_all(), nullptr);
        access.finish_all(false, kWhy);
        continue;
      }
      const int t = static_cast<int>(random() % static_cast<unsigned>(n));
      window.lock(me, t, LockType::kExclusive);
      int64_t seen = -1;
      window.get(me, {t, n, word_type(), 1}, words(&seen, 1));
      window.flush(me, t);
      ++seen;
      window.put(me, {t, n, word_type(), 1}, words(&seen, 1));
      window.unlock(me, t);
    }
    window.close(me);
  }),
            "");
  int64_t exclusive = 0;
  for (int t = 0; t < n; ++t) {
    for (int r = 0; r < n; ++r) EXPECT_EQ(window.of(t)[r], kTurns / 2);
    exclusive += window.of(t)[n];
  }
  EXPECT_EQ(exclusive, int64_t{n} * (kTurns / 2));
}

}  // namespace
}  // namespace mpc::rma

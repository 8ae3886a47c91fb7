// Promises of the stack of many pushers, the spin lock, the moving average, and counters.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "base/counter.h"
#include "base/moving_average.h"
#include "base/mpsc_stack.h"
#include "base/mutex.h"
#include "base/spin_lock.h"

namespace mpc {
namespace {

struct Item {
  int value = 0;
  Item* next = nullptr;
};
using Stack = MpscStack<Item, &Item::next>;

std::vector<int> values(const Item* chain) {
  std::vector<int> result;
  for (; chain != nullptr; chain = chain->next) result.push_back(chain->value);
  return result;
}

// Pushers that push single items and chains of two, and a number of takers.
void exchange_between_threads(int takers) {
  constexpr int kPushers = 3, kEach = 6000;
  Stack stack;
  std::vector<std::vector<Item>> items(kPushers, std::vector<Item>(kEach));
  std::vector<std::atomic<int>> times(kPushers * kEach);
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int p = 0; p < kPushers; ++p)
    threads.emplace_back([&, p] {
      auto& mine = items[static_cast<size_t>(p)];
      for (size_t i = 0; i < kEach; ++i)
        mine[i].value = p * kEach + static_cast<int>(i);
      for (size_t i = 0; i < kEach; i += 3) {
        stack.push(mine[i]);
        mine[i + 2].next = &mine[i + 1];
        stack.push_chain(mine[i + 2], mine[i + 1], std::memory_order_seq_cst);
      }
    });
  for (int t = 0; t < takers; ++t)
    threads.emplace_back([&] {
      while (taken.load() < kPushers * kEach) {
        // What one take gives of one pusher is in the order of its pushes, and without a hole.
        std::vector<int> last(kPushers, -1);
        for (Item* item = stack.take_oldest_first(); item != nullptr;) {
          Item* following = item->next;
          const auto pusher = static_cast<size_t>(item->value / kEach);
          if (last[pusher] >= 0) {
            EXPECT_EQ(item->value, last[pusher] + 1);
          }
          last[pusher] = item->value;
          times[static_cast<size_t>(item->value)].fetch_add(1);
          taken.fetch_add(1);
          item = following;
        }
        std::this_thread::yield();
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(stack.is_empty());
  for (auto& count : times) ASSERT_EQ(count.load(), 1);
}

TEST(MpscStack, GivesEachObjectOnceInEachPushersOrder) { exchange_between_threads(1); }

TEST(MpscStack, GivesEachObjectToOneOfSeveralTakers) { exchange_between_threads(2); }

TEST(MpscStack, TellsTheFirstPusher) {
  Stack stack;
  Item a, b;
  EXPECT_TRUE(stack.push(a));
  EXPECT_FALSE(stack.push(b));
  EXPECT_EQ(stack.take_oldest_first(), &a);
  EXPECT_TRUE(stack.push(a));
}

TEST(MpscStack, GivesChainsInBothOrders) {
  Item items[5];
  for (int i = 0; i < 5; ++i) items[i].value = i;
  Stack stack;
  const auto push_all = [&] {
    stack.push(items[0]);
    for (int i = 3; i > 1; --i) items[i].next = &items[i - 1];
    stack.push_chain(items[3], items[1]);
    stack.push(items[4]);
  };
  push_all();
  EXPECT_EQ(values(stack.take_newest_first()), (std::vector<int>{4, 3, 2, 1, 0}));
  push_all();
  EXPECT_EQ(*stack.raw(), &items[4]);
  EXPECT_EQ(values(stack.take_oldest_first()), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(stack.take_oldest_first(), nullptr);
}

// Who finds the lock held leaves the object to its holder, who asks again after the unlock.
TEST(MpscStack, ConfirmsThatItIsEmptyOnlyIfALaterPusherSeesTheUnlock) {
  constexpr int kRounds = 200000;
  Stack stack;
  EXPECT_TRUE(stack.confirm_empty());
  SpinLock<> lock;
  int taken = 0;  // under the lock
  std::atomic<int> arrived{0}, left_behind{0}, pushed{0};
  std::atomic<bool> is_over{false};  // on a machine with other work a round takes long
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  std::vector<Item> items(2 * kRounds);
  const auto run = [&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      arrived.fetch_add(1);
      for (PauseThenYield wait; arrived.load() < 4 * round + 2;) wait.once();
      stack.push(items[static_cast<size_t>(2 * round + thread)],
                 std::memory_order_acq_rel);
      pushed.fetch_add(1);
      while (lock.try_lock()) {
        for (Item* item = stack.take_newest_first(); item != nullptr; item = item->next)
          ++taken;
        lock.unlock();
        if (stack.confirm_empty()) break;
      }
      if (thread == 0) is_over = std::chrono::steady_clock::now() > end;
      arrived.fetch_add(1);
      for (PauseThenYield wait; arrived.load() < 4 * round + 4;) wait.once();
      if (!stack.is_empty()) left_behind.fetch_add(1);
      if (is_over) return;
    }
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  EXPECT_EQ(left_behind.load(), 0);
  EXPECT_EQ(taken, pushed.load());
  Item item;
  stack.push(item);
  EXPECT_FALSE(stack.confirm_empty());
}

template <class Backoff>
class SpinLocks : public testing::Test {};
using Backoffs = testing::Types<PauseThenYield, YieldAtOnce>;
TYPED_TEST_SUITE(SpinLocks, Backoffs);

TYPED_TEST(SpinLocks, LetOneThreadInAtATime) {
  constexpr int kThreads = 4, kEach = 20000;
  SpinLock<TypeParam> lock;
  int count = 0;  // not atomic
  int tried = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        if (t % 2 == 0 || !lock.try_lock()) lock.lock();
        ++count;
        lock.unlock();
        const Locked<SpinLock<TypeParam>> locked(lock);
        ++tried;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kEach);
  EXPECT_EQ(tried, kThreads * kEach);
  EXPECT_FALSE(lock.is_locked());
}

TEST(Mutex, LetsOneThreadInAtATime) {
  constexpr int kThreads = 3, kEach = 5000;
  Mutex mutex;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        const Locked lock(mutex);
        ++count;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kEach);
}

TYPED_TEST(SpinLocks, AreNotTakenTwice) {
  SpinLock<TypeParam> lock;
  if (!lock.try_lock()) FAIL();
  EXPECT_TRUE(lock.is_locked());
  std::thread([&] {
    if (lock.try_lock()) lock.unlock(), ADD_FAILURE();
  }).join();
  lock.unlock();
  if (!lock.try_lock()) FAIL();
  lock.unlock();
}

TEST(MovingAverage, ComesCloserByAnEighth) {
  MovingAverage average(800);
  average.note(0);
  EXPECT_EQ(average.get(), 700u);
  for (int i = 0; i < 200; ++i) average.note(5000);
  EXPECT_NEAR(static_cast<double>(average.get()), 5000, 10);
}

Counter test_counter{"test.count", "Counts in a test."};

TEST(Counter, IsListedAndCounts) {
  test_counter.add();
  test_counter.add(4);
  EXPECT_EQ(test_counter.get(), 5u);
  const auto all = Counter::all();
  EXPECT_NE(std::find(all.begin(), all.end(), &test_counter), all.end());
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](auto* a, auto* b) {
    return std::strcmp(a->name(), b->name()) < 0;
  }));
}

}  // namespace
}  // namespace mpc

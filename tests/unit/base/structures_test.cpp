// Promises of lists, pools, the MPSC queue, and counters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/counter.h"
#include "base/list.h"
#include "base/mpsc_queue.h"
#include "base/pool.h"

namespace mpc {
namespace {

struct Item {
  int value = 0;
  ListLink link;
  ListLink other;
  Item* next = nullptr;
};
using Items = List<Item, &Item::link>;
using Others = List<Item, &Item::other>;

std::vector<int> values(Items& list) {
  std::vector<int> result;
  for (Item& item : list) result.push_back(item.value);
  return result;
}

TEST(List, KeepsOrderAndRemovesFromTheMiddle) {
  Item items[4];
  Items list;
  Others others;
  for (int i = 0; i < 4; ++i) {
    items[i].value = i;
    list.push_back(items[i]);
    others.push_front(items[i]);
  }
  EXPECT_EQ(values(list), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(others.front()->value, 3);
  Items::remove(items[2]);
  EXPECT_FALSE(items[2].link.is_linked());
  EXPECT_TRUE(items[2].other.is_linked());
  list.push_front(items[2]);
  EXPECT_EQ(values(list), (std::vector<int>{2, 0, 1, 3}));
  EXPECT_EQ(list.back()->value, 3);
  while (list.pop_front() != nullptr) {
  }
  while (others.pop_front() != nullptr) {
  }
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.front(), nullptr);
}

TEST(ListDeathTest, NoticesObjectsThatOutliveIt) {
  EXPECT_DEATH(
      {
        Item item;
        Items list;
        list.push_back(item);
      },
      "list dies");
}

TEST(Pool, ReusesAndCounts) {
  Pool<std::string, 4> pool;
  std::vector<std::string*> strings;
  for (int i = 0; i < 10; ++i) strings.push_back(pool.create(40, 'a'));
  EXPECT_EQ(pool.live_count(), 10u);
  std::string* last = strings.back();
  pool.destroy(last);
  EXPECT_EQ(pool.create("b"), last);
  for (std::string* string : strings) pool.destroy(string);
  EXPECT_EQ(pool.live_count(), 0u);
}

TEST(MpscQueue, GivesEachObjectOnceInEachPushersOrder) {
  constexpr int kPushers = 3, kEach = 5000;
  MpscQueue<Item, &Item::next> queue;
  std::vector<std::vector<Item>> items(kPushers, std::vector<Item>(kEach));
  std::vector<std::thread> pushers;
  for (int p = 0; p < kPushers; ++p)
    pushers.emplace_back([&, p] {
      for (int i = 0; i < kEach; ++i) {
        items[static_cast<size_t>(p)][static_cast<size_t>(i)].value = p * kEach + i;
        queue.push(items[static_cast<size_t>(p)][static_cast<size_t>(i)]);
      }
    });
  int taken = 0;
  std::vector<int> next(kPushers, 0);
  while (taken < kPushers * kEach) {
    for (Item* item = queue.take_all(); item != nullptr;) {
      Item* following = item->next;
      const auto pusher = static_cast<size_t>(item->value / kEach);
      EXPECT_EQ(item->value % kEach, next[pusher]++);
      ++taken;
      item = following;
    }
    std::this_thread::yield();
  }
  for (auto& pusher : pushers) pusher.join();
  EXPECT_TRUE(queue.empty());
}

TEST(MpscQueue, TellsTheFirstPusher) {
  MpscQueue<Item, &Item::next> queue;
  Item a, b;
  EXPECT_TRUE(queue.push(a));
  EXPECT_FALSE(queue.push(b));
  EXPECT_EQ(queue.take_all(), &a);
  EXPECT_TRUE(queue.push(a));
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

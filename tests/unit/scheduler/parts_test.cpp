// Promises of parts that need no scheduler around them: a rank's items, the groups of workers that steal.
#include <gtest/gtest.h>

#include <vector>

#include "scheduler/progress/item_queue.h"
#include "scheduler/stealing.h"

namespace mpc::sched {
namespace {

TEST(ItemQueue, GivesItemsInTheirOrder) {
  ItemQueue queue;
  ProgressItem items[3]{};
  EXPECT_EQ(queue.pop(), nullptr);
  for (ProgressItem& item : items) queue.push(item);
  for (ProgressItem& item : items) EXPECT_EQ(queue.pop(), &item);
  EXPECT_TRUE(queue.is_empty());
  queue.push(items[1]);
  EXPECT_EQ(queue.pop(), &items[1]);
}

// Takes item `wanted` of three out, pushes another one, and looks at what is left.
void take_out(size_t wanted) {
  ItemQueue queue;
  ProgressItem items[4]{};
  for (size_t i = 0; i < 3; ++i) queue.push(items[i]);
  EXPECT_FALSE(queue.take(&items[3]));
  EXPECT_TRUE(queue.take(&items[wanted]));
  EXPECT_FALSE(queue.take(&items[wanted]));
  queue.push(items[3]);
  for (size_t i = 0; i < 4; ++i) {
    if (i != wanted) {
      EXPECT_EQ(queue.pop(), &items[i]);
    }
  }
  EXPECT_EQ(queue.pop(), nullptr);
}

TEST(ItemQueue, GivesAnItemBackFromTheFront) { take_out(0); }
TEST(ItemQueue, GivesAnItemBackFromTheMiddle) { take_out(1); }
TEST(ItemQueue, GivesAnItemBackFromTheEnd) { take_out(2); }

std::vector<Stealing::Group> groups(const Stealing::Rules& rules) {
  const Stealing::Workers workers;
  const Bindings bindings;
  const Stealing stealing(rules, workers, bindings);
  std::vector<Stealing::Group> found;
  for (int worker = 0; worker < 4; ++worker) found.push_back(stealing.group(worker));
  return found;
}

TEST(StealingGroups, DivideWorkersIntoGroupsByTheRules) {
  constexpr auto kNobody = Stealing::kNobody;
  constexpr auto kPatient = Stealing::kPatient;
  constexpr auto kEager = Stealing::kEager;
  using Groups = std::vector<Stealing::Group>;
  EXPECT_EQ(groups({false, 0, -1}), (Groups{kNobody, kNobody, kNobody, kNobody}));
  EXPECT_EQ(groups({true, 0, 2}), (Groups{kPatient, kPatient, kPatient, kPatient}));
  EXPECT_EQ(groups({false, 2, -1}), (Groups{kPatient, kPatient, kNobody, kNobody}));
  EXPECT_EQ(groups({false, 2, 3}), (Groups{kPatient, kPatient, kNobody, kEager}));
  EXPECT_EQ(groups({false, 0, 0}), (Groups{kEager, kEager, kEager, kEager}));
}

}  // namespace
}  // namespace mpc::sched

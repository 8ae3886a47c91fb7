// Promises of progress threads: every item runs once, wherever; policies; taking back; the end.
#include "scheduler/progress/progress.h"

#include <cstdlib>
#include <random>
#include <set>

#include "base/settings.h"
#include "tests/unit/scheduler/support.h"

namespace mpc::sched {
namespace {

unsigned seed_of_run() {
  if (const char* text = std::getenv("MPC_TEST_SEED"))
    return static_cast<unsigned>(std::strtoul(text, nullptr, 10));
  return std::random_device{}();
}

constexpr int64_t kLarge = 1 << 20;

struct Item : ProgressItem {
  std::atomic<int> runs{0};
  std::atomic<int> core{-2};
  std::atomic<void*> identity{nullptr};
  Item() {
    run = [](ProgressItem& base) noexcept {
      auto& self = static_cast<Item&>(base);
      self.core.store(Execution::self().core());
      self.identity.store(Execution::self().identity());
      self.runs.fetch_add(1, std::memory_order_release);
    };
  }
  bool is_done() const { return runs.load(std::memory_order_acquire) != 0; }
};

class ProgressTest : public Fixture {
 protected:
  void begin(int workers, ProgressCores::Config config) {
    auto machine = topo::Machine::by_name("numa:2 core:4 pu:1");
    ASSERT_TRUE(machine.ok()) << machine.error().message;
    machine_ = std::move(*machine);
    SchedulerConfig scheduler;
    scheduler.machine = machine_.get();
    start(workers, scheduler);
    cores_ = ProgressCores::make(*scheduler_, *machine_, config);
  }
  // The end of a job: threads stop, then the scheduler waits for them.
  void end(ProgressThread& thread) {
    thread.stop();
    scheduler_->wait_all();
  }
  void TearDown() override {
    Fixture::TearDown();
    cores_.reset();
  }
  static void wait_for(const Item& item) {
    while (!item.is_done()) Execution::self().yield();
  }
  std::unique_ptr<topo::Machine> machine_;
  std::unique_ptr<ProgressCores> cores_;
};

TEST_F(ProgressTest, RunsAnItemOnTheCommunicationCoreAsItsRank) {
  begin(2, {.application_workers = 1});
  int rank = 0;
  auto thread = cores_->make_thread(&rank, 0, 0);
  Item item;
  spawn(0, [&] {
    ASSERT_TRUE(thread->submit(item, kLarge, ProgressNeed::kAnyCore));
    wait_for(item);
    thread->stop();
  });
  scheduler_->wait_all();
  EXPECT_EQ(item.runs.load(), 1);
  EXPECT_EQ(item.core.load(), 1);
  EXPECT_EQ(item.identity.load(), &rank);
}

TEST_F(ProgressTest, AsATaskItRunsOnAnIdleCore) {
  begin(2, {.policy = ProgressPolicy::kTasks, .application_workers = 1});
  int rank = 0;
  auto thread = cores_->make_thread(&rank, 0, 0);
  Item item;
  spawn(0, [&] {
    ASSERT_TRUE(thread->submit(item, kLarge, ProgressNeed::kAnyCore));
    while (!item.is_done()) {
    }  // worker 0 has no time
    thread->stop();
  });
  scheduler_->wait_all();
  EXPECT_EQ(item.core.load(), 1);
  EXPECT_EQ(item.identity.load(), &rank);
}

TEST_F(ProgressTest, RefusesWhatIsSmallOrHasNoCore) {
  begin(2, {.application_workers = 2});
  auto thread = cores_->make_thread(nullptr, 0, 0);
  std::atomic<bool> is_over{false};
  std::atomic<int> started{0};
  Item item;
  bool small = true, large = true;
  // Both workers compute.
  spawn(1, [&] {
    started.fetch_add(1);
    while (!is_over.load()) {
    }
  });
  spawn(0, [&] {
    while (started.load() == 0) {
    }
    small = thread->submit(item, 100, ProgressNeed::kAnyCore);
    large = thread->submit(item, kLarge, ProgressNeed::kAnyCore);
    is_over.store(true);
    thread->stop();
  });
  scheduler_->wait_all();
  EXPECT_FALSE(small);
  EXPECT_FALSE(large);
  EXPECT_EQ(item.runs.load(), 0);
}

TEST_F(ProgressTest, LittleDataOfTheCallersCoreStayThere) {
  begin(2, {.application_workers = 1});
  auto thread = cores_->make_thread(nullptr, 0, 0);
  constexpr int64_t kPart = 64 << 10;  // of an operation
  Item few, many, far;
  bool took_few = true, took_many = false, took_far = false;
  spawn(0, [&] {
    const auto need = ProgressNeed::kAnyCore;
    took_few = thread->submit(few, kPart, need, {.is_near = true, .bytes = kPart});
    took_many = thread->submit(many, kPart, need, {.is_near = true, .bytes = kLarge});
    took_far = thread->submit(far, kPart, need, {.is_near = false, .bytes = kPart});
    thread->stop();
  });
  scheduler_->wait_all();
  EXPECT_FALSE(took_few);
  EXPECT_EQ(few.runs.load(), 0);
  EXPECT_TRUE(took_many);
  EXPECT_EQ(many.runs.load(), 1);
  EXPECT_TRUE(took_far);
  EXPECT_EQ(far.runs.load(), 1);
}

TEST_F(ProgressTest, AnIdleApplicationCoreIsUsed) {
  begin(2, {.application_workers = 2});
  auto thread = cores_->make_thread(nullptr, 0, 0);
  Item item;
  spawn(0, [&] {
    // Worker 1 has no ranks: it falls asleep.
    while (!thread->submit(item, kLarge, ProgressNeed::kFreeCore))
      Execution::self().yield();
    wait_for(item);
    thread->stop();
  });
  scheduler_->wait_all();
  EXPECT_EQ(item.core.load(), 1);
}

TEST_F(ProgressTest, AnItemIsTakenBackOnce) {
  // Policy "same": the item stays queued while the rank does not wait.
  begin(1, {.policy = ProgressPolicy::kSame, .application_workers = 1});
  auto thread = cores_->make_thread(nullptr, 0, 0);
  Item first, second;
  spawn(0, [&] {
    ASSERT_TRUE(thread->submit(first, kLarge, ProgressNeed::kAnyCore));
    ASSERT_TRUE(thread->submit(second, kLarge, ProgressNeed::kAnyCore));
    EXPECT_TRUE(thread->take(&second));
    EXPECT_FALSE(thread->take(&second));
    EXPECT_TRUE(thread->has_items());
    EXPECT_EQ(thread->take_any(), &first);
    EXPECT_EQ(thread->take_any(), nullptr);
    EXPECT_FALSE(thread->has_items());
    thread->stop();
  });
  scheduler_->wait_all();
  EXPECT_EQ(first.runs.load() + second.runs.load(), 0);
}

TEST_F(ProgressTest, PoliciesChooseTheirCores) {
  const struct {
    ProgressPolicy policy;
    std::vector<int> list;
    int core;
  } cases[] = {
      {ProgressPolicy::kSame, {}, 0},     {ProgressPolicy::kNext, {}, 1},
      {ProgressPolicy::kList, {5, 3}, 3},  // rank 1
      {ProgressPolicy::kNuma, {}, 3},  // node 0 has cores 0-3, of which 2 and 3 are free
      {ProgressPolicy::kClosest, {}, 2},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(name_of(c.policy));
    begin(8, {c.policy, c.list, 2});
    auto thread = cores_->make_thread(nullptr, 1, 0);
    Item item;
    spawn(0, [&] {
      ASSERT_TRUE(thread->submit(item, kLarge, ProgressNeed::kAnyCore));
      wait_for(item);
      thread->stop();
    });
    scheduler_->wait_all();
    EXPECT_EQ(item.core.load(), c.core);
    thread.reset();
    Fixture::TearDown();
  }
}

TEST_F(ProgressTest, ItMovesAwayFromABusyCore) {
  begin(3, {.application_workers = 1});
  auto thread = cores_->make_thread(nullptr, 0, 0);
  std::atomic<bool> is_over{false};
  std::atomic<bool> is_busy{false};
  Item before, after;
  spawn(0, [&] {
    ASSERT_TRUE(thread->submit(before, kLarge, ProgressNeed::kAnyCore));
    wait_for(before);
    EXPECT_EQ(before.core.load(), 1);
    spawn(1, [&] {
      is_busy.store(true);
      while (!is_over.load()) {
      }
    });
    while (!is_busy.load()) {
    }
    ASSERT_TRUE(thread->submit(after, kLarge, ProgressNeed::kAnyCore));
    wait_for(after);
    is_over.store(true);
    thread->stop();
  });
  scheduler_->wait_all();
  EXPECT_EQ(after.core.load(), 2);
}

TEST_F(ProgressTest, ItemsLeftAtTheEndAreRun) {
  begin(1, {.policy = ProgressPolicy::kSame, .application_workers = 1});
  auto thread = cores_->make_thread(nullptr, 0, 0);
  Item item;
  spawn(0, [&] {
    ASSERT_TRUE(thread->submit(item, kLarge, ProgressNeed::kAnyCore));
    thread->stop();
    Item late;
    EXPECT_FALSE(thread->submit(late, kLarge, ProgressNeed::kAnyCore));
  });
  scheduler_->wait_all();
  EXPECT_EQ(item.runs.load(), 1);
}

TEST_F(ProgressTest, AnIdleProgressThreadIsNoActivity) {
  begin(2, {.application_workers = 1});
  auto thread = cores_->make_thread(nullptr, 0, 0);
  std::atomic<bool> is_reported{false};
  Execution* waiter = nullptr;
  Item item;
  scheduler_->set_quiescence_handler([&] {
    is_reported.store(true);
    waiter->unpark();
  });
  scheduler_->hold();
  waiter = spawn(0, [&] {
    ASSERT_TRUE(thread->submit(item, kLarge, ProgressNeed::kAnyCore));
    while (!is_reported.load()) Execution::self().park(Waiting{});
    thread->stop();
  });
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_TRUE(is_reported.load());
  EXPECT_EQ(item.runs.load(), 1);
}

// After some pieces of work at short intervals, the communication core looks for more without
// being woken: the item is run although nobody wakes the core.
TEST_F(ProgressTest, AfterRegularWorkTheCoreNapsAndSeesItemsByItself) {
  begin(2, {.application_workers = 1});
  auto thread = cores_->make_thread(nullptr, 0, 0);
  bool has_napped = false;
  spawn(0, [&] {
    const uint64_t end = now_ns() + 20'000'000'000;
    while (!has_napped && now_ns() < end) {
      Item item;
      while (!thread->submit(item, kLarge, ProgressNeed::kAnyCore)) {
      }
      while (!item.is_done()) {
      }  // nobody else runs here
      // Longer than it waits actively, shorter than what counts as an end of the work.
      const uint64_t pause_end = now_ns() + 600'000;
      while (now_ns() < pause_end) has_napped = has_napped || thread->is_napping();
    }
    thread->stop();
  });
  scheduler_->wait_all();
  EXPECT_TRUE(has_napped);
}

TEST_F(ProgressTest, StopEndsANap) {
  for (int round = 0; round < 20; ++round) {
    begin(2, {.application_workers = 1});
    auto thread = cores_->make_thread(nullptr, 0, 0);
    spawn(0, [&] {
      for (int i = 0; i < 20; ++i) {
        Item item;
        if (!thread->submit(item, kLarge, ProgressNeed::kAnyCore)) continue;
        while (!item.is_done()) {
        }
        const uint64_t pause_end = now_ns() + 50'000;
        while (now_ns() < pause_end) {
        }
      }
      thread->stop();
    });
    Fixture::TearDown();  // waits for all
    thread.reset();
  }
}

// Several ranks on two cores submit to each other's threads and take back at random.
TEST_F(ProgressTest, EveryItemRunsOnce) {
  const unsigned seed = seed_of_run();
  SCOPED_TRACE("MPC_TEST_SEED=" + std::to_string(seed));
  std::mt19937 choose(seed);
  for (int round = 0; round < 6; ++round) {
    const int workers = 2 + static_cast<int>(choose() % 3);
    const int application =
        1 + static_cast<int>(choose() % static_cast<unsigned>(workers));
    constexpr ProgressPolicy kPolicies[] = {
        ProgressPolicy::kClosest, ProgressPolicy::kSame, ProgressPolicy::kNext,
        ProgressPolicy::kNuma, ProgressPolicy::kTasks};
    begin(workers, {kPolicies[choose() % 5], {}, application});
    constexpr int kRanks = 6, kItems = 300;
    const int nap_us = static_cast<int>(choose() % 3) * 15;  // 0: none
    ASSERT_TRUE(Settings::assign("progress.nap_us=" + std::to_string(nap_us)).ok());
    ASSERT_TRUE(Settings::assign("progress.spin_us=10").ok());
    std::vector<std::unique_ptr<ProgressThread>> threads;
    for (int r = 0; r < kRanks; ++r)
      threads.push_back(cores_->make_thread(nullptr, r, r % application));
    std::vector<std::vector<Item>> items(kRanks);
    for (auto& list : items) list = std::vector<Item>(kItems);
    std::atomic<int> ended{0};
    for (int r = 0; r < kRanks; ++r) {
      spawn(r % application, [&, r, own = choose()]() mutable {
        std::mt19937 random(static_cast<unsigned>(own));
        for (Item& item : items[static_cast<size_t>(r)]) {
          ProgressThread& to = *threads[random() % kRanks];
          const auto need =
              random() % 2 != 0 ? ProgressNeed::kAnyCore : ProgressNeed::kFreeCore;
          if (!to.submit(item, kLarge, need)) item.run(item);
          if (random() % 3 == 0 && to.take(&item)) item.run(item);
          if (random() % 4 == 0) {
            if (ProgressItem* any = threads[random() % kRanks]->take_any())
              any->run(*any);
          }
          if (random() % 5 == 0) Execution::self().yield();
          if (random() % 16 == 0) {  // about as long as a nap
            const uint64_t pause_end = now_ns() + random() % 64'000;
            while (now_ns() < pause_end) {
            }
          }
        }
        for (Item& item : items[static_cast<size_t>(r)]) wait_for(item);
        if (ended.fetch_add(1) + 1 == kRanks)
          for (auto& thread : threads) thread->stop();
      });
    }
    scheduler_->wait_all();
    for (const auto& list : items)
      for (const Item& item : list) ASSERT_EQ(item.runs.load(), 1);
    threads.clear();
    Fixture::TearDown();
  }
  ASSERT_TRUE(Settings::assign("progress.nap_us=100").ok());
  ASSERT_TRUE(Settings::assign("progress.spin_us=200").ok());
}

TEST(ProgressPolicyTest, NamesAreParsed) {
  EXPECT_EQ(*parse_progress_policy("numa"), ProgressPolicy::kNuma);
  const auto wrong = parse_progress_policy("nearest");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("closest"), std::string::npos);
}

}  // namespace
}  // namespace mpc::sched

// Promises of spawn, park, unpark, yield and timed waits.
#include "scheduler/scheduler.h"

#include <cerrno>
#include <set>
#include <thread>

#include "tests/unit/scheduler/support.h"

namespace mpc::sched {
namespace {

TEST_P(SchedulerTest, RunsEachUltOnce) {
  std::atomic<int> count{0};
  for (int i = 0; i < 100; ++i) spawn(i, [&] { count.fetch_add(1); });
  scheduler_->wait_all();
  EXPECT_EQ(count.load(), 100);
}

TEST_P(SchedulerTest, AnUnparkBeforeParkIsKept) {
  bool done = false;
  spawn(0, [&] {
    Execution::self().unpark();
    Execution::self().unpark();
    Execution::self().park(Waiting{});
    done = true;
  });
  scheduler_->wait_all();
  EXPECT_TRUE(done);
}

TEST_P(SchedulerTest, PingPong) {
  std::atomic<int> turn{0};
  std::vector<Execution*> players(2);
  constexpr int kRounds = 2000;
  auto play = [&](int me) {
    for (int i = 0; i < kRounds; ++i) {
      SpinBudget spin;
      while (turn.load(std::memory_order_acquire) % 2 != me)
        if (!spin.once()) Execution::self().park(Waiting{});
      turn.fetch_add(1);
      players[1 - me]->unpark();
    }
  };
  scheduler_->hold();
  players[0] = spawn(0, [&] { play(0); });
  players[1] = spawn(1, [&] { play(1); });
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_EQ(turn.load(), 2 * kRounds);
}

TEST_P(SchedulerTest, AKernelThreadAndAnUltWakeEachOther) {
  std::atomic<int> turn{0};
  Execution& main = Execution::self();
  constexpr int kRounds = 500;
  scheduler_->hold();
  Execution* ult = spawn(0, [&] {
    for (int i = 0; i < kRounds; ++i) {
      while (turn.load() % 2 != 0) Execution::self().park(Waiting{});
      turn.fetch_add(1);
      main.unpark();
    }
  });
  scheduler_->release();
  for (int i = 0; i < kRounds; ++i) {
    while (turn.load() % 2 != 1) main.park(Waiting{});
    turn.fetch_add(1);
    ult->unpark();
  }
  scheduler_->wait_all();
  EXPECT_EQ(turn.load(), 2 * kRounds);
}

TEST_P(SchedulerTest, SleepsDoNotBlockTheWorker) {
  constexpr uint64_t kSleepers = 100, kSleepNs = 30'000'000;
  const uint64_t begin = now_ns();
  for (uint64_t i = 0; i < kSleepers; ++i)
    spawn(0, [&] { sleep_until(now_ns() + kSleepNs); });
  scheduler_->wait_all();
  const uint64_t elapsed = now_ns() - begin;
  EXPECT_GE(elapsed, kSleepNs);
  EXPECT_LT(elapsed, kSleepers * kSleepNs / 2);  // one after the other it would be all
}

TEST_P(SchedulerTest, YieldIsFair) {
  // Each of the Ults of a worker gets its turn before any of them gets two.
  constexpr int kUlts = 8, kRounds = 50;
  std::vector<int> order;
  scheduler_->hold();
  for (int i = 0; i < kUlts; ++i)
    spawn(0, [&, i] {
      for (int round = 0; round < kRounds; ++round) {
        order.push_back(i);
        Execution::self().yield();
      }
    });
  scheduler_->release();
  scheduler_->wait_all();
  ASSERT_EQ(order.size(), static_cast<size_t>(kUlts * kRounds));
  for (int round = 0; round < kRounds; ++round) {
    std::set<int> seen(order.begin() + round * kUlts,
                       order.begin() + (round + 1) * kUlts);
    EXPECT_EQ(seen.size(), static_cast<size_t>(kUlts));
  }
}

TEST_P(SchedulerTest, HeldUltsDoNotStartBeforeRelease) {
  std::atomic<int> started{0};
  scheduler_->hold();
  for (int i = 0; i < 20; ++i) spawn(i, [&] { started.fetch_add(1); });
  usleep(20'000);
  EXPECT_EQ(started.load(), 0);
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_EQ(started.load(), 20);
}

TEST_P(SchedulerTest, ParkUntilTellsTimeoutFromWake) {
  std::atomic<bool> timed_out_in_time{false}, woken{false};
  Execution* sleeper = nullptr;
  scheduler_->hold();
  sleeper = spawn(0, [&] {
    const uint64_t begin = now_ns();
    const bool first = Execution::self().park_until(begin + 5'000'000, Waiting{});
    timed_out_in_time = !first && now_ns() - begin >= 5'000'000;
    woken = Execution::self().park_until(now_ns() + 20'000'000'000, Waiting{});
  });
  spawn(1, [&] {
    while (!timed_out_in_time) sleep_until(now_ns() + 1'000'000);
    sleeper->unpark();
  });
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_TRUE(timed_out_in_time);
  EXPECT_TRUE(woken);
}

TEST_P(SchedulerTest, ParkUntilOfAKernelThreadEndsInTime) {
  Execution::self().unpark();
  Execution::self().park(Waiting{});  // takes what an earlier test may have left
  const uint64_t begin = now_ns();
  EXPECT_FALSE(Execution::self().park_until(begin + 3'000'000, Waiting{}));
  EXPECT_GE(now_ns() - begin, 3'000'000u);
  Execution::self().unpark();
  EXPECT_TRUE(Execution::self().park_until(now_ns() + 10'000'000'000, Waiting{}));
}

TEST_P(SchedulerTest, TimersRaceWithWakeUps) {
  // Short timed waits of many Ults while others wake them at random; each wait ends.
  constexpr int kUlts = 16, kRounds = 200;
  const unsigned seed = static_cast<unsigned>(now_ns());
  SCOPED_TRACE(seed);
  std::vector<Execution*> ults(kUlts);
  std::atomic<int> ended{0};
  scheduler_->hold();
  for (int i = 0; i < kUlts; ++i)
    ults[static_cast<size_t>(i)] = spawn(i, [&, i] {
      unsigned state = seed + static_cast<unsigned>(i);
      for (int round = 0; round < kRounds; ++round) {
        const auto random = static_cast<unsigned>(rand_r(&state));
        ults[random % kUlts]->unpark();
        Execution::self().park_until(now_ns() + random % 30'000, Waiting{});
      }
      ended.fetch_add(1);
    });
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_EQ(ended.load(), kUlts);
}

TEST_P(SchedulerTest, NoWakeUpIsLostUnderLoad) {
  // A token goes round a ring; unparks come from Ults, from other workers and from a kernel
  // thread that adds needless ones.
  constexpr int kUlts = 12, kLaps = 300;
  std::vector<Execution*> ring(kUlts);
  std::atomic<int> token{0};
  std::atomic<bool> stop{false};
  scheduler_->hold();
  for (int i = 0; i < kUlts; ++i)
    ring[static_cast<size_t>(i)] = spawn(i, [&, i] {
      for (int lap = 0; lap < kLaps; ++lap) {
        SpinBudget spin;
        while (token.load(std::memory_order_acquire) != lap * kUlts + i)
          if (i % 2 == 0 || !spin.once()) Execution::self().park(Waiting{});
        token.fetch_add(1, std::memory_order_release);
        ring[static_cast<size_t>(i + 1) % kUlts]->unpark();
      }
    });
  std::thread noise([&] {
    for (unsigned i = 0; !stop; ++i) {
      ring[i % kUlts]->unpark();
      if (i % 64 == 0) usleep(50);
    }
  });
  scheduler_->release();
  while (token.load() < kUlts * kLaps) usleep(1000);
  stop = true;
  noise.join();
  scheduler_->wait_all();
  EXPECT_EQ(token.load(), kUlts * kLaps);
}

TEST_P(SchedulerTest, UltsSpawnUlts) {
  std::atomic<int> count{0};
  spawn(0, [&] {
    for (int i = 0; i < 30; ++i) spawn(i, [&] { count.fetch_add(1); });
  });
  scheduler_->wait_all();
  EXPECT_EQ(count.load(), 30);
}

TEST_P(SchedulerTest, StacksAreLargeAndGuarded) {
  size_t bytes = 0;
  int sum = 0;
  spawn(0, [&] {
    const auto range = Execution::self().stack();
    bytes = range.bytes;
    volatile char big[6 << 20];
    for (size_t i = 0; i < sizeof big; i += 4096) big[i] = 1;
    for (size_t i = 0; i < sizeof big; i += 4096) sum += big[i];
  });
  scheduler_->wait_all();
  EXPECT_EQ(bytes, 8u << 20);
  EXPECT_EQ(sum, (6 << 20) / 4096);
}

TEST_P(SchedulerTest, ReportsHoldParkedExecutions) {
  int identity = 0;
  std::atomic<bool> go{false};
  Execution* parked = spawn(
      0,
      [&] {
        while (!go) Execution::self().park(Waiting{"a letter"});
      },
      &identity);
  std::string seen;
  while (seen.empty()) {
    usleep(1000);
    scheduler_->for_each_execution([&](const Execution& execution) {
      if (execution.identity() != &identity || execution.wait_reason() == nullptr)
        return;
      seen = execution.wait_reason()->text();
      go = true;
      parked->unpark();  // during the visit: it stays parked until we leave
      usleep(2000);
      EXPECT_EQ(execution.wait_reason()->text(), "a letter");
    });
  }
  scheduler_->wait_all();
  EXPECT_EQ(seen, "a letter");
}

TEST(Scheduler, NamesTheLimitThatStopsAHugeJob) {
  EXPECT_TRUE(Scheduler::check_limits(10).ok());
  auto huge = Scheduler::check_limits(100'000'000);
  ASSERT_FALSE(huge.ok());
  EXPECT_NE(huge.error().message.find("remedy"), std::string::npos)
      << huge.error().message;
}

TEST(Scheduler, SpawnRefusesAWorkerThatIsNotThere) {
  SchedulerConfig config;
  config.cores = {0};
  auto scheduler = Scheduler::start(config);
  ASSERT_TRUE(scheduler.ok());
  EXPECT_FALSE((*scheduler)->spawn({[] {}, 1}).ok());
  EXPECT_FALSE((*scheduler)->spawn({[] {}, -1}).ok());
}

INSTANTIATE_TEST_SUITE_P(Workers, SchedulerTest, testing::Values(1, 2, 4));

}  // namespace
}  // namespace mpc::sched

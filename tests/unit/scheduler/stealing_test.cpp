// Promises of workers that take Ults from each other.
#include <set>
#include <thread>

#include "scheduler/scheduler.h"
#include "tests/unit/scheduler/support.h"

namespace mpc::sched {
namespace {

class Stealing : public Fixture {};

TEST_F(Stealing, IdleWorkersTakeReadyUltsOfABusyOne) {
  SchedulerConfig config;
  config.steal = true;
  start(2, config);
  std::atomic<int> ran{0}, moved{0};
  scheduler_->hold();
  for (int i = 0; i < 6; ++i)
    spawn(0, [&] {
      const uint64_t begin = now_ns();
      while (now_ns() - begin < 30'000'000) {
      }
      ran.fetch_add(1);
      if (Execution::self().core() == 1) moved.fetch_add(1);
    });
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_EQ(ran.load(), 6);
  EXPECT_GE(moved.load(), 1);
}

TEST_F(Stealing, NothingIsLostOrRunTwiceWhenUltsMoveAllTheTime) {
  SchedulerConfig config;
  config.steal = true;
  start(4, config);
  constexpr int kUlts = 24, kRounds = 300;
  std::vector<Execution*> ults(kUlts);
  std::vector<int> rounds(kUlts, 0);
  std::atomic<int> ended{0};
  scheduler_->hold();
  for (size_t i = 0; i < kUlts; ++i)
    ults[i] = spawn(static_cast<int>(i % 2), [&, i] {
      thread_local size_t mine = i;
      for (int round = 0; round < kRounds; ++round) {
        errno = static_cast<int>(i);
        ults[(i + 1) % kUlts]->unpark();
        if (round % 3 == 0)
          Execution::self().yield();
        else
          Execution::self().park_until(now_ns() + 20'000, Waiting{});
        if (mine == i && errno == static_cast<int>(i)) ++rounds[i];
      }
      ended.fetch_add(1);
    });
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_EQ(ended.load(), kUlts);
  for (int count : rounds) EXPECT_EQ(count, kRounds);
}

TEST_F(Stealing, UltsTakenWhileOthersAreStillReleasedRunOnce) {
  SchedulerConfig config;
  config.steal = true;
  constexpr int kWorkers = 8, kUlts = 256, kRounds = 20;
  start(kWorkers, config);
  std::atomic<bool> is_over{false};
  // Keeps its worker looking for Ults of others.
  Execution* restless = spawn(kWorkers - 1, [&is_over] {
    while (!is_over.load()) Execution::self().park_until(now_ns() + 1'000, Waiting{});
  });
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::atomic<int>> runs(kUlts);
    std::atomic<int> ended{0};
    scheduler_->hold();
    for (size_t i = 0; i < kUlts; ++i)
      spawn(static_cast<int>(i % kWorkers), [&runs, &ended, i] {
        runs[i].fetch_add(1);
        Execution::self().yield();
        ended.fetch_add(1);
      });
    scheduler_->release();
    while (ended.load() < kUlts) std::this_thread::yield();
    for (size_t i = 0; i < kUlts; ++i)
      ASSERT_EQ(runs[i].load(), 1) << "Ult " << i << ", round " << round;
  }
  is_over.store(true);
  restless->unpark();
  scheduler_->wait_all();
}

void compute_ns(uint64_t time_ns) {
  const uint64_t begin = now_ns();
  while (now_ns() - begin < time_ns) {
  }
}

// The pipeline: who has work for another one goes on computing and never switches.
TEST_F(Stealing, AnUltRunsElsewhereWhileTheOneThatWokeItComputes) {
  SchedulerConfig config;
  config.steal = true;
  start(2, config);
  std::atomic<int> core_of_woken{-1}, core_of_waker{-1};
  std::atomic<bool> is_woken{false};
  Execution* waiter = spawn(0, [&] {
    while (!is_woken.load()) Execution::self().park(Waiting{});
    core_of_woken.store(Execution::self().core());
  });
  // It may itself have been taken by the other worker, while the waiter began.
  spawn(0, [&] {
    while (!waiter->is_parked()) Execution::self().yield();
    is_woken.store(true);
    waiter->unpark();
    core_of_waker.store(Execution::self().core());
    while (core_of_woken.load() < 0) {
    }
  });
  scheduler_->wait_all();
  EXPECT_EQ(core_of_woken.load(), 1 - core_of_waker.load());
}

TEST_F(Stealing, UltsThatMayNotMoveStayWhereTheyWereMade) {
  SchedulerConfig config;
  config.steal = true;
  start(2, config);
  std::atomic<int> stayed{0}, moved{0};
  scheduler_->hold();
  for (int i = 0; i < 6; ++i) {
    UltSpec spec;
    spec.may_move = i % 2 == 0;
    spec.entry = [&, may_move = spec.may_move] {
      compute_ns(20'000'000);
      if (Execution::self().core() != 0) moved.fetch_add(1);
      if (!may_move && Execution::self().core() == 0) stayed.fetch_add(1);
    };
    ASSERT_TRUE(scheduler_->spawn(std::move(spec)));
  }
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_EQ(stayed.load(), 3);
  EXPECT_GE(moved.load(), 1) << "an Ult behind one that stays was not taken";
}

// Thieves hold workers still while the monitor hands them over and their Ults come and go.
TEST_F(Stealing, NothingIsLostWhileTheMonitorTakesWorkersToo) {
  SchedulerConfig config;
  config.steal = true;
  start(4, config);
  constexpr size_t kUlts = 32;
  constexpr int kRounds = 150;
  const unsigned seed = static_cast<unsigned>(now_ns());
  RecordProperty("seed", static_cast<int>(seed));
  std::vector<Execution*> ults(kUlts);
  std::vector<int> rounds(kUlts, 0);
  // Plain: each is written by the Ult whose turn it is, which a lost order would show (TSan).
  std::vector<int> notes(kUlts, 0);
  scheduler_->hold();
  for (size_t i = 0; i < kUlts; ++i)
    ults[i] = spawn(static_cast<int>(i % 2), [&, i] {
      thread_local size_t mine = i;
      unsigned random = seed + static_cast<unsigned>(i);
      for (int round = 0; round < kRounds; ++round) {
        random = random * 1'664'525 + 1'013'904'223;
        ++notes[i];
        ults[(i + random % 7) % kUlts]->unpark();
        switch ((random >> 16) % 16) {
          case 0: {
            BlockingRegion region;
            usleep(1500);
            break;
          }
          case 1:
          case 2:
          case 3:
            Execution::self().yield();
            break;
          case 4:
          case 5:
          case 6:
            Execution::self().park_until(now_ns() + 20'000, Waiting{});
            break;
          default:
            compute_ns((random >> 20) % 40'000);
        }
        if (mine == i) ++rounds[i];
      }
    });
  scheduler_->release();
  scheduler_->wait_all();
  for (size_t i = 0; i < kUlts; ++i) {
    EXPECT_EQ(rounds[i], kRounds) << "Ult " << i << ", seed " << seed;
    EXPECT_EQ(notes[i], kRounds) << "Ult " << i << ", seed " << seed;
  }
}

}  // namespace
}  // namespace mpc::sched

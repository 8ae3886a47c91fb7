// A blocked kernel thread does not keep the other Ults of its worker from running.
#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/unit/scheduler/support.h"

namespace mpc::sched {
namespace {

class HandOver : public Fixture {};

// The essential case: a rank's main thread joins a pthread of the rank, which waits for
// another rank of the same worker.
void join_a_thread_that_waits_for(std::atomic<bool>& flag) {
  std::thread helper([&] {
    while (!flag) Execution::self().park_until(now_ns() + 1'000'000, Waiting{});
  });
  helper.join();
}

TEST_F(HandOver, JoiningAThreadThatWaitsForAnotherRankDoesNotHang) {
  start(1);
  std::atomic<bool> flag{false};
  bool joined = false;
  scheduler_->hold();
  spawn(0, [&] {
    join_a_thread_that_waits_for(flag);
    joined = true;
  });
  spawn(0, [&] { flag = true; });
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_TRUE(joined);
  EXPECT_GE(scheduler_->handover_count(), 1u);
}

TEST_F(HandOver, TheSameInABlockingRegionIsFaster) {
  start(1);
  std::atomic<bool> flag{false};
  scheduler_->hold();
  spawn(0, [&] {
    BlockingRegion outer;
    BlockingRegion nested;
    join_a_thread_that_waits_for(flag);
  });
  spawn(0, [&] { flag = true; });
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_GE(scheduler_->handover_count(), 1u);
}

// As a read from the system's cache does: regions that follow each other, in which the kernel copies.
TEST_F(HandOver, RegionsThatComputeKeepTheirWorker) {
  start(1);
  scheduler_->hold();
  std::atomic<bool> has_ended{false};
  bool was_in_between = false;
  spawn(0, [&] {
    for (const uint64_t end_ns = now_ns() + 60'000'000; now_ns() < end_ns;) {
      const BlockingRegion region;
      for (const uint64_t copied_ns = now_ns() + 20'000; now_ns() < copied_ns;) {
      }
    }
    has_ended = true;
  });
  spawn(0, [&] { was_in_between = !has_ended; });
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_FALSE(was_in_between);
  EXPECT_EQ(scheduler_->handover_count(), 0u);
}

TEST_F(HandOver, RanksOfOneWorkerShareAMutexAndACondition) {
  start(1);
  std::mutex mutex;
  std::condition_variable changed;
  int turn = 0;
  constexpr int kRanks = 3, kTurns = 5;
  for (int rank = 0; rank < kRanks; ++rank)
    spawn(0, [&, rank] {
      for (int i = 0; i < kTurns; ++i) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return turn % kRanks == rank; });
        ++turn;
        changed.notify_all();
      }
    });
  scheduler_->wait_all();
  EXPECT_EQ(turn, kRanks * kTurns);
}

TEST_F(HandOver, FourSleepersAndAComputerOnOneWorker) {
  start(1);
  uint64_t begin = 0;
  std::atomic<long> computed{0};
  scheduler_->hold();
  for (int i = 0; i < 4; ++i)
    spawn(0, [&] {
      for (int k = 0; k < 3; ++k) {
        BlockingRegion region;
        usleep(250'000);
      }
    });
  spawn(0, [&] {
    while (now_ns() - begin < 750'000'000) {
      computed.fetch_add(1);
      Execution::self().yield();
    }
  });
  begin = now_ns();
  scheduler_->release();
  scheduler_->wait_all();
  const uint64_t elapsed = now_ns() - begin;
  EXPECT_LT(elapsed, 2'750'000'000u);  // one after the other they need 3 s
  EXPECT_GT(computed.load(), 0);
}

TEST_F(HandOver, AnUltThatLostItsWorkerComesBackToIt) {
  start(2);
  std::vector<std::string> wrong;
  std::mutex lock;
  std::atomic<int> ended{0};
  scheduler_->hold();
  for (int i = 0; i < 6; ++i)
    spawn(0, [&] {
      thread_local int mark = 0;
      for (int k = 0; k < 3; ++k) {
        mark = k + 1;
        {
          BlockingRegion region;
          usleep(5'000);
        }
        Execution& self = Execution::self();
        std::lock_guard guard(lock);
        if (self.core() != 0) wrong.push_back("core " + std::to_string(self.core()));
        if (mark != k + 1) wrong.push_back("thread_local");
      }
      ended.fetch_add(1);
    });
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_EQ(ended.load(), 6);
  EXPECT_TRUE(wrong.empty()) << wrong.front();
}

TEST_F(HandOver, UnparkFromAThreadWithoutItsWorkerArrives) {
  start(1);
  std::atomic<bool> flag{false};
  Execution* waiter = nullptr;
  scheduler_->hold();
  waiter = spawn(0, [&] {
    while (!flag) Execution::self().park(Waiting{});
  });
  spawn(0, [&] {
    usleep(60'000);  // the monitor takes the worker: another Ult is ready
    flag = true;
    waiter->unpark();
  });
  spawn(0, [&] { Execution::self().yield(); });
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_TRUE(flag);
}

TEST_F(HandOver, AComputingThreadKeepsItsWorker) {
  start(1);
  scheduler_->hold();
  for (int i = 0; i < 2; ++i)
    spawn(0, [&] {
      const uint64_t begin = now_ns();
      while (now_ns() - begin < 60'000'000) {
      }
    });
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_EQ(scheduler_->handover_count(), 0u);
}

}  // namespace
}  // namespace mpc::sched

#include "scheduler/scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace mpc::sched {
namespace {

class Waiting final : public WaitReason {
 public:
  std::string text() const override { return "waiting for the test"; }
};

class SchedulerTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    SchedulerConfig config;
    for (int i = 0; i < GetParam(); ++i) config.cores.push_back(i);
    auto started = Scheduler::start(config);
    ASSERT_TRUE(started.ok()) << started.error().message;
    scheduler_ = std::move(*started);
  }
  Execution* spawn(int worker, std::function<void()> entry) {
    auto ult = scheduler_->spawn({std::move(entry), worker % GetParam()});
    EXPECT_TRUE(ult.ok()) << ult.error().message;
    return *ult;
  }
  std::unique_ptr<Scheduler> scheduler_;
};

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
  const uint64_t begin = now_ns();
  for (int i = 0; i < 20; ++i)
    spawn(0, [&] { sleep_until(now_ns() + 30'000'000); });
  scheduler_->wait_all();
  const uint64_t elapsed = now_ns() - begin;
  EXPECT_GE(elapsed, 30'000'000u);
  EXPECT_LT(elapsed, 300'000'000u);
}

INSTANTIATE_TEST_SUITE_P(Workers, SchedulerTest, testing::Values(1, 2, 4));

}  // namespace
}  // namespace mpc::sched

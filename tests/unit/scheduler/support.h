#pragma once
// Support of the scheduler's tests: a scheduler per test, a watchdog, and the final checks.
//
// Role:      fixture.
// Users:     tests/unit/scheduler.
// Threads:   the test's main thread.
// See also:  docs/scheduler.md.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"

namespace mpc::sched {

class Waiting final : public WaitReason {
 public:
  explicit Waiting(std::string text = "waiting for the test", bool external = false)
      : text_(std::move(text)), external_(external) {}
  std::string text() const override { return text_; }
  bool can_end_by_itself() const override { return external_; }

 private:
  std::string text_;
  bool external_;
};

class Fixture : public testing::Test {
 protected:
  void start(int workers, SchedulerConfig config = {}) {
    alarm(MPC_WATCHDOG_SECONDS);  // a hang ends the process
    for (int i = 0; i < workers; ++i) config.cores.push_back(i);
    auto started = Scheduler::start(config);
    ASSERT_TRUE(started.ok()) << started.error().message;
    scheduler_ = std::move(started).value();
  }
  Execution* spawn(int worker, std::function<void()> entry, void* identity = nullptr) {
    auto ult = scheduler_->spawn({.entry = std::move(entry),
                                  .worker = worker % scheduler_->worker_count(),
                                  .identity = identity,
                                  .name = "test"});
    EXPECT_TRUE(ult.ok()) << ult.error().message;
    return *ult;
  }
  void TearDown() override {
    if (!scheduler_) return;
    scheduler_->wait_all();
    int alive = 0;
    scheduler_->for_each_execution(
        [&](const Execution& execution) { alive += execution.is_ult() ? 1 : 0; });
    EXPECT_EQ(alive, 0);
    scheduler_.reset();
    alarm(0);
  }
  std::unique_ptr<Scheduler> scheduler_;
};

// Each test of this fixture runs with several worker counts.
class SchedulerTest : public Fixture, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override { start(GetParam()); }
};

}  // namespace mpc::sched

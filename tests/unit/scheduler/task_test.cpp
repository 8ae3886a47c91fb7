// Tasks: each runs exactly once, where it may, whatever sleeps; nobody touches it afterwards.
#include <memory>
#include <random>
#include <thread>

#include "scheduler/task/queues.h"
#include "support.h"

namespace mpc::sched {
namespace {

void wait_until(const std::function<bool()>& condition) {
  while (!condition()) usleep(200);  // the fixture's alarm ends a hang
}

// Counts its runs and remembers where it ran.
struct Probe : Task {
  Probe() : Task(&count) {}
  static TaskResult count(Task& task) {
    Probe& self = static_cast<Probe&>(task);
    EXPECT_FALSE(Execution::self().is_ult());
    self.core = Execution::self().core();
    // Last: the owner may end the probe when it sees this.
    return self.runs.fetch_add(1, std::memory_order_release) + 1 < self.repeats
               ? TaskResult::kAgain
               : TaskResult::kDone;
  }
  bool is_done() const { return runs.load(std::memory_order_acquire) >= repeats; }
  std::atomic<int> runs{0};
  int repeats = 1;
  int core = -1;
};

class Tasks : public SchedulerTest {
 protected:
  TaskQueues& tasks() { return scheduler_->tasks(); }
};

TEST_P(Tasks, ATaskWakesASleepingWorker) {
  for (int round = 0; round < 100; ++round) {
    Probe probe;
    usleep(round % 10 == 0 ? 500 : 0);  // asleep, or on the way there
    tasks().submit(probe, TaskScope::kMachine);
    wait_until([&] { return probe.is_done(); });
    EXPECT_EQ(probe.runs.load(), 1);
  }
}

TEST_P(Tasks, ACoreTaskRunsOnThatCore) {
  for (int round = 0; round < 40; ++round)
    for (int worker = 0; worker < GetParam(); ++worker) {
      Probe probe;
      tasks().submit_near(probe, worker, TaskScope::kCore);
      wait_until([&] { return probe.is_done(); });
      EXPECT_EQ(probe.core, worker);
    }
}

TEST_P(Tasks, OnlyWorkersOfTheSetRunATask) {
  for (int worker = 0; worker < GetParam(); ++worker) {
    WorkerSet set;
    set.add(worker);
    set.add((worker + 2) % GetParam());
    for (int round = 0; round < 40; ++round) {
      Probe probes[3];
      for (Probe& probe : probes) tasks().submit_to(probe, set);
      for (Probe& probe : probes) {
        wait_until([&] { return probe.is_done(); });
        EXPECT_TRUE(set.contains(probe.core)) << probe.core;
      }
    }
  }
}

TEST_P(Tasks, ARepeatedTaskRunsUntilItIsDone) {
  Probe probes[4];
  for (Probe& probe : probes) {
    probe.repeats = 1000;
    tasks().submit(probe, TaskScope::kMachine);
  }
  for (Probe& probe : probes) {
    wait_until([&] { return probe.is_done(); });
    EXPECT_EQ(probe.runs.load(), 1000);
  }
}

// With one worker the task has no other core: it runs when the rank yields, or parks.
TEST_P(Tasks, ATaskRunsWhenItsCoreSwitches) {
  spawn(0, [&] {
    Probe probe;
    tasks().submit(probe, TaskScope::kCore);
    EXPECT_EQ(probe.runs.load(), 0);
    Execution::self().yield();
    EXPECT_EQ(probe.runs.load(), 1);
  });
  scheduler_->wait_all();
}

TEST_P(Tasks, ATaskMayUnparkAndActsUnderItsIdentity) {
  int identity = 0;
  struct Wake : Task {
    using Task::Task;
    Execution* waiter = nullptr;
    void* seen = nullptr;
  };
  spawn(0, [&] {
    for (int round = 0; round < 100; ++round) {
      Wake wake([](Task& task) {
        Wake& self = static_cast<Wake&>(task);
        self.seen = Execution::self().identity();
        self.waiter->unpark();
        return TaskResult::kDone;
      });
      wake.identity = &identity;
      wake.waiter = &Execution::self();
      tasks().submit(wake, round % 2 == 0 ? TaskScope::kCore : TaskScope::kMachine);
      Execution::self().park(Waiting{});
      EXPECT_EQ(wake.seen, &identity);
    }
  });
  scheduler_->wait_all();
  Probe probe;
  tasks().submit(probe, TaskScope::kMachine);
  wait_until([&] { return probe.is_done(); });
}

INSTANTIATE_TEST_SUITE_P(Workers, Tasks, testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace mpc::sched

// Tasks: each runs exactly once, where it may, whatever sleeps; nobody touches it afterwards.
#include <cstdio>
#include <memory>
#include <random>
#include <thread>

#include "scheduler/task/queues.h"
#include "tests/unit/scheduler/support.h"
#include "topology/machine.h"

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
    const int repeats = self.repeats;
    // The last touch: the owner may end the probe when it sees this.
    return self.runs.fetch_add(1, std::memory_order_release) + 1 < repeats
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

TEST_P(Tasks, CostASchedulerNothingUntilTheFirstOneIsSubmitted) {
  std::atomic<bool> has_switched{false};
  spawn(0, [&] {
    Execution::self().yield();
    has_switched.store(true);
  });
  wait_until([&] { return has_switched.load(); });
  EXPECT_FALSE(tasks().is_in_use());
  Probe probe;
  tasks().submit(probe, TaskScope::kCore);
  EXPECT_TRUE(tasks().is_in_use());
  wait_until([&] { return probe.is_done(); });
}

// A rank that makes no call at all: a task of its core runs at a tick.
TEST_P(Tasks, ATaskOfACoreThatComputesRunsAtATick) {
  Probe probe;
  std::atomic<bool> is_computing{false};
  spawn(0, [&] {
    is_computing.store(true);
    while (!probe.is_done()) {
    }
  });
  wait_until([&] { return is_computing.load(); });
  tasks().submit_near(probe, 0, TaskScope::kCore);
  scheduler_->wait_all();
  EXPECT_EQ(probe.runs.load(), 1);
  EXPECT_EQ(probe.core, 0);
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

// ---- stress ------------------------------------------------------------------------------

uint64_t make_seed() {
  const uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

// Random scopes, sets and targets from ranks and a kernel thread, with pauses in which workers
// fall asleep. Every task runs exactly `repeats` times, on a worker that may run it, and its
// memory is reused at once.
TEST_P(Tasks, EachRunsExactlyOnceUnderManySubmitters) {
  const uint64_t seed = make_seed();
  constexpr int kTasks = 300, kInFlight = 16;
  const int workers = GetParam();
  std::atomic<int> finished{0};
  const auto submitter = [&](uint64_t number) {
    std::mt19937_64 random(seed + number);
    WorkerSet sets[kInFlight];
    std::unique_ptr<Probe> probes[kInFlight];
    int repeats[kInFlight] = {};
    for (int i = 0; i < kTasks + kInFlight; ++i) {
      const int slot = i % kInFlight;
      if (probes[slot] != nullptr) {
        while (!probes[slot]->is_done()) Execution::self().yield();
        EXPECT_EQ(probes[slot]->runs.load(), repeats[slot]);
        EXPECT_TRUE(sets[slot].contains(probes[slot]->core));
        finished.fetch_add(1);
      }
      probes[slot] = std::make_unique<Probe>();
      if (i >= kTasks) continue;
      Probe& probe = *probes[slot];
      repeats[slot] = probe.repeats = random() % 8 == 0 ? 5 : 1;
      const int near = static_cast<int>(random() % static_cast<uint64_t>(workers));
      sets[slot] = {};
      sets[slot].add(near);
      if (random() % 64 == 0) usleep(100);
      switch (random() % 3) {
        case 0:
          tasks().submit_near(probe, near, TaskScope::kCore);
          break;
        case 1:
          for (int worker = 0; worker < workers; ++worker) sets[slot].add(worker);
          tasks().submit(probe, TaskScope::kMachine);
          break;
        default:
          for (int worker = 0; worker < workers; ++worker)
            if (random() % 2 == 0) sets[slot].add(worker);
          tasks().submit_to(probe, sets[slot]);
      }
    }
  };
  for (int rank = 0; rank < 2 * workers; ++rank)
    spawn(rank, [&, rank] { submitter(static_cast<uint64_t>(rank)); });
  submitter(1000);
  scheduler_->wait_all();
  EXPECT_EQ(finished.load(), (2 * workers + 1) * kTasks);
}

// A tree of tasks: each submits two more from within its run; the memory is freed by the task.
TEST_P(Tasks, TasksSubmitTasks) {
  struct Node : Task {
    Node(TaskQueues& queues, std::atomic<int>& count, int height)
        : Task(&grow), tasks(queues), nodes(count), depth(height) {}
    static TaskResult grow(Task& task) {
      Node& self = static_cast<Node&>(task);
      for (int i = 0; i < 2 && self.depth > 0; ++i)
        self.tasks.submit(*new Node(self.tasks, self.nodes, self.depth - 1),
                          i == 0 ? TaskScope::kCore : TaskScope::kMachine);
      std::atomic<int>& count = self.nodes;
      delete &self;
      count.fetch_add(1);
      return TaskResult::kDone;
    }
    TaskQueues& tasks;
    std::atomic<int>& nodes;
    int depth;
  };
  constexpr int kDepth = 10;
  std::atomic<int> nodes{0};
  tasks().submit(*new Node(tasks(), nodes, kDepth), TaskScope::kMachine);
  wait_until([&] { return nodes.load() == (2 << kDepth) - 1; });
}

// A rank that computes does not keep the machine's tasks from the others, nor does one task.
TEST_P(Tasks, AnotherWorkerTakesWhatABusyOneCannot) {
  if (GetParam() < 2) GTEST_SKIP() << "needs a second worker";
  struct Long : Probe {
    Long() { run = &wait; }
    static TaskResult wait(Task& task) {
      Long& self = static_cast<Long&>(task);
      self.began = true;
      while (!self.end.load(std::memory_order_acquire)) usleep(100);
      return Probe::count(task);
    }
    std::atomic<bool> began{false}, end{false};
  };
  for (int round = 0; round < 10; ++round) {
    Long first;  // keeps its worker from looking at tasks
    tasks().submit_near(first, 0, TaskScope::kCore);
    wait_until([&] { return first.began.load(); });
    usleep(round % 2 == 0 ? 1000 : 0);
    Probe second;
    tasks().submit_near(second, 0, TaskScope::kMachine);
    wait_until([&] { return second.is_done(); });
    EXPECT_NE(second.core, 0);
    first.end.store(true, std::memory_order_release);
    wait_until([&] { return first.is_done(); });
  }
}

TEST_P(Tasks, TheSchedulersEndRunsWhatIsQueuedAndStopsRepetition) {
  Probe once[100];
  Probe forever[3];
  for (Probe& probe : forever) {
    probe.repeats = 1 << 30;
    tasks().submit(probe, TaskScope::kMachine);
  }
  for (int i = 0; i < 100; ++i)
    tasks().submit_near(once[i], i % GetParam(),
                        i % 2 == 0 ? TaskScope::kCore : TaskScope::kMachine);
  scheduler_.reset();
  for (Probe& probe : once) EXPECT_EQ(probe.runs.load(), 1);
  for (Probe& probe : forever) {
    const int runs = probe.runs.load();
    EXPECT_GE(runs, 1);
    usleep(1000);
    EXPECT_EQ(probe.runs.load(), runs);
  }
}

TEST_P(Tasks, AreActivityForTheDeadlockDetection) {
  std::atomic<int> reports{0};
  std::atomic<bool> go{false};
  Execution* ult = nullptr;
  scheduler_->set_quiescence_handler([&] {
    ++reports;
    go = true;
    ult->unpark();
  });
  ult = spawn(0, [&] {
    while (!go) Execution::self().park(Waiting{});
  });
  Probe polling;  // 300 ms, then nothing is left that could wake the rank
  struct Poll : Task {
    using Task::Task;
    uint64_t end_ns = now_ns() + 300'000'000;
    std::atomic<int>* reports = nullptr;
    std::atomic<int> seen{-1};
  };
  Poll poll([](Task& task) {
    Poll& self = static_cast<Poll&>(task);
    if (now_ns() < self.end_ns) return TaskResult::kAgain;
    self.seen = self.reports->load();
    return TaskResult::kDone;
  });
  poll.reports = &reports;
  tasks().submit(poll, TaskScope::kMachine);
  scheduler_->wait_all();
  EXPECT_EQ(poll.seen.load(), 0);  // none while the task was there
  EXPECT_EQ(reports.load(), 1);    // and one afterwards
}

INSTANTIATE_TEST_SUITE_P(Workers, Tasks, testing::Values(1, 2, 3, 4));

// ---- the tree ----------------------------------------------------------------------------

class TaskTree : public Fixture {
 protected:
  TaskQueues& build(const char* machine) {
    machine_ = std::move(topo::Machine::by_name(machine)).value();
    SchedulerConfig config;
    config.machine = machine_.get();
    config.bind = false;
    start(machine_->core_count(), config);
    return scheduler_->tasks();
  }
  static size_t cores(const TaskQueues& tasks, TaskScope scope) {
    return tasks.queue_of(0, scope).workers.size();
  }
  void TearDown() override {
    Fixture::TearDown();
    machine_.reset();
  }
  std::unique_ptr<topo::Machine> machine_;
};

TEST_F(TaskTree, OfTwoChipsWithTwoNumaNodesEach) {
  TaskQueues& tasks = build("pack:2 numa:2 l3:1 core:2 pu:1");
  EXPECT_EQ(cores(tasks, TaskScope::kCore), 1u);
  EXPECT_EQ(cores(tasks, TaskScope::kCache), 2u);
  EXPECT_EQ(cores(tasks, TaskScope::kNuma), 2u);
  EXPECT_EQ(cores(tasks, TaskScope::kChip), 4u);
  EXPECT_EQ(cores(tasks, TaskScope::kMachine), 8u);
  EXPECT_EQ(tasks.level_count(0), 4);  // the L3 cache is the NUMA node
  EXPECT_EQ(&tasks.queue_of(0, TaskScope::kChip), &tasks.queue_of(3, TaskScope::kChip));
  EXPECT_NE(&tasks.queue_of(0, TaskScope::kChip), &tasks.queue_of(4, TaskScope::kChip));
}

// Each scope around each worker: its task runs below that object; a set, in the set.
TEST_F(TaskTree, ATaskStaysBelowItsObject) {
  TaskQueues& tasks = build("pack:2 numa:2 l3:1 core:2 pu:1");
  for (int worker = 0; worker < 8; ++worker)
    for (int scope = 0; scope < kTaskScopes; ++scope) {
      const TaskQueue& queue = tasks.queue_of(worker, static_cast<TaskScope>(scope));
      Probe probes[4];
      for (Probe& probe : probes)
        tasks.submit_near(probe, worker, static_cast<TaskScope>(scope));
      for (Probe& probe : probes) {
        wait_until([&] { return probe.is_done(); });
        EXPECT_TRUE(queue.worker_set.contains(probe.core));
      }
    }
}

TEST_F(TaskTree, OfOneCoreIsOneQueue) {
  TaskQueues& tasks = build("pack:1 core:1 pu:1");
  EXPECT_EQ(tasks.level_count(0), 1);
  EXPECT_EQ(&tasks.queue_of(0, TaskScope::kCore),
            &tasks.queue_of(0, TaskScope::kMachine));
}

}  // namespace
}  // namespace mpc::sched

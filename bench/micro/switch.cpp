// The cost of a switch: the bare fiber switch, yield, and block + wake + run on one worker.
#include <benchmark/benchmark.h>

#include <atomic>
#include <string>

#include "scheduler/scheduler.h"

namespace mpc::sched {
namespace {

class Turn final : public WaitReason {
 public:
  std::string text() const override { return "its turn"; }
};

std::unique_ptr<Scheduler> start(int workers) {
  SchedulerConfig config;
  for (int i = 0; i < workers; ++i) config.cores.push_back(i);
  auto scheduler = Scheduler::start(config);
  return std::move(scheduler).value();
}

// Two Ults of one worker wake each other in turn. One item is block + wake + run once. An
// iteration is two items, so half of its time is the cost of a switch.
void BM_BlockWakeRun(benchmark::State& state) {
  auto scheduler = start(1);
  Execution* players[2];
  std::atomic<bool> stop{false};
  Turn reason;
  scheduler->hold();
  players[0] = *scheduler->spawn({[&] {
    for (auto _ : state) {
      players[1]->unpark();
      Execution::self().park(reason);
    }
    stop = true;
    players[1]->unpark();
  }});
  players[1] = *scheduler->spawn({[&] {
    while (!stop.load(std::memory_order_relaxed)) {
      Execution::self().park(reason);
      players[0]->unpark();
    }
  }});
  scheduler->release();
  scheduler->wait_all();
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(BM_BlockWakeRun);

void BM_Yield(benchmark::State& state) {
  auto scheduler = start(1);
  std::atomic<bool> stop{false};
  const int others = static_cast<int>(state.range(0));
  scheduler->hold();
  (void)scheduler->spawn({[&] {
    for (auto _ : state) Execution::self().yield();
    stop = true;
  }});
  for (int i = 0; i < others; ++i)
    (void)scheduler->spawn({[&] {
      while (!stop.load(std::memory_order_relaxed)) Execution::self().yield();
    }});
  scheduler->release();
  scheduler->wait_all();
  state.SetItemsProcessed((1 + others) * state.iterations());
}
BENCHMARK(BM_Yield)->Arg(0)->Arg(1)->Arg(15)->Arg(255)->Arg(1023);

void BM_Spawn(benchmark::State& state) {
  auto scheduler = start(2);
  const int count = static_cast<int>(state.range(0));
  for (auto _ : state) {
    for (int i = 0; i < count; ++i) (void)scheduler->spawn({[] {}, i % 2});
    scheduler->wait_all();
  }
  state.SetItemsProcessed(count * state.iterations());
}
BENCHMARK(BM_Spawn)->Arg(64)->Arg(1024)->UseRealTime();

// Two Ults on two workers wake each other; the time of one wake-up across cores.
void BM_WakeAcrossWorkers(benchmark::State& state) {
  auto scheduler = start(2);
  Execution* players[2];
  std::atomic<bool> stop{false};
  Turn reason;
  scheduler->hold();
  players[0] = *scheduler->spawn({[&] {
                                    for (auto _ : state) {
                                      players[1]->unpark();
                                      Execution::self().park(reason);
                                    }
                                    stop = true;
                                    players[1]->unpark();
                                  },
                                  0});
  players[1] = *scheduler->spawn({[&] {
                                    while (!stop.load(std::memory_order_relaxed)) {
                                      Execution::self().park(reason);
                                      players[0]->unpark();
                                    }
                                  },
                                  1});
  scheduler->release();
  scheduler->wait_all();
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(BM_WakeAcrossWorkers)->UseRealTime();

}  // namespace
}  // namespace mpc::sched

BENCHMARK_MAIN();

#pragma once
// World: some ranks on the real scheduler, without a job, for tests of the message layer.
//
// Role:      spawns one Ult per rank, gives it a mailbox, checks at the end that nothing is
//            left over.
// Users:     tests/unit/message, bench/micro.
// Threads:   made and run by one kernel thread.
// See also:  runtime/job for the real thing.

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/settings.h"
#include "runtime/message/job_watch.h"
#include "runtime/message/message.h"
#include "runtime/message/network.h"
#include "scheduler/outside_work.h"
#include "scheduler/progress/progress.h"
#include "scheduler/scheduler.h"

namespace mpc::msg::test {

class Why final : public sched::WaitReason {
 public:
  explicit Why(const char* what = "a test") : what_(what) {}
  std::string text() const override { return what_; }

 private:
  const char* what_;
};

class World {
 public:
  // Rank r runs on worker r % workers, or as `place` says.
  World(int ranks, int workers, std::function<int(int)> place = nullptr)
      : workers_(workers),
        place_(std::move(place)),
        ranks_(static_cast<size_t>(ranks)) {
    for (int r = 0; r < ranks; ++r) {
      rank(r).world_rank = r;
      rank(r).world_size = ranks;
    }
    const int processes = number_from("MPC_TEST_PROCESSES", 1);
    with_processes(processes != 0 ? processes : ranks,
                   static_cast<uint64_t>(number_from("MPC_TEST_NET_SEED", 0)));
  }
  // Gives the ranks progress threads, and adds workers that have no ranks.
  World& with_progress(sched::ProgressPolicy policy, int communication_workers) {
    has_progress_ = true;
    policy_ = policy;
    communication_workers_ = communication_workers;
    return *this;
  }
  // The ranks live in so many processes, in blocks; their messages pass a network.
  World& with_processes(int processes, uint64_t seed = 0) {
    processes_ = processes;
    net_.seed = seed;
    net_.delay_ns = 100'000;
    return *this;
  }
  World& with_network(const transport::LoopbackConfig& config) {
    net_ = config;
    return *this;
  }
  // What other processes may leave unreceived at a rank. Until the next one that says so.
  World& with_unexpected_bytes(size_t bytes) {
    CHECK(Settings::assign("net.unexpected_bytes=" + std::to_string(bytes)).ok(),
          "no such setting");
    return *this;
  }
  // Who is told when processes rest; made before the network is opened, ended when ranks have ended.
  using MakeWatch = std::function<std::unique_ptr<JobWatch>(const job::ProcessMap&,
                                                            sched::Scheduler&)>;
  World& with_watch(MakeWatch make) {
    make_watch_ = std::move(make);
    net_.is_outside_work = false;
    return *this;
  }
  // Called when all ranks wait for each other.
  void on_quiescence(std::function<void()> handler) {
    quiescence_ = std::move(handler);
  }
  bool is_over_network() const { return processes_ > 1 && size() > 1; }
  job::Rank& rank(int r) { return ranks_[static_cast<size_t>(r)]; }
  int size() const { return static_cast<int>(ranks_.size()); }

  // Runs the body on every rank, then ends them together. Returns what the scheduler said if
  // it could not start, or what was left in flight.
  std::string run(const std::function<void(job::Rank&)>& body) {
    sched::SchedulerConfig config;
    const int all_workers = workers_ + communication_workers_;
    for (int i = 0; i < all_workers; ++i) config.cores.push_back(i);
    auto started = sched::Scheduler::start(config);
    if (!started.ok()) return started.error().message;
    auto scheduler = std::move(*started);
    if (quiescence_) scheduler->set_quiescence_handler(quiescence_);
    const auto map = job::ProcessMap::in_blocks(size(), processes_);
    std::unique_ptr<JobWatch> watch;
    if (make_watch_) watch = make_watch_(map, *scheduler);
    if (auto opened = open_network(map, net_); !opened.ok())
      return opened.error().message;
    if (watch && !watch->start().ok()) return "no watch";
    for (auto& r : ranks_) create_mailbox(r);
    std::unique_ptr<topo::Machine> machine;
    std::unique_ptr<sched::ProgressCores> cores;
    std::vector<std::unique_ptr<sched::ProgressThread>> threads;
    if (has_progress_) {
      auto made =
          topo::Machine::by_name("core:" + std::to_string(all_workers) + " pu:1");
      if (!made.ok()) return made.error().message;
      machine = std::move(*made);
      cores = sched::ProgressCores::make(*scheduler, *machine, {policy_, {}, workers_});
      for (auto& r : ranks_) {
        threads.push_back(cores->make_thread(&r, r.world_rank, home_of(r)));
        r.progress = threads.back().get();
      }
    }
    scheduler->hold();
    for (auto& r : ranks_) {
      auto main = [&r, &body] {
        body(r);
        if (r.progress != nullptr) r.progress->stop();
      };
      auto ult = scheduler->spawn(
          {.entry = main, .worker = home_of(r), .identity = &r, .name = "rank"});
      if (!ult.ok()) return ult.error().message;
      r.execution = *ult;
    }
    scheduler->release();
    scheduler->wait_all();
    if (watch) watch->stop();
    for (auto& r : ranks_) r.progress = nullptr;
    std::string left;
    if (const auto n = operations_in_flight(); n != 0) {
      left = std::to_string(n) + " operations left in flight";
    }
    for (auto& r : ranks_) {
      if (r.mailbox != nullptr) destroy_mailbox(r);
    }
    close_network();    // its thread unparks executions
    watch.reset();      // may get messages until then
    scheduler.reset();  // before the progress threads
    if (sched::outside_work().is_under_way) left += " work left in the network";
    return left;
  }

 private:
  int home_of(const job::Rank& r) const {
    return place_ ? place_(r.world_rank) : r.world_rank % workers_;
  }

  // All tests over a network: MPC_TEST_PROCESSES=2, or 0 for one per rank; MPC_TEST_NET_SEED.
  static int number_from(const char* variable, int fallback) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::atoi(text) : fallback;
  }

  std::function<void()> quiescence_;
  MakeWatch make_watch_;
  int processes_ = 1;
  transport::LoopbackConfig net_;
  bool has_progress_ = false;
  sched::ProgressPolicy policy_ = sched::ProgressPolicy::kClosest;
  int communication_workers_ = 0;
  int workers_;
  std::function<int(int)> place_;
  std::vector<job::Rank> ranks_;
};

inline const dt::Datatype* byte_type() { return dt::predefined(dt::abi::kByte); }
inline const dt::Datatype* int_type() { return dt::predefined(dt::abi::kInt); }

constexpr ContextId kContext = 2;

inline SendArgs to(int dest, const void* data, size_t bytes, int tag, int me,
                   Mode mode = Mode::kStandard, ContextId context = kContext) {
  return {data, static_cast<Count>(bytes), byte_type(), dest, context, tag, me, mode};
}
inline RecvArgs from(int source, void* data, size_t bytes, int tag,
                     ContextId context = kContext) {
  return {data, static_cast<Count>(bytes), byte_type(), source, context, tag};
}

}  // namespace mpc::msg::test

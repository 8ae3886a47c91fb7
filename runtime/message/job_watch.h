#pragma once
// JobWatch: what the processes of a job tell each other to see a deadlock, and to make one table of all ranks.
//
// Role:      the thread of each process that tells process 0 when this one rests, and answers what its
//            ranks do; in process 0 it finds out that all rest for good. Virtual processes share one.
// Users:     mpi/objects/rank_life starts and stops it.
// Threads:   its own; see each function.
// See also:  runtime/message/rest.h (the protocol), docs/design/0025-deadlock-of-processes.md.

#include <pthread.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/futex.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_safety.h"
#include "runtime/job/job.h"
#include "runtime/job/report.h"
#include "runtime/message/endpoint.h"
#include "runtime/message/rest.h"
#include "scheduler/rest.h"

namespace mpc::msg {

class JobWatch final : public job::TableSource {
 public:
  // Of the processes of this address space. Called on the thread of this class.
  struct Ranks {
    std::function<bool(int process)> have_ended;
    std::function<job::StateTable(int process)> rows;
    std::function<bool()> is_ending;  // the job, for another reason
    // Its rank is no user-level thread, and all threads that may call MPI are known; null: it is.
    std::function<bool(int process)> is_known_process;
    std::function<void(const std::string& table)> on_deadlock;  // may not return
  };

  // Before the network is opened: what comes is kept until start().
  // Ownership: map and scheduler outlive it. here: processes of this address space.
  JobWatch(const job::ProcessMap& map, std::vector<int> here,
           sched::Scheduler& scheduler, Ranks ranks);
  ~JobWatch();
  JobWatch(const JobWatch&) = delete;

  // The network is open. Errors: kSystem.
  Result<> start();
  // When it returns neither the network nor the scheduler is used any more; whoever wants a table gets
  // an empty one. Does not wait for an on_deadlock that is running. Caller: any thread but its own.
  void stop() noexcept;

  // The scheduler has seen that this process rests. Caller: any. Cost: a system call.
  void look() noexcept;
  void gather(Use use) override;
  // What the scheduler counts. Caller: any, between start() and stop().
  uint64_t traffic() const noexcept;
  // Caller: the network.
  void arrive(int here, int from, std::span<const std::byte> message) noexcept;

 private:
  enum class Kind : uint8_t { kRest, kAsk, kAskRows, kRows };
  struct Head {
    Kind kind{};
    uint32_t number = 0;  // of the question
    Rest rest;
  };
  struct Message {
    int here, from;
    std::vector<std::byte> bytes;
  };
  // Who wants the table that is being gathered, and what has come of it.
  struct Gathering {
    uint32_t number = 0;
    uint64_t end_ns = 0;
    std::vector<Use> uses;
    std::set<int> silent;
    std::vector<job::StateRow> rows;
  };

  static void* thread_main(void* self);
  void run() noexcept;
  void wake() noexcept;
  void sleep(uint32_t seen) noexcept;
  // What is to be called without the lock: with this table.
  struct Table {
    std::vector<Use> uses;
    std::string text;
  };
  Table step() MPC_REQUIRES(turn_);
  void take(const Message& message) MPC_REQUIRES(turn_);
  void take_rest(int process, const Rest& rest, uint32_t answers) MPC_REQUIRES(turn_);
  void ask_all() MPC_REQUIRES(turn_);
  void look_at_all() MPC_REQUIRES(turn_);
  std::optional<Rest> rest_of(int process, const Traffic& traffic,
                              const sched::Rest& seen) const;
  bool is_known_process(int process) const;
  void begin_gathering(Use use) MPC_REQUIRES(turn_);
  void take_rows(int from, uint32_t number, std::span<const std::byte> bytes)
      MPC_REQUIRES(turn_);
  Table end_gathering() MPC_REQUIRES(turn_);
  void tell(int here, int to, const Head& head, std::span<const std::byte> rows = {});

  const job::ProcessMap& map_;
  const std::vector<int> here_;
  sched::Scheduler& scheduler_;
  const Ranks ranks_;

  // What others leave for the thread.
  FutexWord signals_{0};
  std::atomic<bool> is_to_look_{false};
  Mutex inbox_lock_;
  std::vector<Message> inbox_ MPC_GUARDED_BY(inbox_lock_);
  std::vector<Use> wanted_ MPC_GUARDED_BY(inbox_lock_);

  // Held by the thread while it uses the network, and by stop().
  Mutex turn_;
  bool is_stopped_ MPC_GUARDED_BY(turn_) = false;
  std::map<int, RestTeller> tellers_ MPC_GUARDED_BY(turn_);  // of here_
  RestCollector collector_ MPC_GUARDED_BY(turn_);            // of process 0
  std::optional<Gathering> gathering_ MPC_GUARDED_BY(turn_);
  uint32_t gatherings_ MPC_GUARDED_BY(turn_) = 0;
  uint64_t end_ns_ = 0;  // of the gathering, the thread's own copy; 0: none

  pthread_t thread_{};
  bool is_started_ = false;
};

// Of the job of this process: before its network is opened, and then. Nothing if it has one process.
// Caller: the thread that runs the job, before its ranks start. Errors: kSystem.
// has_one_caller: where a rank is the process itself, its main thread is the only one that can call MPI.
void prepare_job_watch(job::Job& job, bool (*has_one_caller)());
Result<> start_job_watch();
// Before the network is closed. Caller: the thread that runs the job.
void stop_job_watch() noexcept;

}  // namespace mpc::msg

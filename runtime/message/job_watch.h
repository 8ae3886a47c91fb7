#pragma once
// JobWatch: how the processes of a job detect a deadlock
// together, and gather one table of all ranks.
//
// Role:      a thread in each process that tells process 0 when this one rests,
//            and answers what its ranks do. In process 0 it finds out that all
//            processes rest for good. Virtual processes share one.
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
  // What it asks about the processes of this address space. Called on the thread of this class.
  struct Ranks {
    std::function<bool(int process)> have_ended;
    std::function<job::StateTable(int process)> rows;
    std::function<bool()> is_ending;  // the job ends, for another reason
    // Its rank is no user-level thread, and all threads that may call MPI are known. Null: its rank
    // is one.
    std::function<bool(int process)> is_known_process;
    std::function<void(const std::string& table)> on_deadlock;  // may never return
  };

  // Constructed before the network is opened: messages are stored until start().
  // Ownership: map and scheduler outlive it. here: processes of this address space.
  JobWatch(const job::ProcessMap& map, std::vector<int> here,
           sched::Scheduler& scheduler, Ranks ranks);
  ~JobWatch();
  JobWatch(const JobWatch&) = delete;

  // Called when the network is open. Errors: kSystem.
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
  // The users of the table that is being gathered, and what has come so far.
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
  // Callbacks to be called without the lock, with this table.
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

  // Other threads set bits here to wake the thread.
  FutexWord signals_{0};
  std::atomic<bool> is_to_look_{false};
  Mutex inbox_lock_;
  std::vector<Message> inbox_ MPC_GUARDED_BY(inbox_lock_);
  std::vector<Use> wanted_ MPC_GUARDED_BY(inbox_lock_);

  // Held by the thread while it uses the network, and by stop().
  Mutex turn_;
  bool is_stopped_ MPC_GUARDED_BY(turn_) = false;
  std::map<int, RestTeller> tellers_ MPC_GUARDED_BY(turn_);  // for each of here_
  RestCollector collector_ MPC_GUARDED_BY(turn_);            // in process 0
  std::optional<Gathering> gathering_ MPC_GUARDED_BY(turn_);
  uint32_t gatherings_ MPC_GUARDED_BY(turn_) = 0;
  uint64_t end_ns_ = 0;  // end of the gathering, the thread's own copy; 0: none

  pthread_t thread_{};
  bool is_started_ = false;
};

// For the job of this process: before its network is opened,
// and after. No effect if it has one process.
// Caller: the thread that runs the job, before its ranks start. Errors: kSystem.
// has_one_caller: if a rank is the process itself, only its main thread can call MPI.
void prepare_job_watch(job::Job& job, bool (*has_one_caller)());
Result<> start_job_watch();
// Called before the network is closed. Caller: the thread that runs the job.
void stop_job_watch() noexcept;

}  // namespace mpc::msg

#pragma once
// HostedJob: the job in a process that is itself a rank, with
// everything that a process has of its own.
//
// Role:      MPI_Init of a program that mpcrun --ranks-per-process 1 has started: its kernel threads act for
//            the rank, as in a singleton; the other ranks live in other processes. One worker without
//            ranks polls the network beside it.
// Users:     Job::instance().
// Threads:   as Job; the process's exit on the thread that calls exit().
// See also:  docs/design/0032-hosted-ranks.md; runtime/wireup/hosted.h; runtime/job/node_job.h, the other kind.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/job/ending.h"
#include "runtime/job/job.h"
#include "runtime/wireup/wireup.h"
#include "topology/machine.h"

namespace mpc::job {

class HostedJob final : public Job {
 public:
  // `program`: its number among those of the job.
  HostedJob(std::unique_ptr<wireup::Wireup> wireup, int program);

  // Meets the other processes, opens the network. The calling thread becomes the rank's main one.
  // Errors: kArg, kSystem, kUnsupported.
  Result<> start();
  // The process calls exit(). Caller: its handler.
  void process_exits(int status);

  int size() const noexcept override { return processes_.ranks(); }
  Rank& rank(int) noexcept override { return rank_; }
  wireup::Wireup* wireup() noexcept override { return wireup_.get(); }
  bool is_singleton() const noexcept override { return true; }
  int universe_size() const noexcept override;
  const std::string& program(int) const override { return program_; }
  uint64_t start_ns() const noexcept override { return start_ns_; }
  sched::Scheduler* scheduler() noexcept override { return scheduler_.get(); }
  int worker_of(int) const noexcept override { return 0; }
  int place_of(int world_rank) const noexcept override { return world_rank; }
  int tree_place_of(int world_rank) const noexcept override {
    return tree_places_.empty() ? world_rank
                                : tree_places_[static_cast<size_t>(world_rank)];
  }
  const topo::Machine* machine() const noexcept override { return nullptr; }
  int application_workers() const noexcept override { return 1; }
  int communication_workers() const noexcept override { return 0; }
  [[noreturn]] void abort(int exit_code, const std::string& message) override;
  void note_failure(int exit_code, const std::string& message) override;
  void note_refusal(int exit_code, const std::string& message) override;
  bool is_ending() const noexcept override { return ending_.is_requested(); }
  [[noreturn]] void end_rank(int status) override;

 private:
  Result<> meet_others();
  int own_core(int cores) const noexcept;
  Result<> start_scheduler();
  void obey(wireup::Order order);
  void let_rank_go_on();
  void leave_together();
  void die(int exit_code, const std::string& message);
  std::string who() const;

  const std::unique_ptr<wireup::Wireup> wireup_;
  const int process_;  // the process id: children of fork() are not the rank
  Rank rank_;
  std::string program_;
  std::unique_ptr<sched::Scheduler> scheduler_;
  Ending ending_;
  std::atomic<bool> is_leaving_{false};
  uint64_t start_ns_ = 0;
  std::vector<int> tree_places_;  // by rank; empty: each has its own
};

// The calling process becomes its rank, and meets the others; if it cannot, it says why, and exits.
// Hooks of the rank have not run yet. Ownership: lives until the process ends.
Job* create_hosted();

}  // namespace mpc::job

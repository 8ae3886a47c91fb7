#pragma once
// NodeJob: the ranks of one node as user-level threads of this process.
//
// Role:      loads a private copy of its program for each rank, places the ranks on workers,
//            runs them, and ends the job in one way whatever happens.
// Users:     runtime/job/launch.cpp.
// Threads:   prepare() and run() by the process's main thread.
// See also:  runtime/loader/image.h, docs/mpcrun.md.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/job/job.h"
#include "runtime/job/launch.h"
#include "runtime/loader/image.h"
#include "scheduler/progress/progress.h"
#include "topology/machine.h"

namespace mpc::job {

class NodeJob final : public Job {
 public:
  explicit NodeJob(const JobSpec& spec);
  ~NodeJob() override;

  // Checks the programs, chooses cores, starts workers. Errors: kNotFound, kPermission,
  // kImage (exit statuses 127, 126, 126), others: kExitLaunch.
  Result<> prepare();
  // The placement and settings as `mpcrun --show` prints them.
  std::string describe() const;
  // --trace: makes the file. Errors: kArg with the reason.
  Result<> open_trace();
  // Runs all ranks to their end; returns the exit status of the job.
  Result<int> run();

  int size() const noexcept override { return static_cast<int>(ranks_.size()); }
  Rank& rank(int world_rank) noexcept override { return *ranks_[world_rank]; }
  bool is_singleton() const noexcept override { return false; }
  const std::string& program(int app_index) const override;
  uint64_t start_ns() const noexcept override { return start_ns_; }
  sched::Scheduler* scheduler() noexcept override { return scheduler_.get(); }
  int worker_of(int world_rank) const noexcept override;
  const topo::Machine* machine() const noexcept override { return machine_.get(); }
  int application_workers() const noexcept override { return application_workers_; }
  int communication_workers() const noexcept override {
    return static_cast<int>(cores_.size()) - application_workers_;
  }
  [[noreturn]] void abort(int exit_code, const std::string& message) override;
  [[noreturn]] void end_rank(int status) override;

  const JobSpec& spec() const noexcept { return spec_; }

 private:
  struct Program {
    std::unique_ptr<loader::Image> image;
    std::string path;
    std::vector<std::string> arguments;  // with argv[0]
    std::vector<std::string> environment;
  };

  Result<> choose_machine();
  Result<> choose_cores();
  Result<std::vector<int>> place() const;
  Result<> set_cores_apart(int total, bool is_given);
  void make_progress_threads();
  Result<> load_copies();
  void rank_main(Rank& rank);
  void rank_ended(Rank& rank, int status);

  JobSpec spec_;
  std::unique_ptr<topo::Machine> machine_;
  std::vector<int> cores_;           // of the workers: first those with ranks
  int application_workers_ = 0;
  sched::ProgressCores::Config progress_config_;
  std::vector<Program> programs_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<int> worker_of_;
  // Progress threads refer to their cores; both outlive the scheduler, whose end waits for
  // all user-level threads.
  std::unique_ptr<sched::ProgressCores> progress_cores_;
  std::vector<std::unique_ptr<sched::ProgressThread>> progress_threads_;
  std::unique_ptr<sched::Scheduler> scheduler_;
  std::atomic<bool> ending_{false};
  std::atomic<int> ended_count_{0};
  uint64_t start_ns_ = 0;
};

}  // namespace mpc::job

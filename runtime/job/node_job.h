#pragma once
// NodeJob: runs the ranks of one process as user-level threads: all ranks of the job, or some.
//
// Role:      loads a private copy of its program for each rank, places the ranks on workers,
//            runs them, and ends the job in one way whatever happens.
// Users:     runtime/job/launch.cpp.
// Threads:   prepare() and run() by the process's main thread.
// See also:  runtime/loader/image.h, docs/mpcrun.md.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/job/core_choice.h"
#include "runtime/job/core_leases.h"
#include "runtime/job/endable_job.h"
#include "runtime/job/ending.h"
#include "runtime/job/growing_table.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/openmp.h"
#include "runtime/job/profiler.h"
#include "runtime/job/rank_variables.h"
#include "runtime/job/shared_parts.h"
#include "runtime/loader/image.h"
#include "runtime/wireup/wireup.h"
#include "scheduler/progress/progress.h"
#include "topology/machine.h"

namespace mpc::job {

class SignalThread;
struct Start;

// Its functions are in seven files: loading and running in node_job.cpp, the others in node_job_cores.cpp,
// node_job_end.cpp, node_job_processes.cpp, node_job_records.cpp, node_job_spawn.cpp and node_job_text.cpp.
class NodeJob final : public EndableJob {
 public:
  // In a job of several processes this object is the part in one of them.
  NodeJob(const JobSpec& spec, std::unique_ptr<wireup::Wireup> wireup);
  ~NodeJob() override;

  // Checks the programs, chooses cores, starts workers. Errors: kNotFound, kPermission,
  // kImage (exit statuses 127, 126, 126), others: kExitLaunch.
  Result<> prepare();
  // The placement and settings as `mpcrun --show` prints them, for all processes; only the
  // first one prints it. Errors: kSystem.
  Result<std::string> describe();
  // For --trace, --profile, --counters: creates the files, begins
  // to count. Errors: kArg with the reason.
  Result<> open_records();
  // True if all of them could be written.
  bool has_whole_records() const noexcept { return has_whole_records_; }
  // Runs all ranks to their end; returns the exit status of the job.
  Result<int> run();

  int size() const noexcept override { return processes_.ranks(); }
  Rank& rank(int world_rank) noexcept override {
    const size_t index = local_index(world_rank);
    return index < ranks_.size() ? *ranks_[index] : spawned(world_rank).rank;
  }
  World world_of(int world_rank) const noexcept override;
  Result<World> spawn(const std::vector<AppSpec>& apps, int parent) override;
  int universe_size() const noexcept override;
  wireup::Wireup* wireup() noexcept override { return wireup_.get(); }
  bool is_singleton() const noexcept override { return false; }
  const std::string& program(int app_index) const override;
  uint64_t start_ns() const noexcept override { return start_ns_; }
  sched::Scheduler* scheduler() noexcept override { return scheduler_.get(); }
  int worker_of(int world_rank) const noexcept override;
  int place_of(int world_rank) const noexcept override;
  const topo::Machine* machine() const noexcept override { return machine_.get(); }
  int application_workers() const noexcept override {
    return choice_.application_workers;
  }
  int communication_workers() const noexcept override {
    return static_cast<int>(choice_.cores.size()) - choice_.application_workers;
  }
  [[noreturn]] void abort(int exit_code, const std::string& message) override;
  // As abort(); but if the job goes on without this process, only this process ends. Caller: a rank.
  [[noreturn]] void die(int exit_code, const std::string& message);
  void note_failure(int exit_code, const std::string& message) override;
  void note_refusal(int exit_code, const std::string& message) override;
  bool is_ending() const noexcept override { return ending_.is_requested(); }
  [[noreturn]] void wait_for_end() noexcept override;
  [[noreturn]] void end_rank(int status) override;

  bool request_end(int exit_code, const std::string& message,
                   Grace grace) noexcept override;
  [[noreturn]] void finish() override;
  bool claim_end() noexcept override;
  bool ends_here() const noexcept override;
  void let_others_go_on() override;
  void last_words() noexcept override;

  const JobSpec& spec() const noexcept { return spec_; }

 private:
  struct Program {
    int first_rank = 0;                    // of the job
    RankRange local;                       // its ranks in this process
    std::shared_ptr<loader::Image> image;  // null: the program has no ranks here
    std::string path;                      // the path under which it was found
    std::string file;                      // absolute
    std::vector<std::string> arguments;    // with argv[0]
    std::vector<std::string> environment;
    std::vector<std::string> libraries;  // of the interpreter, if it is one
    bool has_team = false;               // its ranks start threads by OpenMP
    std::string working_directory;       // for spawned ranks; "": the job's
  };
  struct Spawned {
    Rank rank;
    int worker = 0;
    World world;
    // Cancelled before it began: others could not be started.
    bool is_called_off = false;
    std::unique_ptr<sched::ProgressThread> progress;
  };

  // world_rank: of this process.
  size_t local_index(int world_rank) const noexcept {
    return static_cast<size_t>(world_rank - local_.first);
  }
  int local_count() const noexcept { return local_.size(); }
  Result<> divide_ranks();
  Result<> add_program(const AppSpec& wanted, int first_rank);
  static Result<Program> make_program(const AppSpec& wanted, Start* start);
  Result<> open_image(Program& program, const Start& start, const AppSpec& wanted);
  void take_image(Program& program, std::shared_ptr<loader::Image> image);
  const Program& program_of(const Rank& rank) const noexcept;
  Result<> tell_others();
  Result<> choose_machine();
  void take_own_cores(CoreWish& wish);
  Result<> choose_cores();
  Result<std::vector<int>> place() const;
  bool shares_machine() const;
  std::vector<CoreUse> uses_of_others() const;
  bool lease_cores();
  bool calls_spawn() const;
  bool may_spawn() const;
  int expected_count() const;
  bool may_move_ranks() const;
  bool has_teams() const;
  void share_out();
  UnitCounts units_of_ranks() const;
  void bind_workers();
  void make_progress_threads();
  size_t stack_bytes() const;  // of each rank
  Result<> start_scheduler();
  Result<> load_instances();
  Result<> spawn_ranks();
  Spawned& spawned(int world_rank) const noexcept;
  Result<std::unique_ptr<Program>> open_program(const AppSpec& wanted);
  Result<> open_programs(const std::vector<AppSpec>& apps);
  Result<> load_spawned(const World& world, const std::vector<AppSpec>& apps);
  Result<> start_spawned(const World& world);
  void check_spawned_end(const Rank& rank);
  std::vector<std::string> environment_of(const Rank& rank) const;
  RankNumbers numbers_of(const Rank& rank) const;
  void rank_main(Rank& rank);
  int node_of(const Rank& rank) const;
  void rank_ended(Rank& rank, int status);
  int count_that_can_go_on() const;
  std::string describe_process() const;
  std::string trace_path(int process) const;
  std::string command_text() const;
  Result<> open_trace();
  Result<> open_profile_file();
  Result<> start_profile();
  profile::Profile own_profile() const;
  Result<profile::Profile> joined_profile() const;
  void close_records();
  void join_records();
  void print_records();
  void print_profile();
  void write_profile(const profile::Profile& profile);
  bool request(int exit_code, const std::string* message, Grace grace) noexcept;
  bool request_death(int exit_code, const std::string& message) noexcept;
  void prepare_abort(int exit_code, const std::string& message);
  void leave_together();
  void say_last_words();
  void obey(wireup::Order order, int number);
  void print_counters() const;
  int exit_status() const;

  JobSpec spec_;
  std::string mark_for_children_;  // an entry of the environment
  const std::unique_ptr<wireup::Wireup> wireup_;
  std::unique_ptr<topo::Machine> machine_;
  CoreChoice choice_;
  int processes_per_core_ = 1;
  CoreLeases leases_;  // held until the process ends
  std::vector<std::vector<int>>
      shares_;  // of the workers with ranks, if these are bound
  sched::ProgressCores::Config progress_config_;
  std::vector<Program> programs_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<int> worker_of_;  // of the ranks of this process
  std::vector<int> place_of_;   // of all ranks; empty: as worker_of_
  // Added by spawn(): after programs_ and ranks_ in the order of numbers.
  std::mutex spawning_;  // one spawn at a time
  GrowingTable<Program> spawned_programs_;
  GrowingTable<Spawned> spawned_ranks_;
  // Progress threads refer to their cores; both outlive the scheduler, whose destructor waits for
  // all user-level threads.
  std::unique_ptr<sched::ProgressCores> progress_cores_;
  std::vector<std::unique_ptr<sched::ProgressThread>> progress_threads_;
  std::unique_ptr<sched::Scheduler> scheduler_;
  Ending ending_;
  std::atomic<int> ending_thread_{0};  // read by the thread's own signal handler only
  SignalThread* signals_ = nullptr;    // set while run() is active
  std::atomic<bool> is_leaving_{
      false};  // all ranks of this process have ended by themselves
  uint64_t start_ns_ = 0;
  std::unique_ptr<Profiler> profiler_;  // null: --profile is not given
  SharedParts parts_;
  int profile_descriptor_ = -1;
  bool has_whole_records_ = true;
  bool are_records_joined_ = false;  // the first process has joined those of all
};

}  // namespace mpc::job

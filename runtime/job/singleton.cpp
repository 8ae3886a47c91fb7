// A program that runs without mpcrun: one rank, whose execution is a kernel thread.

#include "runtime/job/singleton.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/log.h"
#include "base/settings.h"
#include "runtime/job/hooks.h"
#include "runtime/job/lone_child.h"
#include "runtime/job/one_of_many.h"
#include "runtime/job/universe.h"

namespace mpc::job {
namespace {

class SingletonJob final : public Job {
 public:
  SingletonJob() {
    rank_.job = this;
    rank_.execution = &sched::Execution::self();
    rank_.execution->set_identity(&rank_);
    rank_.phase.store(kBeforeInit, std::memory_order_relaxed);
    char path[4096];
    const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
    if (n > 0) program_.assign(path, static_cast<size_t>(n));
  }

  int size() const noexcept override { return 1; }
  Rank& rank(int) noexcept override { return rank_; }
  bool is_singleton() const noexcept override { return true; }
  // Spawned ranks are a job of their own, whose ranks may share cores: there is no limit.
  int universe_size() const noexcept override { return wanted_universe(); }
  void note_failure(int, const std::string&) override {
  }  // the process ends with the program's own status
  void note_refusal(int, const std::string&) override {}
  const std::string& program(int) const override { return program_; }
  uint64_t start_ns() const noexcept override { return start_ns_; }
  sched::Scheduler* scheduler() noexcept override { return nullptr; }
  int worker_of(int) const noexcept override { return 0; }
  const topo::Machine* machine() const noexcept override { return nullptr; }
  int application_workers() const noexcept override { return 1; }
  int communication_workers() const noexcept override { return 0; }

  [[noreturn]] void abort(int exit_code, const std::string& message) override {
    hooks::run_job_end(*this);
    std::fflush(nullptr);
    std::fprintf(stderr, "%s\n", message.c_str());
    ::_exit(exit_code);
  }
  [[noreturn]] void end_rank(int status) override { std::exit(status); }

 private:
  Rank rank_;
  std::string program_;
  uint64_t start_ns_ = sched::now_ns();
};

// Wrong settings of ours do not stop a program that runs alone.
void take_environment() {
  for (SettingBase* setting : Settings::all()) {
    const std::string name = setting->environment_name();
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) continue;
    if (auto result = setting->set(value); !result)
      log::warn("environment variable {}: {}; the default is used", name,
                result.error().message);
  }
  for (const std::string& unknown : Settings::unknown_in_environment())
    log::warn("{}", unknown);
}

}  // namespace

Job* create_singleton() {
  refuse_to_be_one_of_many();
  take_environment();
  warn_if_lone_child();
  return new SingletonJob;
}

}  // namespace mpc::job

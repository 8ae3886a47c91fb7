// The text that mpcrun --show prints about a NodeJob.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/settings.h"
#include "runtime/job/host_map.h"
#include "runtime/job/node_job.h"
#include "runtime/job/report.h"
#include "scheduler/limits.h"

namespace mpc::job {

namespace {

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

std::string NodeJob::describe_process() const {
  std::string out;
  if (has_other_processes())
    out += fmt::format("process {} of {}{}: ", wireup_->index(), wireup_->size(),
                       host_map().hosts() > 1 ? " on host " + host_name() : "");
  out += fmt::format("{} rank{} on {} worker{}\n", local_count(),
                     local_count() == 1 ? "" : "s", choice_.cores.size(),
                     choice_.cores.size() == 1 ? "" : "s");
  if (!spec_.emulate.empty()) {
    out += fmt::format("emulated machine: {}, {} cores\n", machine_->name(),
                       machine_->core_count());
  }
  for (size_t app = 0; app < programs_.size(); ++app) {
    out += fmt::format("program {}:", app);
    for (const std::string& word : programs_[app].arguments) out += " " + word;
    out += fmt::format("   ({})\n", programs_[app].path);
    for (const std::string& library : programs_[app].libraries)
      out += fmt::format("  an interpreter: each rank runs a copy of {}\n", library);
  }
  for (size_t worker = 0; worker < choice_.cores.size(); ++worker) {
    std::vector<int> ranks;
    for (int r = local_.first; r < local_.end; ++r) {
      if (worker_of(r) == static_cast<int>(worker)) ranks.push_back(r);
    }
    const bool is_dedicated = static_cast<int>(worker) >= choice_.application_workers;
    out +=
        fmt::format("worker {} on core {} (PU {}): {}", worker, choice_.cores[worker],
                    machine_->core(choice_.cores[worker]).os_pu,
                    is_dedicated ? "communication" : "ranks " + format_ranks(ranks));
    if (worker < shares_.size() && shares_[worker].size() > 1) {
      std::vector<int> share = shares_[worker];
      std::sort(share.begin(), share.end());
      out += "; their threads on cores " + format_ranks(share);
    }
    out += '\n';
  }
  out += fmt::format("stack of each rank: {} KiB ({})\n", stack_bytes() >> 10,
                     spec_.stack_bytes != 0                       ? "--stack-size"
                     : stack_bytes() == sched::kDefaultStackBytes ? "the default"
                                                                  : "ulimit -s");
  out += fmt::format("binding: {}{}{}\n", choice_.is_bound ? "core" : "none",
                     choice_.reason.empty() ? "" : "; ", choice_.reason);
  out += fmt::format("progress threads: {}\n", sched::name_of(progress_config_.policy));
  out += "settings changed from their defaults:";
  bool any = false;
  for (const SettingBase* setting : Settings::all()) {
    if (setting->is_default()) continue;
    any = true;
    out += fmt::format("\n  {} = {} {}", setting->name(), setting->text(),
                       setting->unit());
  }
  out += any ? "\n" : " none\n";
  return out;
}

}  // namespace mpc::job

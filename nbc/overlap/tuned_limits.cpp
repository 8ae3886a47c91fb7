#include "nbc/overlap/tuned_limits.h"

#include <fmt/format.h>

#include <vector>

#include "base/log.h"
#include "base/settings.h"
#include "nbc/model/tuned_file.h"
#include "nbc/schedule/limits.h"
#include "runtime/job/job.h"
#include "scheduler/emulation/emulation.h"
#include "topology/cpu_name.h"
#include "topology/fingerprint.h"

namespace mpc::nbc {
namespace {

constexpr std::string_view kNone = "none";

StringSetting file_setting{"nbc.tuned_file", "",
                           "File of limits that were measured on this machine (mpcinfo "
                           "tune); empty: the one in "
                           "the user's cache; none: those that are built in",
                           "a file of mpcinfo tune, or none"};

std::string problem_of(const Tuned& tuned, const TunedMachine& here) {
  if (tuned.machine == here) return "";
  return fmt::format(
      "it was measured on another machine ({}, {} cores) than this ({}, {} cores)",
      tuned.machine.cpu, tuned.machine.cores, here.cpu, here.cores);
}

void use(const Tuned& tuned) {
  std::vector<LimitValue> values;
  for (const TunedLimit& limit : tuned.limits) {
    const auto which = limit_of_name(limit.name);
    if (which && limit.bytes != facts_of(*which).built_in)
      values.push_back({*which, limit.bytes});
  }
  use_tuned_limits(values);
}

Result<> load_at_start(job::Job& job) {
  if (job.machine() != nullptr && !sched::Emulation::is_on())
    load_tuned_limits(*job.machine());
  return {};
}

[[gnu::constructor]] void register_hook() {
  job::Job::at_job_start(job::HookOrder::kCollectives, load_at_start);
}

}  // namespace

TunedMachine tuned_machine(const topo::Machine& machine) {
  return {topo::cpu_name(), machine.core_count(), topo::fingerprint(machine)};
}

TunedUse load_tuned_limits(const topo::Machine& machine) {
  TunedUse out;
  const std::string asked = file_setting.get();
  if (!machine.is_real() || asked == kNone) return out;
  const TunedMachine here = tuned_machine(machine);
  out.path = asked.empty() ? tuned_path(here) : asked;
  if (out.path.empty()) return out;
  const auto tuned = read_tuned(out.path);
  if (!tuned) {
    if (!asked.empty() || tuned.error().code != Errc::kNotFound)
      log::warn("limits of collectives: {}; those built in are used",
                tuned.error().message);
    return out;
  }
  if (const std::string problem = problem_of(*tuned, here); !problem.empty()) {
    log::warn("limits of collectives: {}: {}; those built in are used", out.path,
              problem);
    return out;
  }
  use(*tuned);
  out.made = tuned->made;
  return out;
}

}  // namespace mpc::nbc

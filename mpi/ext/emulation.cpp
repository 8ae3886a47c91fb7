// Emulated machine: the model's parameters become the costs of work, and the program can
// compute in the machine's time.

#include <mutex>

#include "nbc/overlap/tree_split.h"
#include "runtime/job/job.h"
#include "scheduler/emulation/emulation.h"
#include "scheduler/execution.h"

namespace mpc::mpi {
namespace {

constexpr double kNsPerUs = 1e3;

// Zero bandwidth: no limit.
double ns_per_byte(double gbs) { return gbs > 0 ? 1 / gbs : 0; }

sched::EmulatedCosts costs_of(const nbc::Parameters& p) {
  sched::EmulatedCosts costs;
  static_assert(nbc::kReachCount == sched::EmulatedCosts::kReachCount);
  for (int reach = 0; reach < nbc::kReachCount; ++reach)
    costs.copy[reach] = {p.copy[reach].latency_us * kNsPerUs,
                         ns_per_byte(p.copy[reach].bandwidth_gbs)};
  costs.node_ns = p.node_us * kNsPerUs;
  costs.message_ns = p.message_us * kNsPerUs;
  costs.numa_ns_per_byte = ns_per_byte(p.numa_gbs);
  costs.reduce_ns_per_byte = ns_per_byte(p.reduce_gbs);
  costs.cores_per_cache = p.shape.cores_per_cache;
  costs.cores_per_numa = p.shape.cores_per_numa;
  return costs;
}

void rank_starts(job::Rank&) {
  if (!sched::Emulation::is_on()) return;
  static std::once_flag once;
  std::call_once(once, [] {
    sched::Emulation::set_costs(costs_of(nbc::parameters_of_machine()));
  });
}

[[gnu::constructor]] void register_hook() {
  job::Job::at_rank_start(job::HookOrder::kEmulatedMachine, rank_starts);
}

}  // namespace
}  // namespace mpc::mpi

// For benchmarks: computes for that many seconds of the emulated machine. Returns 1 if there is
// one; otherwise 0, at once, and the program computes itself.
extern "C" __attribute__((visibility("default"))) int MPCX_Emulated_compute(
    double seconds) {
  using mpc::sched::Emulation;
  if (!Emulation::is_on()) return 0;
  if (seconds > 0) Emulation::occupy(mpc::sched::now_ns(), seconds * 1e9);
  return 1;
}

#include "mpi/objects/job_uses.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/abroad.h"

namespace mpc::mpi {
namespace {

// Slots and connections, as for msg::abroad::begin_use(). They are not stored in the communicators,
// because few of these have any.
struct Uses {
  std::vector<std::pair<int, uint64_t>> each;
  bool are_weak = false;
};
constinit Mutex g_lock;
std::unordered_map<const void*, Uses>& uses() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::unordered_map<const void*, Uses>;  // immortal
  return *all;
}

}  // namespace

void count_on_jobs(const void* owner, std::span<const int> processes) {
  msg::abroad::reach_all(processes);
  Uses mine;
  for (const int process : processes) {
    const int slot = job::neighbours::index_of_process(process);
    // No use for this job's own processes: they end with it in any case.
    if (job::neighbours::process_in(slot) < 0)
      mine.each.emplace_back(slot, msg::abroad::begin_use(slot));
  }
  const Locked lock(g_lock);
  uses()[owner] = std::move(mine);
}

void release_jobs(const void* owner) noexcept {
  const Locked lock(g_lock);
  const auto found = uses().find(owner);
  if (found == uses().end() || found->second.are_weak) return;
  found->second.are_weak = true;
  for (const auto& [slot, connection] : found->second.each)
    msg::abroad::weaken_use(slot, connection);
}

void forget_jobs(const void* owner) noexcept {
  Uses mine;
  {
    const Locked lock(g_lock);
    const auto found = uses().find(owner);
    if (found == uses().end()) return;
    mine = std::move(found->second);
    uses().erase(found);
  }
  for (const auto& [slot, connection] : mine.each)
    (mine.are_weak ? msg::abroad::end_weak_use : msg::abroad::end_use)(slot,
                                                                       connection);
}

}  // namespace mpc::mpi

#include "mpi/objects/several_jobs.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "runtime/job/job.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/abroad.h"

namespace mpc::mpi {
namespace {

// Slots and connections, as msg::abroad::begin_use(). Of few communicators: not worth a word in each.
using Uses = std::vector<std::pair<int, uint64_t>>;
constinit Mutex g_lock;
std::unordered_map<const Comm*, Uses>& uses() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::unordered_map<const Comm*, Uses>;  // for ever
  return *all;
}

}  // namespace

bool spans_jobs(const Comm& comm) noexcept {
  return !comm.is_in_one_process() && comm.self().job->processes().is_one_process();
}

Err refuse_several_jobs(const Comm& comm, const char* what) {
  if (!spans_jobs(comm)) [[likely]]
    return kSuccess;
  return fail(MPI_ERR_UNSUPPORTED_OPERATION,
              fmt::format("{} of {}: its members are of several jobs (MPI_Comm_accept, "
                          "MPI_Comm_connect), which have messages and collectives in "
                          "common, and no {}",
                          what, comm.display_name(), what));
}

void count_on_jobs(const Comm& comm, std::span<const int> slots) {
  Uses mine;
  for (const int slot : slots)
    if (slot != job::neighbours::own_slot())
      mine.emplace_back(slot, msg::abroad::begin_use(slot));
  const Locked lock(g_lock);
  uses()[&comm] = std::move(mine);
}

void forget_jobs(const Comm& comm) noexcept {
  Uses mine;
  {
    const Locked lock(g_lock);
    const auto found = uses().find(&comm);
    if (found == uses().end()) return;
    mine = std::move(found->second);
    uses().erase(found);
  }
  for (const auto& [slot, connection] : mine) msg::abroad::end_use(slot, connection);
}

}  // namespace mpc::mpi

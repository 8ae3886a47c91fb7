#include "mpi/objects/members.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "mpi.h"
#include "mpi/objects/process.h"
#include "mpi/objects/process_list.h"
#include "runtime/job/job.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/abroad.h"
#include "runtime/message/losses.h"

namespace mpc::mpi {
namespace {

std::mutex g_lock;
// Under g_lock. Never destroyed: see runtime/message/losses.cpp.
std::map<const Comm*, const char*>& needed() {
  static auto* const all = new std::map<const Comm*, const char*>;
  return *all;
}

void end_job_without(job::Job& job, const char* what) {
  msg::end_job(
      job, fmt::format("mpcrun: a process has died that takes part in {}, which cannot "
                       "do without it; the job is ended",
                       what));
}

bool has_member_in(const Comm& comm, const job::ProcessMap& map, int process) {
  return std::ranges::any_of(comm.world_ranks(), [&](int world_rank) {
    return map.process_of(world_rank) == process;
  });
}

}  // namespace

Err fail_without_member(const char* call, const Comm& comm) {
  const std::string gone = msg::abroad::last_gone();
  return fail(MPI_ERR_PROC_ABORTED,
              gone.empty()
                  ? fmt::format("{}: a process with members of {} has died", call,
                                comm.display_name())
                  : fmt::format("{}: a job with members of {} does not take part: {}",
                                call, comm.display_name(), gone));
}

Err look_for_lost_member(const char* call, const Comm& comm) {
  return !comm.is_in_one_process() &&
                 msg::has_lost_member(comm.self().world_rank, comm.collective_context())
             ? fail_without_member(call, comm)
             : kSuccess;
}

void begin_to_need(const Comm& comm, const char* what) {
  if (!job::losses::are_survived() || comm.is_in_one_process()) return;
  {
    const std::lock_guard lock(g_lock);
    needed()[&comm] = what;
  }
  // A member may have died since all members met.
  if (job::losses::any() &&
      msg::has_lost_member(comm.self().world_rank, comm.collective_context()))
    end_job_without(*comm.self().job, what);
}

void end_to_need(const Comm& comm) noexcept {
  if (!job::losses::are_survived()) return;
  const std::lock_guard lock(g_lock);
  needed().erase(&comm);
}

namespace {

void end_what_needs(job::Job& job, int process) {
  const char* what = nullptr;
  {
    const std::lock_guard lock(g_lock);
    for (const auto& [comm, needs] : needed())
      if (has_member_in(*comm, job.processes(), process)) what = needs;
  }
  if (what != nullptr) end_job_without(job, what);
}

// Caller: the thread that handles losses.
void take_loss(job::Job& job, int process) {
  Process& here = job::neighbours::is_far_process(process)
                      ? Process::abroad()
                      : Process::of(job.rank(job.local_ranks().first));
  break_meetings(here, process);
  here.exchange->lose(process);
  end_what_needs(job, process);
}

[[gnu::constructor]] void register_handler() { msg::on_loss(&take_loss); }

}  // namespace

}  // namespace mpc::mpi

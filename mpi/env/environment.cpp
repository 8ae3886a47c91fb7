// Bodies of MPI-4.1 chapters 9 and 11: start, end, versions, clock, memory.

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_set>

#include <fmt/format.h>

#include "base/version.h"
#include "mpi/impl/abi.h"
#include "mpi/impl/environment.h"
#include "mpi/impl/profiling.h"
#include "mpi/objects/buffered.h"
#include "mpi/objects/check.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/errhandler.h"
#include "mpi/objects/info.h"
#include "mpi/objects/meeting.h"
#include "mpi/objects/parent.h"
#include "mpi/objects/rank_life.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "mpi/objects/session.h"
#include "runtime/job/job.h"
#include "runtime/message/abroad.h"
#include "runtime/message/losses.h"
#include "scheduler/emulation/emulation.h"

namespace mpc::mpi {

namespace impl {
namespace {

// In jobs that survive the death of processes the launcher says when all that live have come.
[[gnu::cold]] void pass_gate_of(job::Rank& rank, MeetingKind kind, const char* what) {
  const bool is_init = kind == MeetingKind::kInit;
  msg::pass_gate(rank, is_init ? msg::Gate::kInit : msg::Gate::kFinalize, what);
}

// Message queues exist only once a rank has started, so no rank leaves MPI_Init before all have
// started.
void meet_all(const RankState& state, MeetingKind kind, const char* what,
              uint64_t sequence = 0) {
  job::Rank& rank = *state.rank;
  if (state.world->size() == 1) return;
  if (job::losses::are_survived()) [[unlikely]]
    return pass_gate_of(rank, kind, what);
  const auto place = static_cast<uint64_t>(state.world->group()->world_rank(0));
  meet<Room>(
      rank, {kind, place, sequence, {}}, state.world->members(), [](Room&) {}, what);
}

Err start(int thread_level) {
  RankState* state = &attached_rank();
  if (state->finalised.load(std::memory_order_relaxed))  // the rank's own flag
    return fail(MPI_ERR_OTHER, "MPI was finalized: it cannot be initialized again");
  if (state->initialised.load(std::memory_order_relaxed))  // likewise
    return fail(MPI_ERR_OTHER, "MPI is initialized already");
  prepare_rank(*state);
  if (thread_level > state->thread_level) state->thread_level = thread_level;
  state->world_thread_level = thread_level;
  state->main_thread = &sched::Execution::self();
  create_predefined_comms(*state);
  meet_all(*state, MeetingKind::kInit, "MPI_Init");
  MPC_MPI_TRY(meet_parent(*state));
  state->initialised.store(true, std::memory_order_release);  // for threads of the rank
  note_world_change(*state);
  return kSuccess;
}

void copy_text(const char* text, char* out, int* length, size_t room) noexcept {
  const size_t n = std::min(std::strlen(text), room - 1);
  std::memcpy(out, text, n);
  out[n] = '\0';
  *length = static_cast<int>(n);
}

}  // namespace

Err init(int*, char***) { return start(MPI_THREAD_SINGLE); }

Err init_thread(int*, char***, int required, int* provided) {
  const int level = clamp_thread_level(required);
  MPC_MPI_TRY(start(level));
  *provided = level;
  return kSuccess;
}

Err initialized(int* flag) {
  RankState* state = rank_state();
  *flag = state != nullptr &&
          state->initialised.load(std::memory_order_acquire);  // start()
  return kSuccess;
}

Err finalized(int* flag) {
  RankState* state = rank_state();
  // Pairs with finalize().
  *flag = state != nullptr && state->finalised.load(std::memory_order_acquire);
  return kSuccess;
}

Err finalize() {
  RankState& state = this_rank();
  job::Rank& rank = *state.rank;
  // First of all, in reverse order of setting, while everything still works (section 11.2.2).
  MPC_MPI_TRY(state.self->attributes.remove_all(MPI_COMM_SELF));
  MPC_MPI_TRY(state.world->attributes.remove_all(MPI_COMM_WORLD));
  if (is_checking()) {
    meet_all(state, MeetingKind::kFinalize, "MPI_Finalize", 1);
    report_missing_calls(state, "MPI_Finalize");
    end_freed_requests(state, "MPI_Finalize");
  }
  // Completes what the user has left to the library: freed requests, buffered messages.
  reap_abandoned(state, true);
  if (state.send_buffer) state.send_buffer->flush(rank, "MPI_Finalize");
  meet_all(state, MeetingKind::kFinalize, "MPI_Finalize");
  msg::abroad::wait_for_children(rank);
  state.finalised.store(true, std::memory_order_release);  // see finalized()
  note_world_change(state);
  // In a session the rank continues to use what it has.
  if (!state.may_call()) report_what_is_left(state, "MPI_Finalize");
  return kSuccess;
}

Err query_thread(int* provided) {
  *provided = this_rank().world_thread_level;
  return kSuccess;
}

Err is_thread_main(int* flag) {
  *flag = this_rank().main_thread == &sched::Execution::self();
  return kSuccess;
}

Err abort(Comm& comm, int code) {
  job::Rank& rank = comm.self();
  const std::string text = fmt::format("mpc: rank {}: MPI_Abort({}, {})",
                                       rank.world_rank, comm.display_name(), code);
  // A process has eight bits of status: a code that is not 0 must not look like success.
  const int status = code & 0xff;
  rank.job->abort(code != 0 && status == 0 ? 1 : status, text);
  __builtin_unreachable();  // gcc 12 forgets [[noreturn]] in virtual calls
}

double wtime() {
  if (sched::Emulation::is_on())
    return static_cast<double>(sched::Emulation::emulated_now_ns()) * 1e-9;
  // One origin for all ranks of a host, so that MPI_WTIME_IS_GLOBAL holds.
  return static_cast<double>(sched::now_ns()) * 1e-9;
}
double wtick() { return 1e-9; }

Err get_version(int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return kSuccess;
}

Err get_library_version(char* version, int* length) {
  copy_text(fmt::format("mpc {}, ranks as user-level threads, MPI 5.0", version_text())
                .c_str(),
            version, length, MPI_MAX_LIBRARY_VERSION_STRING);
  return kSuccess;
}

Err get_processor_name(char* name, int* length) {
  char host[MPI_MAX_PROCESSOR_NAME] = "localhost";
  if (::gethostname(host, sizeof host) != 0) std::strcpy(host, "localhost");
  host[sizeof host - 1] = '\0';
  copy_text(host, name, length, MPI_MAX_PROCESSOR_NAME);
  return kSuccess;
}

namespace {

// What MPI_Alloc_mem has given, of all ranks: another address must not reach the heap, which would end the job.
class Given {
 public:
  void add(void* memory) {
    const std::lock_guard inside(mutex_);
    known_.insert(memory);
  }
  bool take(void* memory) {
    const std::lock_guard inside(mutex_);
    return known_.erase(memory) != 0;
  }

 private:
  std::mutex mutex_;
  std::unordered_set<void*> known_;
};
// Never destroyed: a rank may end after main().
Given& given() {
  static auto* const all = new Given;
  return *all;
}

}  // namespace

Err alloc_mem(Count size, Info*, void* base) {
  if (size < 0) return fail(MPI_ERR_ARG, fmt::format("size {} is negative", size));
  // A cache line's alignment serves every datatype and keeps ranks' buffers apart.
  const size_t bytes = (static_cast<size_t>(size) + 63) & ~size_t{63};
  void* memory = bytes < static_cast<size_t>(size)
                     ? nullptr
                     : std::aligned_alloc(64, bytes == 0 ? 64 : bytes);
  if (memory == nullptr)
    return fail(MPI_ERR_NO_MEM, fmt::format("no memory for {} bytes", size));
  given().add(memory);
  *static_cast<void**>(base) = memory;
  return kSuccess;
}

Err free_mem(void* base) {
  if (base == nullptr) return kSuccess;
  if (!given().take(base))
    return fail(MPI_ERR_BASE,
                fmt::format("{} is not from MPI_Alloc_mem, or was freed before", base));
  std::free(base);
  return kSuccess;
}

Err pcontrol(int) { return kSuccess; }

Err get_hw_resource_info(MPI_Info* hw_info) {
  InfoHints hints;
  // The names that MPI_Comm_split_type knows. An idle core takes a rank over, so none is bound to its core.
  hints.set("hwloc://Machine", "true");
  hints.set("hwloc://Core", "false");
  *hw_info = create_info(std::move(hints))->handle();
  return kSuccess;
}

Err abi_get_version(int* major, int* minor) {
  *major = MPI_ABI_VERSION;
  *minor = MPI_ABI_SUBVERSION;
  return kSuccess;
}

Err abi_get_info(MPI_Info* info) {
  InfoHints hints;
  hints.set("mpi_aint_size", std::to_string(sizeof(MPI_Aint)));
  hints.set("mpi_count_size", std::to_string(sizeof(MPI_Count)));
  hints.set("mpi_offset_size", std::to_string(sizeof(MPI_Offset)));
  *info = create_info(std::move(hints))->handle();
  return kSuccess;
}

}  // namespace impl
}  // namespace mpc::mpi

#include "mpi/api/entry_scope.h"

#include <fmt/format.h>

#include <string_view>

#include "mpi/objects/blame.h"
#include "mpi/objects/call_site.h"
#include "mpi/objects/check.h"
#include "mpi/objects/errhandler.h"
#include "mpi/objects/fault.h"

namespace mpc::mpi {

namespace {

// MPI-4.1 section 11.6: with MPI_THREAD_SINGLE and MPI_THREAD_FUNNELED one thread makes all calls,
// except queries about this and calls that are allowed at any time.
void look_at_thread(const RankState& state) {
  const bool is_limited = state.main_thread != nullptr && state.sessions_begun == 0 &&
                          state.world_thread_level < MPI_THREAD_SERIALIZED;
  if (!is_limited || state.main_thread == &sched::Execution::self()) return;
  const CallSite site = this_call();
  const std::string_view call = site.call != nullptr ? site.call : "";
  if (call == "MPI_Is_thread_main" || call == "MPI_Query_thread" ||
      call.starts_with("MPI_Info_") || call.starts_with("MPI_Session_"))
    return;
  const CodePlace place = place_of(site.address);
  report_fault("wrong thread", place, {}, [&] {
    return fmt::format(
        "a thread of rank {} that is not the one of MPI_Init calls MPI\n"
        "  {}; the program was given {}",
        state.rank->world_rank, call_at(site),
        state.world_thread_level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED"
                                                        : "MPI_THREAD_SINGLE");
  });
}

}  // namespace

bool EntryScope::is_checked(const void* return_address) {
  if (!is_checking()) return false;
  set_call_place(return_address);
  const RankState* state = rank_state();
  if (state == nullptr || !state->may_call()) return false;
  look_at_thread(*state);
  return true;
}

int EntryScope::refuse(const char* function) {
  const RankState* state = rank_state();
  const bool after_world =
      state != nullptr && state->finalised.load(std::memory_order_relaxed);
  const bool after_session = state != nullptr && state->sessions_begun > 0;
  const char* const when = after_world ? "called after MPI_Finalize"
                           : after_session
                               ? "called outside of a session and before MPI_Init"
                               : "called before MPI_Init";
  return handle_error(mpi::fail(MPI_ERR_OTHER, when), function);
}

int EntryScope::report(const char* function, Err error) {
  return handle_error(error, function);
}
int EntryScope::report(const char* function, Err error, Comm* comm) {
  return comm == nullptr ? report(function, error)
                         : handle_error(error, *comm, function);
}
int EntryScope::report(const char* function, Err error, Win* win) {
  return win == nullptr ? report(function, error) : handle_error(error, *win, function);
}
int EntryScope::report(const char* function, Err error, Session* session) {
  return session == nullptr ? report(function, error)
                            : handle_error(error, *session, function);
}
int EntryScope::report(const char* function, Err error, Errhandler* handler) {
  return handler == nullptr ? report(function, error)
                            : handle_error(error, *handler, nullptr, nullptr, function);
}
int EntryScope::report(const char* function, Err error, File* file) {
  return handle_error(error, file, function);
}

Err EntryScope::refuse_as_unsupported(const char* function) {
  return mpi::fail(MPI_ERR_UNSUPPORTED_OPERATION,
                   fmt::format("{} is not built yet", function));
}

}  // namespace mpc::mpi

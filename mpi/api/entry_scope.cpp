#include "mpi/api/entry_scope.h"

#include <fmt/format.h>

#include "mpi/objects/blame.h"
#include "mpi/objects/call_site.h"
#include "mpi/objects/check.h"
#include "mpi/objects/errhandler.h"

namespace mpc::mpi {

bool EntryScope::is_checked(const void* return_address) {
  if (!is_checking()) return false;
  set_call_place(return_address);
  const RankState* state = rank_state();
  return state != nullptr && state->may_call();
}

int EntryScope::not_running() const {
  const RankState* state = rank_state();
  const bool after_world =
      state != nullptr && state->finalised.load(std::memory_order_relaxed);
  const bool after_session = state != nullptr && state->sessions_begun > 0;
  const char* const when = after_world ? "called after MPI_Finalize"
                           : after_session
                               ? "called outside of a session and before MPI_Init"
                               : "called before MPI_Init";
  return handle_error(mpi::fail(MPI_ERR_OTHER, when), function_);
}

int EntryScope::fail(Err error) const { return handle_error(error, function_); }
int EntryScope::fail(Err error, Comm* comm) const {
  return comm == nullptr ? fail(error) : handle_error(error, *comm, function_);
}
int EntryScope::fail(Err error, Win* win) const {
  return win == nullptr ? fail(error) : handle_error(error, *win, function_);
}
int EntryScope::fail(Err error, Session* session) const {
  return session == nullptr ? fail(error) : handle_error(error, *session, function_);
}
int EntryScope::fail(Err error, Errhandler* handler) const {
  return handler == nullptr
             ? fail(error)
             : handle_error(error, *handler, nullptr, nullptr, function_);
}
int EntryScope::fail(Err error, File* file) const {
  return handle_error(error, file, function_);
}

Err EntryScope::unsupported() const {
  return mpi::fail(MPI_ERR_UNSUPPORTED_OPERATION,
                   fmt::format("{} is not built yet", function_));
}

}  // namespace mpc::mpi

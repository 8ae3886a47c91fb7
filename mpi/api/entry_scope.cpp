#include "mpi/api/entry_scope.h"

#include <fmt/format.h>

#include "mpi/objects/blame.h"

namespace mpc::mpi {

int EntryScope::not_running() const {
  const RankState* state = rank_state();
  const bool after =
      state != nullptr && state->finalised.load(std::memory_order_relaxed);
  return handle_error(mpi::fail(MPI_ERR_OTHER, after ? "called after MPI_Finalize"
                                                     : "called before MPI_Init"),
                      function_);
}

int EntryScope::fail(Err error) const { return handle_error(error, function_); }
int EntryScope::fail(Err error, Comm* comm) const {
  return comm == nullptr ? fail(error) : handle_error(error, *comm, function_);
}
int EntryScope::fail(Err error, Win* win) const {
  return win == nullptr ? fail(error) : handle_error(error, *win, function_);
}
// Sessions have no bodies yet, so there is none whose handler could be asked.
int EntryScope::fail(Err error, Session*) const { return fail(error); }
int EntryScope::fail(Err error, File* file) const {
  return handle_error(error, file, function_);
}

Err EntryScope::unsupported() const {
  return mpi::fail(MPI_ERR_UNSUPPORTED_OPERATION,
                   fmt::format("{} is not built yet", function_));
}

}  // namespace mpc::mpi

#pragma once
// EntryScope: one MPI call in progress, which every generated entry point opens.
//
// Role:      holds the call's name for reports, checks that MPI is running, and passes an error to
//            the right handler.
// Users:     generated entry points (mpi/api), mpi/ext.
// Threads:   any execution of the rank; before MPI_Init any thread.
// See also:  mpi/api/checks.h, mpi/objects/blame.h, docs/mpi-api.md.

#include "base/trace.h"
#include "mpi.h"
#include "mpi/objects/error.h"
#include "mpi/objects/rank_state.h"
#include "scheduler/execution.h"

namespace mpc::mpi {

class Comm;
class Win;
class File;
class Session;
class Errhandler;

inline constexpr trace::Site kCall{
    "mpi", "call", {"name", nullptr, nullptr, nullptr, "repeated"}, true};

// One MPI call in progress. Scopes may nest, because a user's callback may call MPI.
class EntryScope {
 public:
  explicit EntryScope(const char* function) noexcept
      : execution_(sched::Execution::self()),
        outer_(execution_.call()),
        function_(function) {
    execution_.set_call(function);
    if (trace::enabled()) [[unlikely]]
      note_begin(function);
  }
  ~EntryScope() {
    trace::end(kCall);
    execution_.set_call(outer_);
  }
  EntryScope(const EntryScope&) = delete;
  EntryScope& operator=(const EntryScope&) = delete;

  // True between MPI_Init and MPI_Finalize (or inside a session).
  bool is_running() noexcept {
    const auto* rank = static_cast<const job::Rank*>(execution_.identity());
    if (rank == nullptr)
      rank = job::current_rank();  // a thread seen for the first time
    if (rank == nullptr || rank->mpi == nullptr) return false;
    state_ = rank->mpi;
    // Relaxed: the thread that uses MPI knows by its own means that MPI_Init has returned.
    return state_->is_running.load(std::memory_order_relaxed);
  }
  // Of the caller's rank, as is_running() has found it; null before.
  RankState* state() const noexcept { return state_; }

  // The same with mpi.check=full, where is_running() says no, so that only this cold path asks.
  // Notes the call's return address.
  [[gnu::cold, gnu::noinline]] static bool is_checked(const void* return_address);

  // Each calls the error handler of its object. The result is the return value of the MPI function,
  // if the handler returns.
  int not_running() const { return refuse(function_); }
  [[gnu::always_inline]] int fail(
      Err error) const {  // no object: MPI_COMM_SELF's handler
    return report(function_, error);
  }
  [[gnu::always_inline]] int fail(Err error, Comm* comm) const {  // null: as above
    return report(function_, error, comm);
  }
  [[gnu::always_inline]] int fail(Err error, Win* win) const {
    return report(function_, error, win);
  }
  [[gnu::always_inline]] int fail(Err error,
                                  File* file) const {  // null: MPI_FILE_NULL's handler
    return report(function_, error, file);
  }
  [[gnu::always_inline]] int fail(Err error, Session* session) const {
    return report(function_, error, session);
  }
  // For a call with an argument for the handler of the object that it creates, and of its own
  // errors.
  [[gnu::always_inline]] int fail(Err error, Errhandler* handler) const {
    return report(function_, error, handler);
  }
  // The function is in the list but has no body yet.
  Err unsupported() const { return refuse_as_unsupported(function_); }

 private:
  // Static, so that a scope stays in registers: no call needs its address.
  [[gnu::cold, gnu::noinline]] static void note_begin(const char* function) {
    trace::begin(kCall, {trace::text(function)});
  }
  [[gnu::cold]] static int refuse(const char* function);
  [[gnu::cold]] static int report(const char* function, Err error);
  [[gnu::cold]] static int report(const char* function, Err error, Comm* comm);
  [[gnu::cold]] static int report(const char* function, Err error, Win* win);
  [[gnu::cold]] static int report(const char* function, Err error, File* file);
  [[gnu::cold]] static int report(const char* function, Err error, Session* session);
  [[gnu::cold]] static int report(const char* function, Err error, Errhandler* handler);
  [[gnu::cold]] static Err refuse_as_unsupported(const char* function);

  sched::Execution& execution_;
  const char* outer_;
  const char* function_;
  RankState* state_ = nullptr;
};

}  // namespace mpc::mpi

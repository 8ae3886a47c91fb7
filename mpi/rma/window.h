#pragma once
// Window: common parts of the chapter's calls: arguments that the generated checks do not cover.
//
// Role:      checks targets, epochs and assertions; says why a rank waits for a window.
// Users:     mpi/rma.
// Threads:   any execution of the rank.
// See also:  mpi/objects/win.h, runtime/rma/access.h.

#include <string>

#include "mpi/objects/error.h"
#include "mpi/objects/win.h"
#include "scheduler/execution.h"

namespace mpc::mpi {

// MPI_ERR_RMA_SYNC with the complaint as its message.
[[gnu::cold]] Err bad_sync(rma::Complaint complaint);
inline Err sync_error(rma::Complaint complaint) {
  return complaint == nullptr ? kSuccess : bad_sync(complaint);
}

// The error that says why no memory of the target can be accessed at the displacement.
[[gnu::cold]] Err bad_place(rma::Fit fit, Win& win, int target, dt::Count disp);

// After an epoch has ended, or was flushed, here: does the same for targets in other processes, and for operations that wait
// for targets here. `target` MPI_PROC_NULL: all. Errors: those that the targets have found. Switches: if there are
// such targets or operations.
[[gnu::cold]] Err finish_rest(const char* call, Win& win, int target,
                              bool is_local = false);
inline bool may_have_rest(Win& win) noexcept {
  return win.access.remote() != nullptr || win.access.has_queued();
}
inline Err finish(const char* call, Win& win, int target, bool is_local = false) {
  if (!may_have_rest(win)) [[likely]]
    return kSuccess;
  return finish_rest(call, win, target, is_local);
}

// Only the errors that targets in other processes have found so far.
[[gnu::cold]] Err failure_elsewhere(Win& win);
inline Err late_failure(Win& win) {
  return win.access.remote() == nullptr ? kSuccess : failure_elsewhere(win);
}

[[gnu::cold]] Err bad_target(int rank, const Win& win);
// MPI_PROC_NULL is not a target; a call that accepts it tests for it first.
inline Err check_target(int rank, const Win& win) {
  return rank >= 0 && rank < win.size() ? kSuccess : bad_target(rank, win);
}

// MPI_ERR_ASSERT if there are other bits than `allowed`.
Err check_assert(int given, int allowed);

// For calls that a program repeats until it reads a new value: lets the other ranks of the core
// run from time to time. Switches: sometimes.
void relax_after_reading(Win& win);

// A barrier of all members. Switches: yes.
void meet_all(const char* call, Win& win);
// The same without waiting, for access.may_fence_later().
void fence_later(Win& win);

// Before a call that begins or ends an epoch: a fence that has not waited for the others must have ended.
[[gnu::cold]] void await_fence(const char* call, Win& win);
inline void end_coming_fence(const char* call, Win& win) {
  if (win.access.has_coming_fence()) [[unlikely]]
    await_fence(call, win);
}

// "MPI_Win_lock of rank 3 in MyWindow: held by rank 5"; also for a post that has not come.
class TargetReason final : public sched::WaitReason {
 public:
  TargetReason(const char* call, Win& win, int target) noexcept
      : call_(call), win_(win), target_(target) {}
  std::string text() const override;

 private:
  const char* call_;
  Win& win_;
  const int target_;  // or MPI_PROC_NULL: several
};

}  // namespace mpc::mpi

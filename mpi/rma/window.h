#pragma once
// Window: what the calls of the chapter share: arguments that the generated checks leave open.
//
// Role:      targets, epochs and assertions as MPI errors; why a rank waits for a window.
// Users:     mpi/rma.
// Threads:   any execution of the rank.
// See also:  mpi/objects/win.h, runtime/rma/access.h.

#include <string>

#include "mpi/objects/error.h"
#include "mpi/objects/win.h"
#include "scheduler/execution.h"

namespace mpc::mpi {

// MPI_ERR_RMA_SYNC with what it complains of.
[[gnu::cold]] Err bad_sync(rma::Complaint complaint);
inline Err sync_error(rma::Complaint complaint) {
  return complaint == nullptr ? kSuccess : bad_sync(complaint);
}

// Why nothing of the target can be reached at the displacement.
[[gnu::cold]] Err bad_place(rma::Fit fit, Win& win, int target, dt::Count disp);

// After what has ended an epoch, or flushed, here: the same for targets in other processes. `target` may be
// MPI_PROC_NULL: all. Errors: what these have found wrong. Switches: if there are some.
[[gnu::cold]] Err finish_elsewhere(const char* call, Win& win, int target,
                                   bool is_local = false);
inline Err finish(const char* call, Win& win, int target, bool is_local = false) {
  if (win.access.remote() == nullptr) [[likely]]
    return kSuccess;
  return finish_elsewhere(call, win, target, is_local);
}

[[gnu::cold]] Err bad_target(int rank, const Win& win);
// MPI_PROC_NULL is none; who takes it asks first.
inline Err check_target(int rank, const Win& win) {
  return rank >= 0 && rank < win.size() ? kSuccess : bad_target(rank, win);
}

// MPI_ERR_ASSERT if there are other bits than `allowed`.
Err check_assert(int given, int allowed);

// In calls that a program repeats until it reads something new: from time to time lets the other
// ranks of the core run. Switches: sometimes.
void relax_after_reading(Win& win);

// A barrier of all members. Switches: yes.
void meet_all(const char* call, Win& win);

// "MPI_Win_lock of rank 3 in MyWindow: held by rank 5"; of a post that has not come.
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

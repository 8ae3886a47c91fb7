// MPI-4.1 section 12.5 with mpi.check=full: the calls that complete operations on a window.

#include "mpi/check/origin_buffers.h"
#include "mpi/checked/rma.h"
#include "mpi/impl/rma.h"

namespace mpc::mpi::checked {
namespace {

Err ended(Err error, const Win& win, int target) {
  if (!error) end_operations(win, target);
  return error;
}

}  // namespace

Err win_fence(int assert, Win& win) {
  return ended(impl::win_fence(assert, win), win, kAllTargets);
}
Err win_complete(Win& win) { return ended(impl::win_complete(win), win, kAllTargets); }
Err win_unlock(int rank, Win& win) {
  return ended(impl::win_unlock(rank, win), win, rank);
}
Err win_unlock_all(Win& win) {
  return ended(impl::win_unlock_all(win), win, kAllTargets);
}
Err win_flush(int rank, Win& win) {
  return ended(impl::win_flush(rank, win), win, rank);
}
Err win_flush_all(Win& win) {
  return ended(impl::win_flush_all(win), win, kAllTargets);
}
Err win_flush_local(int rank, Win& win) {
  return ended(impl::win_flush_local(rank, win), win, rank);
}
Err win_flush_local_all(Win& win) {
  return ended(impl::win_flush_local_all(win), win, kAllTargets);
}
Err win_free(HandleRef<Win, MPI_Win> win) {
  end_operations(*win.object, kAllTargets);  // the window is destroyed afterwards
  return impl::win_free(win);
}

}  // namespace mpc::mpi::checked

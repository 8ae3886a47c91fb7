// Bodies of MPI-4.1 section 12.5: fence, post and start, locks, flush.

#include <fmt/format.h>

#include <vector>

#include "mpi/impl/rma.h"
#include "mpi/objects/group.h"
#include "mpi/rma/window.h"

namespace mpc::mpi::impl {
namespace {

// The members of the group as ranks of the window.
Err ranks_in(Win& win, const Group& group, std::vector<int>* ranks) {
  const GroupTable& members = *win.comm().group();
  ranks->clear();
  ranks->reserve(static_cast<size_t>(group.size()));
  for (const int world_rank : group.table()->world_ranks()) {
    const int rank = members.index_of(world_rank);
    if (rank < 0)
      return fail(MPI_ERR_GROUP, fmt::format("world rank {} of the group is not in {}",
                                             world_rank, win.display_name()));
    ranks->push_back(rank);
  }
  return kSuccess;
}

}  // namespace

Err win_fence(int assert, Win& win) {
  MPC_MPI_TRY(check_assert(assert, MPI_MODE_NOSTORE | MPI_MODE_NOPUT |
                                       MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED));
  end_coming_fence("MPI_Win_fence", win);
  MPC_MPI_TRY(sync_error(win.access.before_fence()));
  if ((assert&(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED)) == MPI_MODE_NOPRECEDE &&
      win.access.may_fence_later()) [[unlikely]] {
    fence_later(win);
    // Members that share the core come to the fence only if they get it.
    if (win.access.must_give_way()) sched::Execution::self().yield();
    return kSuccess;
  }
  const Err error = finish("MPI_Win_fence", win, MPI_PROC_NULL);
  meet_all("MPI_Win_fence", win);
  win.access.after_fence((assert& MPI_MODE_NOSUCCEED) == 0);
  return error;
}

Err win_post(Group& group, int assert, Win& win) {
  MPC_MPI_TRY(
      check_assert(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT));
  end_coming_fence("MPI_Win_post", win);
  std::vector<int> origins;
  MPC_MPI_TRY(ranks_in(win, group, &origins));
  return sync_error(win.access.post(origins));
}

Err win_start(Group& group, int assert, Win& win) {
  MPC_MPI_TRY(check_assert(assert, MPI_MODE_NOCHECK));
  end_coming_fence("MPI_Win_start", win);
  std::vector<int> targets;
  MPC_MPI_TRY(ranks_in(win, group, &targets));
  return sync_error(win.access.start(targets));
}

Err win_complete(Win& win) {
  MPC_MPI_TRY(sync_error(
      win.access.complete(TargetReason("MPI_Win_complete", win, MPI_PROC_NULL))));
  return late_failure(win);
}

Err win_wait(Win& win) {
  return sync_error(win.access.wait(TargetReason("MPI_Win_wait", win, MPI_PROC_NULL)));
}

Err win_test(Win& win, int* flag) {
  bool is_over = false;
  MPC_MPI_TRY(sync_error(win.access.test(&is_over)));
  *flag = is_over;
  return kSuccess;
}

// ---- locks -----------------------------------------------------------------------------------------

namespace {

Err check_lockable(const Win& win) {
  if (!win.has_no_locks) [[likely]]
    return kSuccess;
  return fail(MPI_ERR_RMA_SYNC, "the window has the info key no_locks=true");
}

}  // namespace

Err win_lock(int lock_type, int rank, int assert, Win& win) {
  if (lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE)
    return fail(MPI_ERR_LOCKTYPE,
                fmt::format("lock type {} does not exist", lock_type));
  MPC_MPI_TRY(check_assert(assert, MPI_MODE_NOCHECK));
  if (rank == MPI_PROC_NULL) return kSuccess;
  MPC_MPI_TRY(check_target(rank, win));
  MPC_MPI_TRY(check_lockable(win));
  end_coming_fence("MPI_Win_lock", win);
  const auto type = lock_type == MPI_LOCK_EXCLUSIVE ? rma::LockType::kExclusive
                                                    : rma::LockType::kShared;
  return sync_error(win.access.lock(type, rank, assert != 0,
                                    TargetReason("MPI_Win_lock", win, rank)));
}

Err win_unlock(int rank, Win& win) {
  if (rank == MPI_PROC_NULL) return kSuccess;
  MPC_MPI_TRY(check_target(rank, win));
  const bool may_be_later = win.access.may_be_later();
  if (may_be_later) [[unlikely]]
    win.access.before_unlock(rank, TargetReason("MPI_Win_unlock", win, rank));
  MPC_MPI_TRY(sync_error(win.access.unlock(rank)));
  if (may_be_later) [[unlikely]]
    MPC_MPI_TRY(finish("MPI_Win_unlock", win, rank));
  relax_after_reading(win);
  return kSuccess;
}

Err win_lock_all(int assert, Win& win) {
  MPC_MPI_TRY(check_assert(assert, MPI_MODE_NOCHECK));
  MPC_MPI_TRY(check_lockable(win));
  end_coming_fence("MPI_Win_lock_all", win);
  return sync_error(win.access.lock_all(
      assert != 0, TargetReason("MPI_Win_lock_all", win, MPI_PROC_NULL)));
}

Err win_unlock_all(Win& win) {
  if (may_have_rest(win)) [[unlikely]]
    win.access.before_unlock_all(
        TargetReason("MPI_Win_unlock_all", win, MPI_PROC_NULL));
  MPC_MPI_TRY(sync_error(win.access.unlock_all()));
  MPC_MPI_TRY(finish("MPI_Win_unlock_all", win, MPI_PROC_NULL));
  relax_after_reading(win);
  return kSuccess;
}

namespace {

// Within the process operations are over when they return, so a flush only has to order memory,
// not to wait.
Err flush(const char* call, int rank, Win& win, bool is_local) {
  if (rank == MPI_PROC_NULL) return kSuccess;
  MPC_MPI_TRY(check_target(rank, win));
  MPC_MPI_TRY(sync_error(win.access.flush(rank)));
  MPC_MPI_TRY(finish(call, win, rank, is_local));
  relax_after_reading(win);
  return kSuccess;
}

Err flush_all(const char* call, Win& win, bool is_local) {
  MPC_MPI_TRY(sync_error(win.access.flush_all()));
  MPC_MPI_TRY(finish(call, win, MPI_PROC_NULL, is_local));
  relax_after_reading(win);
  return kSuccess;
}

}  // namespace

Err win_flush(int rank, Win& win) { return flush("MPI_Win_flush", rank, win, false); }
Err win_flush_local(int rank, Win& win) {
  return flush("MPI_Win_flush_local", rank, win, true);
}
Err win_flush_all(Win& win) { return flush_all("MPI_Win_flush_all", win, false); }
Err win_flush_local_all(Win& win) {
  return flush_all("MPI_Win_flush_local_all", win, true);
}

Err win_sync(Win& win) {
  win.access.settle();
  // A program that synchronises loads and stores may be waiting for a change, too.
  win.has_read.store(true, std::memory_order_relaxed);
  relax_after_reading(win);
  return kSuccess;
}

}  // namespace mpc::mpi::impl

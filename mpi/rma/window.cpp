#include "mpi/rma/window.h"

#include <fmt/format.h>

#include "mpi/objects/meeting.h"
#include "nbc/direct/direct.h"
#include "runtime/message/message.h"
#include "runtime/rma/remote_access.h"

namespace mpc::mpi {

Err bad_sync(rma::Complaint complaint) { return fail(MPI_ERR_RMA_SYNC, complaint); }

Err bad_target(int rank, const Win& win) {
  return fail(MPI_ERR_RANK,
              fmt::format("target {} is not in 0..{}", rank, win.size() - 1));
}

Err finish_rest(const char* call, Win& win, int target, bool is_local) {
  const TargetReason reason(call, win, target);
  if (target == MPI_PROC_NULL)
    win.access.finish_all(is_local, reason);
  else
    win.access.finish(target, is_local, reason);
  return late_failure(win);
}

Err failure_elsewhere(Win& win) {
  if (const auto failure = win.access.remote()->take_failure())
    return bad_place(failure->fit, win, failure->target, failure->disp);
  return kSuccess;
}

Err check_assert(int given, int allowed) {
  if ((given & ~allowed) == 0) return kSuccess;
  return fail(MPI_ERR_ASSERT, fmt::format("assertion {} has bits that this call does "
                                          "not have ({})",
                                          given, given & ~allowed));
}

void relax_after_reading(Win& win) {
  if (!win.has_read.load(std::memory_order_relaxed)) return;
  win.has_read.store(false, std::memory_order_relaxed);
  msg::relax(win.self(), false);  // what it has read came by a poll
}

namespace {

// What operations that are queued for a target wait for.
std::string wanted_of(Win& win, int target) {
  using rma::Wants;
  switch (win.access.wants(target)) {
    case Wants::kLock:
      return fmt::format("whose lock rank {} has not got yet", win.rank());
    case Wants::kPost:
      return "which has not called MPI_Win_post";
    case Wants::kFence:
      return "which is behind a MPI_Win_fence to which not all members have come";
    case Wants::kNothing:
      break;
  }
  return "";
}

std::string text_of_several(const char* call, Win& win) {
  const std::string name = win.display_name();
  for (int target = 0; may_have_rest(win) && target < win.size(); ++target) {
    const std::string wanted = wanted_of(win, target);
    if (!wanted.empty())
      return fmt::format("{} on {}: waits for rank {}, {}", call, name, target, wanted);
  }
  return fmt::format("{} on {}", call, name);
}

}  // namespace

std::string TargetReason::text() const {
  if (target_ == MPI_PROC_NULL) return text_of_several(call_, win_);
  const rma::TargetLock& lock = win_.target(target_).lock;
  const int holder = lock.exclusive_holder();
  const auto shares = lock.shares();
  std::string held;
  if (holder >= 0)
    held = fmt::format(", held by rank {}", holder);
  else if (shares > 0)
    held = fmt::format(", shared by {} rank{}", shares, shares == 1 ? "" : "s");
  if (held.empty() && may_have_rest(win_)) {
    const std::string wanted = wanted_of(win_, target_);
    if (!wanted.empty()) held = ", " + wanted;
  }
  return fmt::format("{} of rank {}{}, {}", call_, target_, held, win_.display_name());
}

namespace {

class FenceReason final : public sched::WaitReason {
 public:
  FenceReason(const char* call, Win& win, nbc::direct::Team& team) noexcept
      : call_(call),
        win_(win),
        team_(team),
        epoch_(team.member(win.rank()).epoch + 1) {}
  std::string text() const override {
    return fmt::format("{} on {}: {} of {} members are there", call_,
                       win_.display_name(), team_.arrived(epoch_), team_.size());
  }

 private:
  const char* call_;
  Win& win_;
  nbc::direct::Team& team_;
  const uint64_t epoch_;
};

}  // namespace

namespace {

// A barrier of a window that spans processes.
struct FenceRoom final : Room {
  std::vector<rma::Access*> later;  // of members that have not waited
  void note_told() override {
    for (rma::Access* access : later) access->end_fence();
  }
};

}  // namespace

void fence_later(Win& win) {
  Comm& comm = win.comm();
  win.access.begin_fence();
  pass_by<FenceRoom>(comm.self(), meeting_key(MeetingKind::kBarrier, comm),
                     comm.members(),
                     [&](FenceRoom& room) { room.later.push_back(&win.access); });
}

void await_fence(const char* call, Win& win) {
  win.access.await_fence(TargetReason(call, win, MPI_PROC_NULL));
}

void meet_all(const char* call, Win& win) {
  if (win.size() == 1) return;
  Comm& comm = win.comm();
  if (!comm.is_in_one_process()) [[unlikely]] {
    meet<FenceRoom>(
        comm.self(), meeting_key(MeetingKind::kBarrier, comm), comm.members(),
        [](FenceRoom&) {}, call);
    return;
  }
  nbc::direct::Team& team = comm.team();
  const FenceReason reason(call, win, team);
  // All members call nothing but barriers on it, so nothing can differ.
  nbc::direct::run(team, win.rank(), win.self(), {}, reason);
}

}  // namespace mpc::mpi

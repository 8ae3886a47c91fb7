// Bodies of MPI-4.1 section 12.2: making windows, and their end.

#include <fmt/format.h>

#include <cstdlib>

#include "mpi/impl/rma.h"
#include "mpi/objects/comm_make.h"
#include "mpi/objects/meeting.h"
#include "mpi/rma/window.h"
#include "mpi/rma/window_hints.h"

namespace mpc::mpi {
namespace {

// Members bring their memory; the last one finds memory for all where that is wanted.
struct WindowRoom final : Room {
  std::shared_ptr<rma::WindowShare> share;
  bool is_shared = false, is_apart = false;
  bool has_memory = true;

  void visit(int members, int me, const rma::Memory& memory) {
    if (share == nullptr) share = std::make_shared<rma::WindowShare>(members);
    share->target(me).memory = memory;
  }
  void conclude(Ids&) override {
    if (is_shared) has_memory = share->allocate(is_apart);
  }
};

Err check_size(Count size, Count unit) {
  if (size < 0) return fail(MPI_ERR_SIZE, fmt::format("size {} is negative", size));
  if (unit <= 0)
    return fail(MPI_ERR_DISP,
                fmt::format("displacement unit {} is not positive", unit));
  return kSuccess;
}

Err check_processes(const Comm& comm) {
  if (comm.is_in_one_process()) [[likely]]
    return kSuccess;
  return fail(
      MPI_ERR_UNSUPPORTED_OPERATION,
      fmt::format("one-sided communication works within one process so far, and "
                  "the members of {} live in several: run the job without -p and "
                  "--ranks-per-process, or make the window over a communicator "
                  "whose members share a process",
                  comm.display_name()));
}

struct Plan {
  const char* call;
  int flavor;
  rma::Memory memory;
  Info* info;
};

// Collective: all members with the same flavor. *out is null if there was no memory for all of them.
void meet_and_make(const Plan& plan, Comm& comm, Win** out) {
  Comm* const own = duplicate_plain(comm);
  own->exempt();  // not the user's to free
  own->name = comm.display_name();
  const bool is_shared = plan.flavor == MPI_WIN_FLAVOR_SHARED;
  const bool is_apart =
      plan.info != nullptr && is_true(plan.info->hints, "alloc_shared_noncontig");
  auto room = meet<WindowRoom>(
      comm.self(), meeting_key(MeetingKind::kWindow, comm), comm.members(),
      [&](WindowRoom& r) {
        r.visit(comm.size(), comm.rank(), plan.memory);
        r.is_shared = is_shared;
        r.is_apart = r.is_apart || is_apart;
      },
      plan.call);
  *out = nullptr;
  if (!room->has_memory) return end_comm(own);
  Win* const win = new Win(*own, room->share, plan.flavor);
  set_default_hints(*win);
  if (plan.info != nullptr) keep_hints(*win, plan.info->hints);
  *out = win;
}

Err make(const Plan& plan, Comm& comm, MPI_Win* handle, Win** out = nullptr) {
  MPC_MPI_TRY(check_processes(comm));
  Win* win = nullptr;
  meet_and_make(plan, comm, &win);
  if (win == nullptr)
    return fail(MPI_ERR_NO_MEM,
                fmt::format("no memory for a shared window; this rank wants {} bytes",
                            plan.memory.bytes));
  *handle = win->handle();
  if (out != nullptr) *out = win;
  return kSuccess;
}

// Of its own, at least a cache line, so that parts of different ranks do not share one.
void* allocate(Count size) noexcept {
  constexpr Count kAddressSpace = Count{1} << 47;
  if (size >= kAddressSpace) return nullptr;
  const size_t bytes = (static_cast<size_t>(size) + 63) & ~size_t{63};
  return std::aligned_alloc(64, bytes == 0 ? 64 : bytes);
}

}  // namespace

namespace impl {

Err win_create(void* base, Count size, Count disp_unit, Info* info, Comm& comm,
               MPI_Win* win) {
  MPC_MPI_TRY(check_size(size, disp_unit));
  return make({"MPI_Win_create",
               MPI_WIN_FLAVOR_CREATE,
               {static_cast<char*>(base), size, disp_unit, false},
               info},
              comm, win);
}

Err win_allocate(Count size, Count disp_unit, Info* info, Comm& comm, void* baseptr,
                 MPI_Win* win) {
  MPC_MPI_TRY(check_size(size, disp_unit));
  MPC_MPI_TRY(check_processes(comm));
  void* const memory = allocate(size);
  if (memory == nullptr)
    return fail(MPI_ERR_NO_MEM, fmt::format("no memory for {} bytes", size));
  Win* made = nullptr;
  MPC_MPI_TRY(make({"MPI_Win_allocate",
                    MPI_WIN_FLAVOR_ALLOCATE,
                    {static_cast<char*>(memory), size, disp_unit, false},
                    info},
                   comm, win, &made));
  made->own_memory.reset(memory);
  *static_cast<void**>(baseptr) = memory;
  return kSuccess;
}

Err win_allocate_shared(Count size, Count disp_unit, Info* info, Comm& comm,
                        void* baseptr, MPI_Win* win) {
  MPC_MPI_TRY(check_size(size, disp_unit));
  Win* made = nullptr;
  MPC_MPI_TRY(make({"MPI_Win_allocate_shared",
                    MPI_WIN_FLAVOR_SHARED,
                    {nullptr, size, disp_unit, false},
                    info},
                   comm, win, &made));
  *static_cast<void**>(baseptr) = made->target(made->rank()).memory.base;
  return kSuccess;
}

Err win_create_dynamic(Info* info, Comm& comm, MPI_Win* win) {
  return make(
      {"MPI_Win_create_dynamic", MPI_WIN_FLAVOR_DYNAMIC, {nullptr, 0, 1, true}, info},
      comm, win);
}

Err win_free(HandleRef<Win, MPI_Win> ref) {
  Win& win = *ref.object;
  MPC_MPI_TRY(sync_error(win.access.before_free()));
  MPC_MPI_TRY(win.attributes.remove_all(win.handle()));
  meet_all("MPI_Win_free", win);  // nobody accesses this rank's memory any more
  *ref.handle = MPI_WIN_NULL;
  win.end();
  return kSuccess;
}

}  // namespace impl
}  // namespace mpc::mpi

// Bodies of MPI-4.1 section 12.2: creating and freeing windows.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "mpi/impl/rma.h"
#include "mpi/objects/comm_make.h"
#include "mpi/objects/meeting.h"
#include "mpi/objects/process_list.h"
#include "mpi/rma/window.h"
#include "mpi/rma/window_hints.h"
#include "runtime/job/host_map.h"
#include "runtime/job/job.h"
#include "runtime/rma/port.h"

namespace mpc::mpi {
namespace {

// Members bring their memory; the last one allocates memory for all if that is wanted. With
// several processes each process creates a share, and learns the displacement units of the members
// elsewhere. Memory for all is then a file that the first process has created.
struct WindowRoom final : Room {
  std::shared_ptr<rma::WindowShare> share;
  bool is_shared = false, is_apart = false;
  bool has_memory = true;
  mutable rma::SharedFile file;  // of the first process; closed when all have mapped it

  void visit(Comm& comm, const rma::Memory& memory) {
    if (share == nullptr) begin(comm);
    share->target(comm.rank()).memory = memory;
    here_.push_back(comm.rank());
  }

  void pack(ByteWriter& out) const override {
    if (is_shared && index == 0) (void)file.make();
    out.put(span_.window);
    out.put(is_apart);
    out.put(file.name());
    out.put(here_.size());
    for (const int member : here_) {
      const rma::Memory& memory = share->target(member).memory;
      out.put(member);
      out.put(memory.bytes);
      out.put(memory.unit);
      out.put(memory.addressing);
    }
  }
  void merge(ByteReader& in) override {
    // Each process has drawn a number; the window gets the smallest.
    span_.window = std::min(span_.window, in.get<uint64_t>());
    is_apart = in.get<bool>() || is_apart;
    const auto name = in.get<rma::SharedFile::Name>();
    if (name.descriptor >= 0) name_ = name;
    for (auto n = in.get<size_t>(); n > 0 && !in.has_failed(); --n) {
      rma::Memory& memory = share->target(in.get<int>()).memory;
      memory.bytes = in.get<Count>();
      memory.unit = in.get<Count>();
      memory.addressing = in.get<rma::Addressing>();
    }
  }
  void conclude(Ids&) override {
    const bool is_spanning = !span_.process.empty();
    if (is_spanning) {
      const int process = span_.here;
      const uint64_t window = span_.window;
      share->set_span(std::move(span_), [](const rma::Span& span) noexcept {
        rma::Port::of(span.here).remove_window(span.window);
      });
      rma::Port::of(process).add_window(window, share);
      if (name_.descriptor < 0) name_ = file.name();
    }
    if (is_shared)
      has_memory = share->allocate(is_apart, is_spanning ? &name_ : nullptr);
  }

 private:
  void begin(Comm& comm) {
    share = std::make_shared<rma::WindowShare>(comm.size());
    if (comm.is_in_one_process()) return;
    const job::ProcessMap& map = comm.self().job->processes();
    const ProcessList& list = *comm.members().processes;
    span_.here = list.process_of(map, comm.self().world_rank);
    span_.window = rma::Port::of(span_.here).new_window();
    for (const int world_rank : comm.world_ranks())
      span_.process.push_back(list.process_of(map, world_rank));
  }

  rma::Span span_;
  rma::SharedFile::Name name_;
  std::vector<int> here_;  // members of this process
};

// Finds out whether all have mapped the memory. All members know the window before any of them
// uses it.
struct ReadyRoom final : Room {
  bool is_ready = true;
  void pack(ByteWriter& out) const override { out.put(is_ready); }
  void merge(ByteReader& in) override { is_ready = in.get<bool>() && is_ready; }
};

Err check_size(Count size, Count unit) {
  if (size < 0) return fail(MPI_ERR_SIZE, fmt::format("size {} is negative", size));
  if (unit <= 0)
    return fail(MPI_ERR_DISP,
                fmt::format("displacement unit {} is not positive", unit));
  return kSuccess;
}

Err check_hosts(const Comm& comm) {
  if (comm.is_in_one_process()) [[likely]]
    return kSuccess;
  if (comm.spans_jobs())
    return fail(MPI_ERR_RMA_SHARED,
                fmt::format("the members of {} are of several jobs (MPI_Comm_accept, "
                            "MPI_Comm_connect), which share no memory: make one "
                            "communicator for each job (MPI_Comm_split_type)",
                            comm.display_name()));
  const job::ProcessMap& map = comm.self().job->processes();
  const job::HostMap& hosts = job::host_map();
  const auto host_of = [&](int rank) { return hosts.host_of(map.process_of(rank)); };
  const auto other = std::ranges::find_if(comm.world_ranks(), [&](int rank) {
    return host_of(rank) != host_of(comm.self().world_rank);
  });
  if (other == comm.world_ranks().end()) return kSuccess;
  return fail(MPI_ERR_RMA_SHARED,
              fmt::format("the members of {} live on several hosts (rank {} of "
                          "MPI_COMM_WORLD on another one), which share no memory: make "
                          "one communicator for each host (MPI_Comm_split_type)",
                          comm.display_name(), *other));
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
  own->exempt();  // the user need not free it
  own->name = comm.display_name();
  const bool is_shared = plan.flavor == MPI_WIN_FLAVOR_SHARED;
  const bool is_apart =
      plan.info != nullptr && is_true(plan.info->hints, "alloc_shared_noncontig");
  auto room = meet<WindowRoom>(
      comm.self(), meeting_key(MeetingKind::kWindow, comm), comm.members(),
      [&](WindowRoom& r) {
        r.visit(comm, plan.memory);
        r.is_shared = is_shared;
        r.is_apart = r.is_apart || is_apart;
      },
      plan.call);
  *out = nullptr;
  bool is_ready = room->has_memory;
  if (!comm.is_in_one_process()) [[unlikely]] {
    is_ready = meet<ReadyRoom>(
                   comm.self(), meeting_key(MeetingKind::kWindow, comm), comm.members(),
                   [&](ReadyRoom& r) { r.is_ready = r.is_ready && room->has_memory; },
                   plan.call)
                   ->is_ready;
  }
  if (!is_ready) return end_comm(own);
  Win* const win = new Win(*own, room->share, plan.flavor);
  set_default_hints(*win);
  if (plan.info != nullptr) keep_hints(*win, plan.info->hints);
  *out = win;
}

Err make(const Plan& plan, Comm& comm, MPI_Win* handle, Win** out = nullptr) {
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

// Allocates whole cache lines, at least one, so that parts of different ranks do not share a line.
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
               {static_cast<char*>(base), size, disp_unit},
               info},
              comm, win);
}

Err win_allocate(Count size, Count disp_unit, Info* info, Comm& comm, void* baseptr,
                 MPI_Win* win) {
  MPC_MPI_TRY(check_size(size, disp_unit));
  void* const memory = allocate(size);
  if (memory == nullptr)
    return fail(MPI_ERR_NO_MEM, fmt::format("no memory for {} bytes", size));
  Win* made = nullptr;
  MPC_MPI_TRY(make({"MPI_Win_allocate",
                    MPI_WIN_FLAVOR_ALLOCATE,
                    {static_cast<char*>(memory), size, disp_unit},
                    info},
                   comm, win, &made));
  made->own_memory.reset(memory);
  *static_cast<void**>(baseptr) = memory;
  return kSuccess;
}

Err win_allocate_shared(Count size, Count disp_unit, Info* info, Comm& comm,
                        void* baseptr, MPI_Win* win) {
  MPC_MPI_TRY(check_size(size, disp_unit));
  MPC_MPI_TRY(check_hosts(comm));
  Win* made = nullptr;
  MPC_MPI_TRY(make({"MPI_Win_allocate_shared",
                    MPI_WIN_FLAVOR_SHARED,
                    {nullptr, size, disp_unit},
                    info},
                   comm, win, &made));
  *static_cast<void**>(baseptr) = made->target(made->rank()).memory.base;
  return kSuccess;
}

Err win_create_dynamic(Info* info, Comm& comm, MPI_Win* win) {
  return make({"MPI_Win_create_dynamic",
               MPI_WIN_FLAVOR_DYNAMIC,
               {nullptr, 0, 1, rma::Addressing::kDynamic},
               info},
              comm, win);
}

Err win_free(HandleRef<Win, MPI_Win> ref) {
  Win& win = *ref.object;
  end_coming_fence("MPI_Win_free", win);
  MPC_MPI_TRY(sync_error(win.access.before_free()));
  MPC_MPI_TRY(win.attributes.remove_all(win.handle()));
  win.access.finish_all(false, TargetReason("MPI_Win_free", win, MPI_PROC_NULL));
  meet_all("MPI_Win_free", win);  // no rank accesses this rank's memory any more
  *ref.handle = MPI_WIN_NULL;
  win.end();
  return kSuccess;
}

}  // namespace impl
}  // namespace mpc::mpi

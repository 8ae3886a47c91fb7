#include "mpi/coll/bridged.h"

#include <fmt/format.h>

#include "mpi/coll/bridge.h"
#include "mpi/coll/direct_common.h"
#include "nbc/direct/host_meeting.h"
#include "runtime/datatype/reduce.h"
#include "runtime/job/wait_partner.h"

#include "mpi/impl/collective.h"

namespace mpc::mpi {
namespace {

using nbc::direct::HostMeeting;

// What a rank waits for that is the first of its process.
class MeetingReason final : public sched::WaitReason {
 public:
  MeetingReason(const char* call, const Comm& comm, const HostMeeting& meeting) noexcept
      : call_(call), comm_(comm), meeting_(meeting) {}
  std::string text() const override {
    return fmt::format("{} on {}: {} of {} processes are there", call_,
                       comm_.display_name(), meeting_.arrived(), meeting_.processes());
  }
  std::span<const int> members() const noexcept { return comm_.world_ranks(); }

 private:
  const char* call_;
  const Comm& comm_;
  const HostMeeting& meeting_;
};

bool explain(const sched::WaitReason& reason, job::WaitPartner& partner) {
  const auto* meeting = dynamic_cast<const MeetingReason*>(&reason);
  if (meeting != nullptr) partner.members = meeting->members();
  return meeting != nullptr;
}

[[gnu::constructor]] void register_source() { job::add_partner_source(explain); }

Err meet(Comm& comm, HostMeeting& meeting, const nbc::direct::Call& call,
         const char* name) {
  const MeetingReason reason(name, comm, meeting);
  return error_of_outcome(meeting.meet(comm.self(), call, reason), name);
}

// A reduction between processes in memory that they share. False: they send messages.
bool describe(nbc::direct::Call& call, const void* sendbuf, void* recvbuf,
              dt::Count count, const dt::Datatype& type, const Op& op) {
  call.coll = nbc::Coll::kAllreduce;
  call.op_code = static_cast<uint8_t>(op.code());
  call.send = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
  call.recv = recvbuf;
  call.count = count;
  call.element_bytes = static_cast<size_t>(type.size());
  return op.is_predefined() && type.is_predefined() && type.is_contiguous() &&
         type.size() > 0 && call.bytes() <= HostMeeting::kMostBytes &&
         describe_operation(call.op, type, op);
}

}  // namespace

std::optional<Err> bridged_barrier(Comm& comm) {
  constexpr const char* kName = "MPI_Barrier";
  Bridge* const bridge = bridge_of(comm, kName);
  if (bridge == nullptr) return {};
  if (bridge->inside == nullptr) return meet(comm, *bridge->meeting, {}, kName);
  MPC_MPI_TRY(impl::barrier(*bridge->inside));
  Err between = kSuccess;
  if (bridge->meeting != nullptr) {
    between = meet(comm, *bridge->meeting, {}, kName);
  } else if (bridge->between != nullptr) {
    between = impl::barrier(*bridge->between);
  }
  // Even after an error: the other members of this process wait for this one.
  MPC_MPI_TRY(impl::barrier(*bridge->inside));
  return between;
}

std::optional<Err> bridged_allreduce(const void* sendbuf, void* recvbuf,
                                     dt::Count count, TypeArg type, Op& op,
                                     Comm& comm) {
  constexpr const char* kName = "MPI_Allreduce";
  // Otherwise members of a process may not be combined first.
  if (!op.commutes()) return {};
  Bridge* const bridge = bridge_of(comm, kName);
  if (bridge == nullptr) return {};
  nbc::direct::Call call;
  if (bridge->inside == nullptr) {
    if (!describe(call, sendbuf, recvbuf, count, *type, op)) return {};
    return meet(comm, *bridge->meeting, call, kName);
  }
  MPC_MPI_TRY(impl::allreduce(sendbuf, recvbuf, count, type, op, *bridge->inside));
  Err between = kSuccess;
  if (bridge->meeting != nullptr &&
      describe(call, MPI_IN_PLACE, recvbuf, count, *type, op)) {
    between = meet(comm, *bridge->meeting, call, kName);
  } else if (bridge->between != nullptr) {
    between = impl::allreduce(MPI_IN_PLACE, recvbuf, count, type, op, *bridge->between);
  }
  MPC_MPI_TRY(impl::bcast(recvbuf, count, &*type, 0, *bridge->inside));
  return between;
}

}  // namespace mpc::mpi

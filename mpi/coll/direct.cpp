#include "mpi/coll/direct.h"

#include <fmt/format.h>

#include "mpi/coll/bridged.h"
#include "mpi/coll/direct_choice.h"
#include "mpi/coll/direct_common.h"
#include "mpi/objects/wait_reasons.h"
#include "nbc/direct/direct.h"
#include "runtime/datatype/reduce.h"
#include "runtime/job/wait_partner.h"

namespace mpc::mpi {
namespace {

using nbc::direct::Team;

// What a rank waits for in a blocking collective without messages.
class TeamReason final : public sched::WaitReason {
 public:
  TeamReason(const char* call, const Comm& comm, Team& team) noexcept
      : call_(call),
        comm_(comm),
        team_(team),
        exchange_(team.member(comm.rank()).exchanges + 1) {}
  std::string text() const override {
    return fmt::format("{} on {}: {} of {} members are there", call_,
                       comm_.display_name(), team_.arrived(exchange_), team_.size());
  }
  std::span<const int> members() const noexcept { return comm_.world_ranks(); }

 private:
  const char* call_;
  const Comm& comm_;
  Team& team_;
  const uint64_t exchange_;
};

bool explain(const sched::WaitReason& reason, job::WaitPartner& partner) {
  const auto* team = dynamic_cast<const TeamReason*>(&reason);
  if (team != nullptr) partner.members = team->members();
  return team != nullptr;
}

[[gnu::constructor]] void register_source() { job::add_partner_source(explain); }

// In one piece with its callers, for the sake of small data.
[[gnu::always_inline]] inline Err run(const char* name, Comm& comm, Team& team,
                                      const nbc::direct::Call& call) {
  const TeamReason reason(name, comm, team);
  return error_of_outcome(
      nbc::direct::run(team, comm.rank(), comm.self(), call, reason), name);
}

}  // namespace

bool describe_operation(nbc::direct::Operation& out, const dt::Datatype& type,
                        const Op& op) {
  if (!op.is_reduction()) return false;
  out.kernel = dt::reduction(op.code(), type.abi_code());
  out.kernel3 = dt::reduction3(op.code(), type.abi_code());
  return out.kernel != nullptr;
}

std::optional<Err> direct_barrier(Comm& comm) {
  if (!may_go_direct(comm))
    return is_direct_on() ? bridged_barrier(comm) : std::nullopt;
  static constexpr nbc::direct::Call kNothing;
  return run("MPI_Barrier", comm, comm.team(), kNothing);
}

namespace {

bool meets(Comm& comm, nbc::Coll coll, const void* sendbuf) {
  const bool is_in_place = sendbuf == MPI_IN_PLACE;
  return may_go_direct(comm) &&
         direct_way(comm.team(), {coll, 0, is_in_place}) == Way::kMeeting;
}

// Fills in the parts of a call that all reductions have. False: the call uses its schedule.
[[gnu::always_inline]] inline bool describe_reduction(nbc::direct::Call& call,
                                                      Team& team, const void* sendbuf,
                                                      void* recvbuf, dt::Count count,
                                                      TypeArg type, Op& op) {
  const DirectAsk ask{call.coll,
                      static_cast<size_t>(count) * static_cast<size_t>(type->size()),
                      sendbuf == MPI_IN_PLACE, type.type, op.commutes()};
  if (direct_way(team, ask) != Way::kMeeting) return false;
  call.op_code = static_cast<uint8_t>(op.code());
  call.send = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
  call.recv = recvbuf;
  call.count = count;
  call.element_bytes = static_cast<size_t>(type->size());
  if (!op.is_predefined()) return true;  // see run_reduction()
  return describe_operation(call.op, *type, op);
}

[[gnu::noinline]] Err run_user_reduction(const char* name, Comm& comm,
                                         nbc::direct::Call& call, TypeArg type,
                                         Op& op) {
  BoundOp bound;
  MPC_MPI_TRY(bound.bind(op, *type, type.handle));
  call.op.apply = BoundOp::apply_alone;
  call.op.context = &bound;
  return run(name, comm, comm.team(), call);
}

[[gnu::always_inline]] inline Err run_reduction(const char* name, Comm& comm,
                                                nbc::direct::Call& call, TypeArg type,
                                                Op& op) {
  return op.is_predefined() ? run(name, comm, comm.team(), call)
                            : run_user_reduction(name, comm, call, type, op);
}

}  // namespace

std::optional<Err> direct_allreduce(const void* sendbuf, void* recvbuf, dt::Count count,
                                    TypeArg type, Op& op, Comm& comm) {
  if (!may_go_direct(comm))
    return is_direct_on() && count != 0
               ? bridged_allreduce(sendbuf, recvbuf, count, type, op, comm)
               : std::nullopt;
  nbc::direct::Call call;
  call.coll = nbc::Coll::kAllreduce;
  if (!describe_reduction(call, comm.team(), sendbuf, recvbuf, count, type, op))
    return {};
  return run_reduction("MPI_Allreduce", comm, call, type, op);
}

std::optional<Err> direct_reduce_scatter_block(const void* sendbuf, void* recvbuf,
                                               dt::Count count, TypeArg type, Op& op,
                                               Comm& comm) {
  if (!may_go_direct(comm)) return {};
  nbc::direct::Call call;
  call.coll = nbc::Coll::kReduceScatterBlock;
  const dt::Count all = count * comm.size();
  if (!describe_reduction(call, comm.team(), sendbuf, recvbuf, all, type, op))
    return {};
  return run_reduction("MPI_Reduce_scatter_block", comm, call, type, op);
}

namespace {

struct PartsCall final : nbc::direct::Call {
  explicit PartsCall(const CountView& parts) : counts(parts) {
    coll = nbc::Coll::kReduceScatter;
    part = [](const nbc::direct::Call& call, int member) -> dt::Count {
      return static_cast<const PartsCall&>(call).counts[static_cast<size_t>(member)];
    };
  }
  const CountView& counts;
};

}  // namespace

std::optional<Err> direct_reduce_scatter(const void* sendbuf, void* recvbuf,
                                         CountView recvcounts, TypeArg type, Op& op,
                                         Comm& comm) {
  if (!may_go_direct(comm)) return {};
  dt::Count all = 0;
  for (size_t i = 0; i < recvcounts.size(); ++i) all += recvcounts[i];
  PartsCall call(recvcounts);
  if (!describe_reduction(call, comm.team(), sendbuf, recvbuf, all, type, op))
    return {};
  return run_reduction("MPI_Reduce_scatter", comm, call, type, op);
}

// ---- exchanges ---------------------------------------------------------------------------

namespace {

using nbc::direct::Block;

// The base may be MPI_BOTTOM, a null pointer.
void* shifted(void* base, dt::Count bytes) noexcept {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(base) +
                                 static_cast<uintptr_t>(bytes));
}

// One side of an exchange with blocks of equal counts.
struct Side {
  void* buffer;
  dt::Count count;
  const dt::Datatype* type;

  dt::Count step() const noexcept { return count * type->extent(); }
  Block block(int i) const noexcept {
    return {shifted(buffer, step() * i), count, type};
  }
  size_t bytes() const noexcept {
    return static_cast<size_t>(count) * static_cast<size_t>(type->size());
  }
};

Side side(const void* buffer, dt::Count count, const dt::Datatype* type) noexcept {
  return {const_cast<void*>(buffer), count, type};
}

// Both sides have blocks of equal counts.
struct EvenCall final : nbc::direct::Call {
  EvenCall(nbc::Coll which, const Side& from, const Side& to) noexcept
      : out(from), in(to) {
    coll = which;
    const bool sends_one = which == nbc::Coll::kAllgather;
    send = from.buffer;
    is_send_plain = from.type->is_contiguous();
    send_block = from.bytes();
    send_step = sends_one ? 0 : from.step();
    block_to = [](const Call& call, int member) {
      const auto& self = static_cast<const EvenCall&>(call);
      return self.out.block(self.coll == nbc::Coll::kAllgather ? 0 : member);
    };
    recv = to.buffer;
    is_recv_plain = to.type->is_contiguous();
    recv_block = to.bytes();
    recv_step = to.step();
    block_from = [](const Call& call, int member) {
      return static_cast<const EvenCall&>(call).in.block(member);
    };
  }
  Side out, in;
};

// Receives blocks of different counts; sends one block, or blocks of different counts.
struct UnevenCall final : nbc::direct::Call {
  UnevenCall(nbc::Coll which, void* recvbuf, const CountView& counts,
             const CountView& displs, const dt::Datatype& type) noexcept
      : recv_counts(counts), recv_displs(displs), recv_type(type) {
    coll = which;
    recv = recvbuf;
    block_from = [](const Call& call, int member) {
      return static_cast<const UnevenCall&>(call).incoming(member);
    };
    block_to = [](const Call& call, int member) {
      const auto& self = static_cast<const UnevenCall&>(call);
      return self.send_counts != nullptr ? self.outgoing(member) : self.one;
    };
  }
  Block incoming(int member) const noexcept {
    const auto i = static_cast<size_t>(member);
    return {shifted(recv, recv_displs[i] * recv_type.extent()), recv_counts[i],
            &recv_type};
  }
  Block outgoing(int member) const noexcept {
    const auto i = static_cast<size_t>(member);
    return {shifted(one.data, (*send_displs)[i] * one.type->extent()),
            (*send_counts)[i], one.type};
  }
  const CountView& recv_counts;
  const CountView& recv_displs;
  const dt::Datatype& recv_type;
  Block one;  // the block that an allgatherv sends; alltoallv: buffer and type
  const CountView* send_counts = nullptr;
  const CountView* send_displs = nullptr;
};

}  // namespace

std::optional<Err> direct_allgather(const void* sendbuf, dt::Count sendcount,
                                    const dt::Datatype* sendtype, void* recvbuf,
                                    dt::Count recvcount, const dt::Datatype& recvtype,
                                    Comm& comm) {
  if (!meets(comm, nbc::Coll::kAllgather, sendbuf)) return {};
  const Side in = side(recvbuf, recvcount, &recvtype);
  Side out = side(sendbuf, sendcount, sendtype);
  if (sendbuf == MPI_IN_PLACE) {
    out = in;
    out.buffer = in.block(comm.rank()).data;
  }
  const EvenCall call(nbc::Coll::kAllgather, out, in);
  return run("MPI_Allgather", comm, comm.team(), call);
}

std::optional<Err> direct_alltoall(const void* sendbuf, dt::Count sendcount,
                                   const dt::Datatype* sendtype, void* recvbuf,
                                   dt::Count recvcount, const dt::Datatype& recvtype,
                                   Comm& comm) {
  if (!meets(comm, nbc::Coll::kAlltoall, sendbuf)) return {};
  const EvenCall call(nbc::Coll::kAlltoall, side(sendbuf, sendcount, sendtype),
                      side(recvbuf, recvcount, &recvtype));
  return run("MPI_Alltoall", comm, comm.team(), call);
}

std::optional<Err> direct_allgatherv(const void* sendbuf, dt::Count sendcount,
                                     const dt::Datatype* sendtype, void* recvbuf,
                                     CountView recvcounts, CountView displs,
                                     const dt::Datatype& recvtype, Comm& comm) {
  if (!meets(comm, nbc::Coll::kAllgatherv, sendbuf)) return {};
  UnevenCall call(nbc::Coll::kAllgatherv, recvbuf, recvcounts, displs, recvtype);
  call.one = sendbuf == MPI_IN_PLACE
                 ? call.incoming(comm.rank())
                 : Block{const_cast<void*>(sendbuf), sendcount, sendtype};
  return run("MPI_Allgatherv", comm, comm.team(), call);
}

std::optional<Err> direct_alltoallv(const void* sendbuf, CountView sendcounts,
                                    CountView sdispls, const dt::Datatype* sendtype,
                                    void* recvbuf, CountView recvcounts,
                                    CountView rdispls, const dt::Datatype& recvtype,
                                    Comm& comm) {
  if (!meets(comm, nbc::Coll::kAlltoallv, sendbuf)) return {};
  UnevenCall call(nbc::Coll::kAlltoallv, recvbuf, recvcounts, rdispls, recvtype);
  call.one = {const_cast<void*>(sendbuf), 0, sendtype};
  call.send_counts = &sendcounts;
  call.send_displs = &sdispls;
  return run("MPI_Alltoallv", comm, comm.team(), call);
}

}  // namespace mpc::mpi

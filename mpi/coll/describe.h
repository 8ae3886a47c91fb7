#pragma once
// Describe: from the arguments of a collective call to what its schedule is found by.
//
// Role:      each collective is described once, as an nbc::Shape with its buffers, types and
//            operation; blocking, non-blocking and persistent calls use the same description.
// Users:     mpi/coll: forms.h, and the generated functions of forms.cpp.
// Threads:   any execution of the rank.
// See also:  mpi/coll/forms.h, docs/collectives.md.

#include <span>
#include <vector>

#include "mpi/objects/comm.h"
#include "mpi/objects/op.h"
#include "mpi/objects/request.h"
#include "mpi/objects/views.h"
#include "nbc/algorithms/collectives.h"

namespace mpc::mpi::impl {

using nbc::Coll;

// The arrays of counts and displacements that a call may have.
enum CountSlot { kRecvCounts, kRecvDispls, kSendCounts, kSendDispls, kCountSlots };

// One collective call: what the schedule is found by, and what it is bound to.
struct Call final : CollectiveState {
  explicit Call(Comm& communicator, Coll coll) noexcept : comm(communicator) {
    shape.coll = coll;
    shape.rank = comm.rank();
    shape.size = comm.size();
    shape.place_of_rank = comm.places();
    shape.is_in_one_process = comm.is_in_one_process();
    if (!shape.is_in_one_process) [[unlikely]]
      shape.homes = comm.homes();
    else if (coll == Coll::kAlltoall)
      shape.workers = comm.workers();
  }

  Comm& comm;
  nbc::Shape shape;
  void* buffers[2] = {nullptr, nullptr};
  const dt::Datatype* pair[2] = {nullptr, nullptr};  // most collectives bind two types
  std::vector<const dt::Datatype*> many_types;       // w forms
  BoundOp op;
  dt::TypeRef kept_pair[2];             // non-blocking calls outlive the handles
  std::vector<dt::TypeRef> kept_types;  // of w forms
  // Storage behind the shape's spans.
  std::vector<Count> counts[kCountSlots];
  std::vector<nbc::TypeShape> type_shapes[2];
  std::vector<int> neighbours[2];

  // --- parts of descriptions ---------------------------------------------------------------
  void send_side(const void* buffer, Count count, const dt::Datatype* type) {
    buffers[0] = const_cast<void*>(buffer);
    shape.send_count = count;
    if (type != nullptr) {
      pair[0] = type;
      shape.send_type = nbc::TypeShape(*type);
    }
  }
  void recv_side(void* buffer, Count count, const dt::Datatype* type) {
    buffers[1] = buffer;
    shape.recv_count = count;
    if (type != nullptr) {
      pair[1] = type;
      shape.recv_type = nbc::TypeShape(*type);
    }
  }
  // MPI_IN_PLACE was given for the send buffer.
  void in_place() {
    shape.is_in_place = true;
    buffers[0] = nullptr;
    pair[0] = nullptr;
    shape.send_count = 0;
    shape.send_type = {};
  }
  std::span<const Count> keep(CountSlot which, const CountView& view) {
    std::vector<Count>& out = counts[which];
    out.resize(view.size());
    for (size_t i = 0; i < view.size(); ++i) out[i] = view[i];
    return out;
  }
  // Reductions have both buffers, one count and one type.
  Err reduction(const void* sendbuf, void* recvbuf, Count count, TypeArg type,
                Op& operation) {
    send_side(sendbuf, count, type.type);
    recv_side(recvbuf, count, type.type);
    if (sendbuf == MPI_IN_PLACE) {
      shape.is_in_place = true;
      buffers[0] = nullptr;
    }
    shape.is_commutative = operation.commutes();
    return op.bind(operation, *type, type.handle);
  }

  std::span<const dt::Datatype* const> types() const noexcept {
    if (!many_types.empty()) return many_types;
    return pair;
  }
  void keep_types() {
    for (int i = 0; i < 2; ++i) kept_pair[i] = dt::TypeRef(pair[i]);
    for (const dt::Datatype* type : many_types) {
      if (type != nullptr) kept_types.emplace_back(type);
    }
  }
  nbc::Binding binding(int tag_base) noexcept {
    nbc::Binding out;
    out.buffers = buffers;
    out.types = types();
    out.reduction = op.reduction();
    out.world_ranks = comm.peers();  // on an intercommunicator: the other group
    out.my_rank = comm.rank();
    out.context = comm.collective_context();
    out.tag_base = tag_base;
    // All members of a broadcast give the same amount of data; nothing is done for less of it.
    out.needs_whole_messages = shape.coll == Coll::kBcast;
    return out;
  }
};

// --- descriptions, named in mpi/api/functions ("describe") ------------------------------------
// Arguments are those of the MPI function without its communicator. Errors: of the operation
// (MPI_ERR_OP) or of the topology (MPI_ERR_TOPOLOGY).
Err barrier_call(Call&);
Err bcast_call(Call& c, void* buffer, Count count, const dt::Datatype* type, int root);
Err gather_call(Call& c, const void* sendbuf, Count sendcount,
                const dt::Datatype* sendtype, void* recvbuf, Count recvcount,
                const dt::Datatype* recvtype, int root);
Err gatherv_call(Call& c, const void* sendbuf, Count sendcount,
                 const dt::Datatype* sendtype, void* recvbuf,
                 const CountView& recvcounts, const CountView& displs,
                 const dt::Datatype* recvtype, int root);
Err scatter_call(Call& c, const void* sendbuf, Count sendcount,
                 const dt::Datatype* sendtype, void* recvbuf, Count recvcount,
                 const dt::Datatype* recvtype, int root);
Err scatterv_call(Call& c, const void* sendbuf, const CountView& sendcounts,
                  const CountView& displs, const dt::Datatype* sendtype, void* recvbuf,
                  Count recvcount, const dt::Datatype* recvtype, int root);
Err allgather_call(Call& c, const void* sendbuf, Count sendcount,
                   const dt::Datatype* sendtype, void* recvbuf, Count recvcount,
                   const dt::Datatype& recvtype);
Err allgatherv_call(Call& c, const void* sendbuf, Count sendcount,
                    const dt::Datatype* sendtype, void* recvbuf,
                    const CountView& recvcounts, const CountView& displs,
                    const dt::Datatype& recvtype);
Err alltoallv_call(Call& c, const void* sendbuf, const CountView& sendcounts,
                   const CountView& sdispls, const dt::Datatype* sendtype,
                   void* recvbuf, const CountView& recvcounts, const CountView& rdispls,
                   const dt::Datatype& recvtype);
Err alltoallw_call(Call& c, const void* sendbuf, const CountView& sendcounts,
                   const CountView& sdispls, const TypeView& sendtypes, void* recvbuf,
                   const CountView& recvcounts, const CountView& rdispls,
                   const TypeView& recvtypes);
Err reduce_call(Call& c, const void* sendbuf, void* recvbuf, Count count, TypeArg type,
                Op* op, int root);
Err allreduce_call(Call& c, const void* sendbuf, void* recvbuf, Count count,
                   TypeArg type, Op& op);
Err reduce_scatter_call(Call& c, const void* sendbuf, void* recvbuf,
                        const CountView& recvcounts, TypeArg type, Op& op);
Err neighbor_allgather_call(Call& c, const void* sendbuf, Count sendcount,
                            const dt::Datatype& sendtype, void* recvbuf,
                            Count recvcount, const dt::Datatype& recvtype);
Err neighbor_allgatherv_call(Call& c, const void* sendbuf, Count sendcount,
                             const dt::Datatype& sendtype, void* recvbuf,
                             const CountView& recvcounts, const CountView& displs,
                             const dt::Datatype& recvtype);
Err neighbor_alltoallv_call(Call& c, const void* sendbuf, const CountView& sendcounts,
                            const CountView& sdispls, const dt::Datatype& sendtype,
                            void* recvbuf, const CountView& recvcounts,
                            const CountView& rdispls, const dt::Datatype& recvtype);
Err neighbor_alltoallw_call(Call& c, const void* sendbuf, const CountView& sendcounts,
                            const CountView& sdispls, const TypeView& sendtypes,
                            void* recvbuf, const CountView& recvcounts,
                            const CountView& rdispls, const TypeView& recvtypes);

}  // namespace mpc::mpi::impl

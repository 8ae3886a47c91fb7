#include "mpi/coll/describe.h"

#include "mpi/objects/topology.h"
#include "nbc/algorithms/inter.h"

namespace mpc::mpi::impl {

static_assert(nbc::kIsRoot == MPI_ROOT && nbc::kNoPart == MPI_PROC_NULL);
namespace {

bool is_root(const Comm& comm, int root) noexcept {
  return comm.is_inter() ? root == MPI_ROOT : comm.rank() == root;
}

}  // namespace

// --- descriptions ---------------------------------------------------------------------------

Err barrier_call(Call&) { return kSuccess; }

Err bcast_call(Call& c, void* buffer, Count count, const dt::Datatype* type, int root) {
  c.shape.root = root;
  c.recv_side(buffer, count, type);
  return kSuccess;
}

Err gather_call(Call& c, const void* sendbuf, Count sendcount,
                const dt::Datatype* sendtype, void* recvbuf, Count recvcount,
                const dt::Datatype* recvtype, int root) {
  c.shape.root = root;
  c.send_side(sendbuf, sendcount, sendtype);
  if (is_root(c.comm, root)) {
    c.recv_side(recvbuf, recvcount, recvtype);
    if (sendbuf == MPI_IN_PLACE) c.in_place();
  }
  return kSuccess;
}

Err gatherv_call(Call& c, const void* sendbuf, Count sendcount,
                 const dt::Datatype* sendtype, void* recvbuf,
                 const CountView& recvcounts, const CountView& displs,
                 const dt::Datatype* recvtype, int root) {
  c.shape.root = root;
  c.send_side(sendbuf, sendcount, sendtype);
  if (is_root(c.comm, root)) {
    c.recv_side(recvbuf, 0, recvtype);
    c.shape.recv_counts = c.keep(kRecvCounts, recvcounts);
    c.shape.recv_displs = c.keep(kRecvDispls, displs);
    if (sendbuf == MPI_IN_PLACE) c.in_place();
  }
  return kSuccess;
}

Err scatter_call(Call& c, const void* sendbuf, Count sendcount,
                 const dt::Datatype* sendtype, void* recvbuf, Count recvcount,
                 const dt::Datatype* recvtype, int root) {
  c.shape.root = root;
  if (is_root(c.comm, root)) c.send_side(sendbuf, sendcount, sendtype);
  if (recvbuf == MPI_IN_PLACE && is_root(c.comm, root)) {
    c.shape.is_in_place = true;
  } else {
    c.recv_side(recvbuf, recvcount, recvtype);
  }
  return kSuccess;
}

Err scatterv_call(Call& c, const void* sendbuf, const CountView& sendcounts,
                  const CountView& displs, const dt::Datatype* sendtype, void* recvbuf,
                  Count recvcount, const dt::Datatype* recvtype, int root) {
  c.shape.root = root;
  if (is_root(c.comm, root)) {
    c.send_side(sendbuf, 0, sendtype);
    c.shape.send_counts = c.keep(kSendCounts, sendcounts);
    c.shape.send_displs = c.keep(kSendDispls, displs);
  }
  if (recvbuf == MPI_IN_PLACE && is_root(c.comm, root)) {
    c.shape.is_in_place = true;
  } else {
    c.recv_side(recvbuf, recvcount, recvtype);
  }
  return kSuccess;
}

Err allgather_call(Call& c, const void* sendbuf, Count sendcount,
                   const dt::Datatype* sendtype, void* recvbuf, Count recvcount,
                   const dt::Datatype& recvtype) {
  c.send_side(sendbuf, sendcount, sendtype);
  c.recv_side(recvbuf, recvcount, &recvtype);
  if (sendbuf == MPI_IN_PLACE) c.in_place();
  return kSuccess;
}

Err allgatherv_call(Call& c, const void* sendbuf, Count sendcount,
                    const dt::Datatype* sendtype, void* recvbuf,
                    const CountView& recvcounts, const CountView& displs,
                    const dt::Datatype& recvtype) {
  c.send_side(sendbuf, sendcount, sendtype);
  c.recv_side(recvbuf, 0, &recvtype);
  c.shape.recv_counts = c.keep(kRecvCounts, recvcounts);
  c.shape.recv_displs = c.keep(kRecvDispls, displs);
  if (sendbuf == MPI_IN_PLACE) c.in_place();
  return kSuccess;
}

Err alltoallv_call(Call& c, const void* sendbuf, const CountView& sendcounts,
                   const CountView& sdispls, const dt::Datatype* sendtype,
                   void* recvbuf, const CountView& recvcounts, const CountView& rdispls,
                   const dt::Datatype& recvtype) {
  c.recv_side(recvbuf, 0, &recvtype);
  c.shape.recv_counts = c.keep(kRecvCounts, recvcounts);
  c.shape.recv_displs = c.keep(kRecvDispls, rdispls);
  if (sendbuf == MPI_IN_PLACE) {
    c.in_place();
  } else {
    c.send_side(sendbuf, 0, sendtype);
    c.shape.send_counts = c.keep(kSendCounts, sendcounts);
    c.shape.send_displs = c.keep(kSendDispls, sdispls);
  }
  return kSuccess;
}

namespace {

// Enters the `types` of one side of a w form into the bound types and the shape.
std::span<const nbc::TypeShape> keep_types_of(Call& c, int side, const TypeView& types,
                                              size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const dt::Datatype& type = types[i];
    c.many_types.push_back(&type);
    c.type_shapes[side].emplace_back(type);
  }
  return c.type_shapes[side];
}

}  // namespace

Err alltoallw_call(Call& c, const void* sendbuf, const CountView& sendcounts,
                   const CountView& sdispls, const TypeView& sendtypes, void* recvbuf,
                   const CountView& recvcounts, const CountView& rdispls,
                   const TypeView& recvtypes) {
  const auto n = static_cast<size_t>(c.comm.remote_size());
  c.buffers[1] = recvbuf;
  if (sendbuf == MPI_IN_PLACE) {
    c.shape.is_in_place = true;
    c.many_types.assign(n, nullptr);
  } else {
    c.buffers[0] = const_cast<void*>(sendbuf);
    c.shape.send_counts = c.keep(kSendCounts, sendcounts);
    c.shape.send_displs = c.keep(kSendDispls, sdispls);
    c.shape.send_types = keep_types_of(c, 0, sendtypes, n);
  }
  c.shape.recv_counts = c.keep(kRecvCounts, recvcounts);
  c.shape.recv_displs = c.keep(kRecvDispls, rdispls);
  c.shape.recv_types = keep_types_of(c, 1, recvtypes, n);
  return kSuccess;
}

Err reduce_call(Call& c, const void* sendbuf, void* recvbuf, Count count, TypeArg type,
                Op* op, int root) {
  c.shape.root = root;
  if (root == MPI_PROC_NULL) return kSuccess;  // nothing else is significant
  return c.reduction(sendbuf, recvbuf, count, type, *op);
}

Err allreduce_call(Call& c, const void* sendbuf, void* recvbuf, Count count,
                   TypeArg type, Op& op) {
  return c.reduction(sendbuf, recvbuf, count, type, op);
}

Err reduce_scatter_call(Call& c, const void* sendbuf, void* recvbuf,
                        const CountView& recvcounts, TypeArg type, Op& op) {
  const Err error = c.reduction(sendbuf, recvbuf, 0, type, op);
  c.shape.recv_counts = c.keep(kRecvCounts, recvcounts);
  return error;
}

// --- neighbourhoods ---------------------------------------------------------------------------

namespace {

Err bind_neighbours(Call& c) {
  Neighbours found;
  if (const Err error = mpi::neighbours_of(c.comm, &found)) return error;
  for (std::vector<int>* list : {&found.sources, &found.destinations}) {
    // The schedule's notation for MPI_PROC_NULL.
    for (int& rank : *list) rank = rank == MPI_PROC_NULL ? -1 : rank;
  }
  c.neighbours[0] = std::move(found.sources);
  c.neighbours[1] = std::move(found.destinations);
  c.shape.sources = c.neighbours[0];
  c.shape.destinations = c.neighbours[1];
  c.shape.is_cartesian = c.comm.topology->kind == MPI_CART;
  return kSuccess;
}

}  // namespace

Err neighbor_allgather_call(Call& c, const void* sendbuf, Count sendcount,
                            const dt::Datatype& sendtype, void* recvbuf,
                            Count recvcount, const dt::Datatype& recvtype) {
  c.send_side(sendbuf, sendcount, &sendtype);
  c.recv_side(recvbuf, recvcount, &recvtype);
  return bind_neighbours(c);
}

Err neighbor_allgatherv_call(Call& c, const void* sendbuf, Count sendcount,
                             const dt::Datatype& sendtype, void* recvbuf,
                             const CountView& recvcounts, const CountView& displs,
                             const dt::Datatype& recvtype) {
  c.send_side(sendbuf, sendcount, &sendtype);
  c.recv_side(recvbuf, 0, &recvtype);
  c.shape.recv_counts = c.keep(kRecvCounts, recvcounts);
  c.shape.recv_displs = c.keep(kRecvDispls, displs);
  return bind_neighbours(c);
}

Err neighbor_alltoallv_call(Call& c, const void* sendbuf, const CountView& sendcounts,
                            const CountView& sdispls, const dt::Datatype& sendtype,
                            void* recvbuf, const CountView& recvcounts,
                            const CountView& rdispls, const dt::Datatype& recvtype) {
  c.send_side(sendbuf, 0, &sendtype);
  c.recv_side(recvbuf, 0, &recvtype);
  c.shape.send_counts = c.keep(kSendCounts, sendcounts);
  c.shape.send_displs = c.keep(kSendDispls, sdispls);
  c.shape.recv_counts = c.keep(kRecvCounts, recvcounts);
  c.shape.recv_displs = c.keep(kRecvDispls, rdispls);
  return bind_neighbours(c);
}

Err neighbor_alltoallw_call(Call& c, const void* sendbuf, const CountView& sendcounts,
                            const CountView& sdispls, const TypeView& sendtypes,
                            void* recvbuf, const CountView& recvcounts,
                            const CountView& rdispls, const TypeView& recvtypes) {
  if (const Err error = bind_neighbours(c)) return error;
  c.buffers[0] = const_cast<void*>(sendbuf);
  c.buffers[1] = recvbuf;
  c.shape.send_counts = c.keep(kSendCounts, sendcounts);
  c.shape.send_displs = c.keep(kSendDispls, sdispls);
  c.shape.send_types = keep_types_of(c, 0, sendtypes, c.neighbours[1].size());
  c.shape.recv_counts = c.keep(kRecvCounts, recvcounts);
  c.shape.recv_displs = c.keep(kRecvDispls, rdispls);
  c.shape.recv_types = keep_types_of(c, 1, recvtypes, c.neighbours[0].size());
  return kSuccess;
}

}  // namespace mpc::mpi::impl

// Direct collectives in which not all members need to meet: translated for nbc/direct/one_way.h.
#include <array>

#include "mpi/coll/direct.h"
#include "mpi/coll/direct_choice.h"
#include "mpi/coll/direct_common.h"
#include "mpi/objects/topology.h"
#include "mpi/objects/wait_reasons.h"
#include "nbc/direct/one_way.h"

namespace mpc::mpi {
namespace {

using nbc::Coll;
using nbc::direct::Block;
using nbc::direct::OneWayCall;

Block block(const void* data, dt::Count count, const dt::Datatype* type) noexcept {
  return {const_cast<void*>(data), count, type};
}

Err run(const char* name, Comm& comm, const OneWayCall& call) {
  const CollectiveReason reason(name, comm);
  return error_of_outcome(
      nbc::direct::run_one_way(comm.team(), comm.rank(), comm.self(), call, reason),
      name);
}

// A block without a type: in place where that is wrong, which the other way reports.
bool fits(Comm& comm, Coll coll, const Block& block, bool is_commutative = true) {
  return block.type != nullptr && may_go_direct(comm) &&
         direct_way(comm.team(), {coll, block.bytes(), false, block.type,
                                  is_commutative}) == Way::kOneWay;
}

}  // namespace

std::optional<Err> direct_bcast(void* buffer, dt::Count count, const dt::Datatype* type,
                                int root, Comm& comm) {
  OneWayCall call;
  call.coll = Coll::kBcast;
  call.root = root;
  Block& mine = comm.rank() == root ? call.send : call.recv;
  mine = block(buffer, count, type);
  if (comm.is_inter() || !fits(comm, call.coll, mine)) return {};
  return run("MPI_Bcast", comm, call);
}

std::optional<Err> direct_gather(const void* sendbuf, dt::Count sendcount,
                                 const dt::Datatype* sendtype, void* recvbuf,
                                 dt::Count recvcount, const dt::Datatype* recvtype,
                                 int root, Comm& comm) {
  if (comm.is_inter()) return {};
  OneWayCall call;
  call.coll = Coll::kGather;
  call.root = root;
  const bool is_root = comm.rank() == root;
  if (is_root) call.recv = block(recvbuf, recvcount, recvtype);
  if (sendbuf != MPI_IN_PLACE) call.send = block(sendbuf, sendcount, sendtype);
  if (!fits(comm, call.coll, is_root ? call.recv : call.send)) return {};
  return run("MPI_Gather", comm, call);
}

std::optional<Err> direct_scatter(const void* sendbuf, dt::Count sendcount,
                                  const dt::Datatype* sendtype, void* recvbuf,
                                  dt::Count recvcount, const dt::Datatype* recvtype,
                                  int root, Comm& comm) {
  if (comm.is_inter()) return {};
  OneWayCall call;
  call.coll = Coll::kScatter;
  call.root = root;
  const bool is_root = comm.rank() == root;
  if (is_root) call.send = block(sendbuf, sendcount, sendtype);
  if (recvbuf != MPI_IN_PLACE) call.recv = block(recvbuf, recvcount, recvtype);
  if (!fits(comm, call.coll, is_root ? call.send : call.recv)) return {};
  return run("MPI_Scatter", comm, call);
}

// ---- reductions --------------------------------------------------------------------------

namespace {

std::optional<Err> reduce(const char* name, OneWayCall& call, const void* sendbuf,
                          void* recvbuf, dt::Count count, TypeArg type, Op& op,
                          Comm& comm) {
  call.send = block(sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, count, type.type);
  if (!fits(comm, call.coll, call.send, op.commutes())) return {};
  call.op_code = static_cast<uint8_t>(op.code());
  call.recv = block(recvbuf, count, type.type);
  if (op.is_predefined()) {
    if (!describe_operation(call.op, *type, op)) return {};
    return run(name, comm, call);
  }
  BoundOp bound;
  MPC_MPI_TRY(bound.bind(op, *type, type.handle));
  call.op.apply = BoundOp::apply_alone;
  call.op.context = &bound;
  const Err error = run(name, comm, call);
  call.op.context = nullptr;  // valid in this call only
  return error;
}

}  // namespace

std::optional<Err> direct_reduce(const void* sendbuf, void* recvbuf, dt::Count count,
                                 TypeArg type, Op* op, int root, Comm& comm) {
  if (comm.is_inter()) return {};
  OneWayCall call;
  call.coll = Coll::kReduce;
  call.root = root;
  return reduce("MPI_Reduce", call, sendbuf, recvbuf, count, type, *op, comm);
}

std::optional<Err> direct_scan(const void* sendbuf, void* recvbuf, dt::Count count,
                               TypeArg type, Op& op, Comm& comm) {
  OneWayCall call;
  call.coll = Coll::kScan;
  return reduce("MPI_Scan", call, sendbuf, recvbuf, count, type, op, comm);
}

std::optional<Err> direct_exscan(const void* sendbuf, void* recvbuf, dt::Count count,
                                 TypeArg type, Op& op, Comm& comm) {
  OneWayCall call;
  call.coll = Coll::kExscan;
  return reduce("MPI_Exscan", call, sendbuf, recvbuf, count, type, op, comm);
}

// ---- neighbourhoods ----------------------------------------------------------------------

namespace {

constexpr size_t kMostDimensions =
    8;  // neighbours of a grid that are listed on the stack

std::optional<Err> exchange(const char* name, nbc::direct::NeighbourCall& call,
                            Comm& comm) {
  const Topology* topology = comm.topology.get();
  if (topology == nullptr || !may_go_direct(comm) ||
      direct_way(comm.team(),
                 {.coll = call.coll, .is_grid = topology->kind == MPI_CART}) !=
          Way::kNeighbours)
    return {};
  std::array<int, 2 * kMostDimensions> around;
  if (topology->kind == MPI_CART) {
    const size_t dimensions = topology->dims.size();
    if (dimensions > kMostDimensions) return {};
    for (size_t i = 0; i < 2 * dimensions; ++i) {
      around[i] = cart_neighbour(*topology, comm.rank(), static_cast<int>(i / 2),
                                 i % 2 == 0 ? -1 : +1);
    }
    call.sources = call.destinations = std::span(around).first(2 * dimensions);
  } else if (topology->kind == MPI_GRAPH) {
    call.sources = call.destinations = graph_neighbours_of(*topology, comm.rank());
  } else {
    call.sources = topology->sources;
    call.destinations = topology->destinations;
  }
  const CollectiveReason reason(name, comm);
  return error_of_outcome(nbc::direct::run_with_neighbours(comm.team(), comm.rank(),
                                                           comm.self(), call, reason),
                          name);
}

}  // namespace

std::optional<Err> direct_neighbor_allgather(const void* sendbuf, dt::Count sendcount,
                                             const dt::Datatype& sendtype,
                                             void* recvbuf, dt::Count recvcount,
                                             const dt::Datatype& recvtype, Comm& comm) {
  nbc::direct::NeighbourCall call;
  call.coll = Coll::kNeighborAllgather;
  call.send = block(sendbuf, sendcount, &sendtype);
  call.recv = block(recvbuf, recvcount, &recvtype);
  return exchange("MPI_Neighbor_allgather", call, comm);
}

std::optional<Err> direct_neighbor_alltoall(const void* sendbuf, dt::Count sendcount,
                                            const dt::Datatype& sendtype, void* recvbuf,
                                            dt::Count recvcount,
                                            const dt::Datatype& recvtype, Comm& comm) {
  nbc::direct::NeighbourCall call;
  call.coll = Coll::kNeighborAlltoall;
  call.send = block(sendbuf, sendcount, &sendtype);
  call.recv = block(recvbuf, recvcount, &recvtype);
  return exchange("MPI_Neighbor_alltoall", call, comm);
}

}  // namespace mpc::mpi

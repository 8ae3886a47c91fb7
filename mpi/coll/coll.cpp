// Bodies of MPI-4.1 chapter 6 (collectives: blocking, non-blocking, persistent) and of section
// 8.6 (neighbourhood collectives). Each is described once, as an nbc::Shape with its buffers,
// types and operation; `run`, `start` and `prepare` are the three ways to use the description.
//
// See docs/collectives.md for the algorithms, nbc/engine/engine.h for how schedules are run.

#include <fmt/format.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/trace.h"
#include "mpi/coll/direct.h"
#include "mpi/impl/collective.h"
#include "mpi/impl/nbc.h"
#include "mpi/impl/neighborhood.h"
#include "mpi/impl/persistent_coll.h"
#include "mpi/objects/check.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/info.h"
#include "mpi/objects/op.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "mpi/objects/status.h"
#include "mpi/objects/topology.h"
#include "mpi/objects/type_object.h"
#include "mpi/objects/wait_reasons.h"
#include "nbc/algorithms/cache.h"
#include "nbc/algorithms/inter.h"
#include "nbc/overlap/tree_split.h"

namespace mpc::mpi::impl {
namespace {

using nbc::Coll;

// One collective call: what the schedule is found by, and what it is bound to.
struct Call final : CollectiveState {
  explicit Call(Comm& communicator, Coll coll) noexcept : comm(communicator) {
    shape.coll = coll;
    shape.rank = comm.rank();
    shape.size = comm.size();
    shape.place_of_rank = comm.places();
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
  std::vector<Count> counts[4];
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
  template <class View>
  std::span<const Count> keep(int slot, const View& view) {
    std::vector<Count>& out = counts[slot];
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

// The schedule of the call: kept by the communicator; made anew for two groups.
Result<std::shared_ptr<const nbc::Schedule>> schedule_of(Call& call) {
  Comm& comm = call.comm;
  if (comm.is_inter()) return nbc::build_inter(call.shape, comm.remote_size());
  return comm.schedules().get(call.shape);
}

// How many levels of the tree stay with the ranks. Intercommunicators have no trees.
nbc::SplitCall choose_split(Comm& comm, nbc::Shape& shape) {
  if (comm.is_inter()) return {};
  const std::string* hint = comm.hints ? comm.hints->find("mpc_nbc_split") : nullptr;
  const nbc::CommView view{*comm.self().job, comm.collective_context(), comm.peers()[0],
                           comm.size(), hint};
  return nbc::needs_choice(view, shape) ? comm.tree_splitter().choose(view, shape)
                                        : nbc::SplitCall();
}

// The call as the user made it; with mpi.check, compared with those of the others.
template <class Describe>
Err describe_and_check(const char* name, Call& call, Describe& describe) {
  const Err error = describe(call);
  if (error || !is_checking()) return error;
  return compare_with_others(
      call.comm, {name, call.shape, call.pair[0], call.pair[1], call.op.op()});
}

template <class Describe>
Err run(const char* name, Comm& comm, Coll coll, Describe&& describe) {
  Call call(comm, coll);
  if (const Err error = describe_and_check(name, call, describe)) return error;
  auto schedule = schedule_of(call);
  if (!schedule) return fail(schedule.error());
  const CollectiveReason reason(name, comm);
  const msg::Status status =
      nbc::run(comm.self(), **schedule,
               call.binding(nbc::tag_base(comm.next_collective())), reason);
  return error_of_collective(status, name);
}

template <class Describe>
Err make(const char* name, Comm& comm, Coll coll, bool is_persistent, Request** out,
         Describe&& describe) {
  auto call = std::make_unique<Call>(comm, coll);
  if (const Err error = describe_and_check(name, *call, describe)) return error;
  call->shape.is_nonblocking = true;
  MPC_TRACE("mpi", "describe", coll);
  call->split = choose_split(comm, call->shape);
  auto schedule = schedule_of(*call);
  if (!schedule) return fail(schedule.error());
  call->keep_types();
  const uint32_t sequence =
      is_persistent ? comm.next_persistent() : comm.next_collective();
  call->collective = nbc::create(comm.self(), std::move(*schedule),
                                 call->binding(nbc::tag_base(sequence, is_persistent)));
  if (call->collective == nullptr)
    return fail(MPI_ERR_NO_MEM, "no memory for a collective in flight");
  nbc::set_on_complete(
      *call->collective,
      [](void* self) { msg::notify(*static_cast<job::Rank*>(self)); }, &comm.self());
  *out = Request::make(*rank_state(), RequestKind::kCollective, &comm, name);
  (*out)->collective = std::move(call);
  return kSuccess;
}

template <class Describe>
Err start(const char* name, Comm& comm, Coll coll, Request** request,
          Describe&& describe) {
  if (const Err error = make(name, comm, coll, false, request, describe)) return error;
  return start_request(*rank_state(), **request);
}

template <class Describe>
Err prepare(const char* name, Comm& comm, Coll coll, Request** request,
            Describe&& describe) {
  if (const Err error = make(name, comm, coll, true, request, describe)) return error;
  (*request)->is_persistent = true;
  return kSuccess;
}

static_assert(nbc::kIsRoot == MPI_ROOT && nbc::kNoPart == MPI_PROC_NULL);
bool is_root(const Comm& comm, int root) noexcept {
  return comm.is_inter() ? root == MPI_ROOT : comm.rank() == root;
}

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

template <class Counts, class Displs>
Err gatherv_call(Call& c, const void* sendbuf, Count sendcount,
                 const dt::Datatype* sendtype, void* recvbuf, const Counts& recvcounts,
                 const Displs& displs, const dt::Datatype* recvtype, int root) {
  c.shape.root = root;
  c.send_side(sendbuf, sendcount, sendtype);
  if (is_root(c.comm, root)) {
    c.recv_side(recvbuf, 0, recvtype);
    c.shape.recv_counts = c.keep(0, recvcounts);
    c.shape.recv_displs = c.keep(1, displs);
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

template <class Counts, class Displs>
Err scatterv_call(Call& c, const void* sendbuf, const Counts& sendcounts,
                  const Displs& displs, const dt::Datatype* sendtype, void* recvbuf,
                  Count recvcount, const dt::Datatype* recvtype, int root) {
  c.shape.root = root;
  if (is_root(c.comm, root)) {
    c.send_side(sendbuf, 0, sendtype);
    c.shape.send_counts = c.keep(0, sendcounts);
    c.shape.send_displs = c.keep(1, displs);
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

template <class Counts, class Displs>
Err allgatherv_call(Call& c, const void* sendbuf, Count sendcount,
                    const dt::Datatype* sendtype, void* recvbuf,
                    const Counts& recvcounts, const Displs& displs,
                    const dt::Datatype& recvtype) {
  c.send_side(sendbuf, sendcount, sendtype);
  c.recv_side(recvbuf, 0, &recvtype);
  c.shape.recv_counts = c.keep(0, recvcounts);
  c.shape.recv_displs = c.keep(1, displs);
  if (sendbuf == MPI_IN_PLACE) c.in_place();
  return kSuccess;
}

template <class Counts, class Displs>
Err alltoallv_call(Call& c, const void* sendbuf, const Counts& sendcounts,
                   const Displs& sdispls, const dt::Datatype* sendtype, void* recvbuf,
                   const Counts& recvcounts, const Displs& rdispls,
                   const dt::Datatype& recvtype) {
  c.recv_side(recvbuf, 0, &recvtype);
  c.shape.recv_counts = c.keep(0, recvcounts);
  c.shape.recv_displs = c.keep(1, rdispls);
  if (sendbuf == MPI_IN_PLACE) {
    c.in_place();
  } else {
    c.send_side(sendbuf, 0, sendtype);
    c.shape.send_counts = c.keep(2, sendcounts);
    c.shape.send_displs = c.keep(3, sdispls);
  }
  return kSuccess;
}

// `types` of one side of a w form: into the bound types and the shape.
template <class Types>
std::span<const nbc::TypeShape> keep_types_of(Call& c, int side, const Types& types,
                                              size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const dt::Datatype& type = types[i];
    c.many_types.push_back(&type);
    c.type_shapes[side].emplace_back(type);
  }
  return c.type_shapes[side];
}

template <class SendCounts, class SendDispls, class SendTypes, class Counts,
          class Displs, class Types>
Err alltoallw_call(Call& c, const void* sendbuf, const SendCounts& sendcounts,
                   const SendDispls& sdispls, const SendTypes& sendtypes, void* recvbuf,
                   const Counts& recvcounts, const Displs& rdispls,
                   const Types& recvtypes) {
  const auto n = static_cast<size_t>(c.comm.remote_size());
  c.buffers[1] = recvbuf;
  if (sendbuf == MPI_IN_PLACE) {
    c.shape.is_in_place = true;
    c.many_types.assign(n, nullptr);
  } else {
    c.buffers[0] = const_cast<void*>(sendbuf);
    c.shape.send_counts = c.keep(2, sendcounts);
    c.shape.send_displs = c.keep(3, sdispls);
    c.shape.send_types = keep_types_of(c, 0, sendtypes, n);
  }
  c.shape.recv_counts = c.keep(0, recvcounts);
  c.shape.recv_displs = c.keep(1, rdispls);
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

template <class Counts>
Err reduce_scatter_call(Call& c, const void* sendbuf, void* recvbuf,
                        const Counts& recvcounts, TypeArg type, Op& op) {
  const Err error = c.reduction(sendbuf, recvbuf, 0, type, op);
  c.shape.recv_counts = c.keep(0, recvcounts);
  return error;
}

// --- neighbourhoods ---------------------------------------------------------------------------

Err bind_neighbours(Call& c) {
  Neighbours found;
  if (const Err error = mpi::neighbours_of(c.comm, &found)) return error;
  for (std::vector<int>* list : {&found.sources, &found.destinations}) {
    // The schedule's way of saying MPI_PROC_NULL.
    for (int& rank : *list) rank = rank == MPI_PROC_NULL ? -1 : rank;
  }
  c.neighbours[0] = std::move(found.sources);
  c.neighbours[1] = std::move(found.destinations);
  c.shape.sources = c.neighbours[0];
  c.shape.destinations = c.neighbours[1];
  c.shape.is_cartesian = c.comm.topology->kind == MPI_CART;
  return kSuccess;
}

Err neighbor_allgather_call(Call& c, const void* sendbuf, Count sendcount,
                            const dt::Datatype& sendtype, void* recvbuf,
                            Count recvcount, const dt::Datatype& recvtype) {
  c.send_side(sendbuf, sendcount, &sendtype);
  c.recv_side(recvbuf, recvcount, &recvtype);
  return bind_neighbours(c);
}

template <class Counts, class Displs>
Err neighbor_allgatherv_call(Call& c, const void* sendbuf, Count sendcount,
                             const dt::Datatype& sendtype, void* recvbuf,
                             const Counts& recvcounts, const Displs& displs,
                             const dt::Datatype& recvtype) {
  c.send_side(sendbuf, sendcount, &sendtype);
  c.recv_side(recvbuf, 0, &recvtype);
  c.shape.recv_counts = c.keep(0, recvcounts);
  c.shape.recv_displs = c.keep(1, displs);
  return bind_neighbours(c);
}

template <class Counts, class Displs>
Err neighbor_alltoallv_call(Call& c, const void* sendbuf, const Counts& sendcounts,
                            const Displs& sdispls, const dt::Datatype& sendtype,
                            void* recvbuf, const Counts& recvcounts,
                            const Displs& rdispls, const dt::Datatype& recvtype) {
  c.send_side(sendbuf, 0, &sendtype);
  c.recv_side(recvbuf, 0, &recvtype);
  c.shape.send_counts = c.keep(2, sendcounts);
  c.shape.send_displs = c.keep(3, sdispls);
  c.shape.recv_counts = c.keep(0, recvcounts);
  c.shape.recv_displs = c.keep(1, rdispls);
  return bind_neighbours(c);
}

template <class Counts, class Displs, class Types>
Err neighbor_alltoallw_call(Call& c, const void* sendbuf, const Counts& sendcounts,
                            const Displs& sdispls, const Types& sendtypes,
                            void* recvbuf, const Counts& recvcounts,
                            const Displs& rdispls, const Types& recvtypes) {
  if (const Err error = bind_neighbours(c)) return error;
  c.buffers[0] = const_cast<void*>(sendbuf);
  c.buffers[1] = recvbuf;
  c.shape.send_counts = c.keep(2, sendcounts);
  c.shape.send_displs = c.keep(3, sdispls);
  c.shape.send_types = keep_types_of(c, 0, sendtypes, c.neighbours[1].size());
  c.shape.recv_counts = c.keep(0, recvcounts);
  c.shape.recv_displs = c.keep(1, rdispls);
  c.shape.recv_types = keep_types_of(c, 1, recvtypes, c.neighbours[0].size());
  return kSuccess;
}

}  // namespace

// --- entry points' bodies: three for each description ----------------------------------------
// MPC_COLLECTIVE(name, "Name", coll, description, (parameters), (arguments))

#define MPC_UNWRAP(...) __VA_ARGS__
#define MPC_COLLECTIVE(name, text, coll, description, parameters, arguments)         \
  Err name(MPC_UNWRAP parameters, Comm& comm) {                                      \
    return run("MPI_" text, comm, coll,                                              \
               [&](Call& call) { return description(call, MPC_UNWRAP arguments); }); \
  }                                                                                  \
  MPC_STARTED(name, text, coll, description, parameters, arguments)
// The same for a collective that has a way without messages (mpi/coll/direct.h).
#define MPC_DIRECT_COLLECTIVE(name, text, coll, description, parameters, arguments)  \
  Err name(MPC_UNWRAP parameters, Comm& comm) {                                      \
    if (const auto done = direct_##name(MPC_UNWRAP arguments, comm)) return *done;   \
    return run("MPI_" text, comm, coll,                                              \
               [&](Call& call) { return description(call, MPC_UNWRAP arguments); }); \
  }                                                                                  \
  MPC_STARTED(name, text, coll, description, parameters, arguments)
#define MPC_STARTED(name, text, coll, description, parameters, arguments)              \
  Err i##name(MPC_UNWRAP parameters, Comm& comm, Request** request) {                  \
    return start("MPI_I" #name, comm, coll, request,                                   \
                 [&](Call& call) { return description(call, MPC_UNWRAP arguments); }); \
  }                                                                                    \
  Err name##_init(MPC_UNWRAP parameters, Comm& comm, Info*, Request** request) {       \
    return prepare("MPI_" text "_init", comm, coll, request, [&](Call& call) {         \
      return description(call, MPC_UNWRAP arguments);                                  \
    });                                                                                \
  }

Err barrier(Comm& comm) {
  if (const auto done = direct_barrier(comm)) return *done;
  return run("MPI_Barrier", comm, Coll::kBarrier, barrier_call);
}
Err ibarrier(Comm& comm, Request** request) {
  return start("MPI_Ibarrier", comm, Coll::kBarrier, request, barrier_call);
}
Err barrier_init(Comm& comm, Info*, Request** request) {
  return prepare("MPI_Barrier_init", comm, Coll::kBarrier, request, barrier_call);
}

MPC_COLLECTIVE(bcast, "Bcast", Coll::kBcast, bcast_call,
               (void* buffer, Count count, const dt::Datatype* type, int root),
               (buffer, count, type, root))
MPC_COLLECTIVE(gather, "Gather", Coll::kGather, gather_call,
               (const void* sendbuf, Count sendcount, const dt::Datatype* sendtype,
                void* recvbuf, Count recvcount, const dt::Datatype* recvtype, int root),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))
MPC_COLLECTIVE(gatherv, "Gatherv", Coll::kGatherv, gatherv_call,
               (const void* sendbuf, Count sendcount, const dt::Datatype* sendtype,
                void* recvbuf, CountView recvcounts, CountView displs,
                const dt::Datatype* recvtype, int root),
               (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                root))
MPC_COLLECTIVE(scatter, "Scatter", Coll::kScatter, scatter_call,
               (const void* sendbuf, Count sendcount, const dt::Datatype* sendtype,
                void* recvbuf, Count recvcount, const dt::Datatype* recvtype, int root),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))
MPC_COLLECTIVE(scatterv, "Scatterv", Coll::kScatterv, scatterv_call,
               (const void* sendbuf, CountView sendcounts, CountView displs,
                const dt::Datatype* sendtype, void* recvbuf, Count recvcount,
                const dt::Datatype* recvtype, int root),
               (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype,
                root))
MPC_DIRECT_COLLECTIVE(allgather, "Allgather", Coll::kAllgather, allgather_call,
                      (const void* sendbuf, Count sendcount,
                       const dt::Datatype* sendtype, void* recvbuf, Count recvcount,
                       const dt::Datatype& recvtype),
                      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))
MPC_DIRECT_COLLECTIVE(
    allgatherv, "Allgatherv", Coll::kAllgatherv, allgatherv_call,
    (const void* sendbuf, Count sendcount, const dt::Datatype* sendtype, void* recvbuf,
     CountView recvcounts, CountView displs, const dt::Datatype& recvtype),
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype))
MPC_DIRECT_COLLECTIVE(alltoall, "Alltoall", Coll::kAlltoall, allgather_call,
                      (const void* sendbuf, Count sendcount,
                       const dt::Datatype* sendtype, void* recvbuf, Count recvcount,
                       const dt::Datatype& recvtype),
                      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))
MPC_DIRECT_COLLECTIVE(alltoallv, "Alltoallv", Coll::kAlltoallv, alltoallv_call,
                      (const void* sendbuf, CountView sendcounts, CountView sdispls,
                       const dt::Datatype* sendtype, void* recvbuf,
                       CountView recvcounts, CountView rdispls,
                       const dt::Datatype& recvtype),
                      (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                       rdispls, recvtype))
MPC_COLLECTIVE(alltoallw, "Alltoallw", Coll::kAlltoallw, alltoallw_call,
               (const void* sendbuf, CountView sendcounts, CountView sdispls,
                TypeView sendtypes, void* recvbuf, CountView recvcounts,
                CountView rdispls, TypeView recvtypes),
               (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                recvtypes))
MPC_COLLECTIVE(reduce, "Reduce", Coll::kReduce, reduce_call,
               (const void* sendbuf, void* recvbuf, Count count, TypeArg type, Op* op,
                int root),
               (sendbuf, recvbuf, count, type, op, root))
MPC_DIRECT_COLLECTIVE(allreduce, "Allreduce", Coll::kAllreduce, allreduce_call,
                      (const void* sendbuf, void* recvbuf, Count count, TypeArg type,
                       Op& op),
                      (sendbuf, recvbuf, count, type, op))
MPC_DIRECT_COLLECTIVE(reduce_scatter_block, "Reduce_scatter_block",
                      Coll::kReduceScatterBlock, allreduce_call,
                      (const void* sendbuf, void* recvbuf, Count count, TypeArg type,
                       Op& op),
                      (sendbuf, recvbuf, count, type, op))
MPC_DIRECT_COLLECTIVE(reduce_scatter, "Reduce_scatter", Coll::kReduceScatter,
                      reduce_scatter_call,
                      (const void* sendbuf, void* recvbuf, CountView recvcounts,
                       TypeArg type, Op& op),
                      (sendbuf, recvbuf, recvcounts, type, op))
MPC_COLLECTIVE(scan, "Scan", Coll::kScan, allreduce_call,
               (const void* sendbuf, void* recvbuf, Count count, TypeArg type, Op& op),
               (sendbuf, recvbuf, count, type, op))
MPC_COLLECTIVE(exscan, "Exscan", Coll::kExscan, allreduce_call,
               (const void* sendbuf, void* recvbuf, Count count, TypeArg type, Op& op),
               (sendbuf, recvbuf, count, type, op))
MPC_COLLECTIVE(neighbor_allgather, "Neighbor_allgather", Coll::kNeighborAllgather,
               neighbor_allgather_call,
               (const void* sendbuf, Count sendcount, const dt::Datatype& sendtype,
                void* recvbuf, Count recvcount, const dt::Datatype& recvtype),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))
MPC_COLLECTIVE(neighbor_allgatherv, "Neighbor_allgatherv", Coll::kNeighborAllgatherv,
               neighbor_allgatherv_call,
               (const void* sendbuf, Count sendcount, const dt::Datatype& sendtype,
                void* recvbuf, CountView recvcounts, CountView displs,
                const dt::Datatype& recvtype),
               (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype))
MPC_COLLECTIVE(neighbor_alltoall, "Neighbor_alltoall", Coll::kNeighborAlltoall,
               neighbor_allgather_call,
               (const void* sendbuf, Count sendcount, const dt::Datatype& sendtype,
                void* recvbuf, Count recvcount, const dt::Datatype& recvtype),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))
MPC_COLLECTIVE(neighbor_alltoallv, "Neighbor_alltoallv", Coll::kNeighborAlltoallv,
               neighbor_alltoallv_call,
               (const void* sendbuf, CountView sendcounts, CountView sdispls,
                const dt::Datatype& sendtype, void* recvbuf, CountView recvcounts,
                CountView rdispls, const dt::Datatype& recvtype),
               (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                recvtype))
MPC_COLLECTIVE(neighbor_alltoallw, "Neighbor_alltoallw", Coll::kNeighborAlltoallw,
               neighbor_alltoallw_call,
               (const void* sendbuf, CountView sendcounts, CountView sdispls,
                TypeView sendtypes, void* recvbuf, CountView recvcounts,
                CountView rdispls, TypeView recvtypes),
               (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                recvtypes))

}  // namespace mpc::mpi::impl

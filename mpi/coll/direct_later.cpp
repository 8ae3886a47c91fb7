// Non-blocking collectives without messages: translated for nbc/direct/pending.h.
#include "mpi/coll/direct.h"
#include "mpi/coll/direct_choice.h"
#include "mpi/coll/direct_common.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "nbc/direct/blocks.h"

namespace mpc::mpi {
namespace {

using nbc::Coll;
using nbc::direct::Block;
using nbc::direct::OneWayCall;

bool goes_direct(Comm& comm, const DirectAsk& ask) {
  return ask.bytes <= nbc::direct::kScratchBytes && may_go_direct(comm) &&
         later_way(comm.team(), ask) != Way::kMessages;
}

OneWayCall call_of(Coll coll, int root = 0) noexcept {
  OneWayCall call;
  call.coll = coll;
  call.root = root;
  return call;
}

Block block(const void* data, dt::Count count, const dt::Datatype* type) noexcept {
  return {const_cast<void*>(data), count, type};
}

Err start(const char* name, Comm& comm, const OneWayCall& call, Request** request) {
  RankState& state = *rank_state();
  Request* const made =
      Request::make(state, RequestKind::kSmallCollective, &comm, name);
  if (!nbc::direct::begin(made->pending, comm.team(), comm.rank(), comm.self(), call,
                          state.thread_level == MPI_THREAD_MULTIPLE)) {
    Request::destroy(state, made);
    return fail(MPI_ERR_NO_MEM, "no memory for a collective in flight");
  }
  if (call.recv.type != nullptr) made->type = dt::TypeRef(call.recv.type);
  made->is_active = true;
  *request = made;
  return kSuccess;
}

std::optional<Err> start_blocks(const char* name, Comm& comm, const OneWayCall& call,
                                const Block& measure, Request** request) {
  // No type: in place where that is wrong, which the other way reports.
  if (measure.type == nullptr || !goes_direct(comm, {call.coll, measure.bytes()}))
    return {};
  return start(name, comm, call, request);
}

}  // namespace

std::optional<Err> direct_ibarrier(Comm& comm, Request** request) {
  if (!goes_direct(comm, {.coll = Coll::kBarrier})) return {};
  return start("MPI_Ibarrier", comm, call_of(Coll::kBarrier), request);
}

std::optional<Err> direct_ibcast(void* buffer, dt::Count count,
                                 const dt::Datatype* type, int root, Comm& comm,
                                 Request** request) {
  if (comm.is_inter()) return {};
  OneWayCall call = call_of(Coll::kBcast, root);
  Block& mine = comm.rank() == root ? call.send : call.recv;
  mine = block(buffer, count, type);
  return start_blocks("MPI_Ibcast", comm, call, mine, request);
}

std::optional<Err> direct_igather(const void* sendbuf, dt::Count sendcount,
                                  const dt::Datatype* sendtype, void* recvbuf,
                                  dt::Count recvcount, const dt::Datatype* recvtype,
                                  int root, Comm& comm, Request** request) {
  if (comm.is_inter()) return {};
  OneWayCall call = call_of(Coll::kGather, root);
  const bool is_root = comm.rank() == root;
  if (is_root) call.recv = block(recvbuf, recvcount, recvtype);
  if (sendbuf != MPI_IN_PLACE) call.send = block(sendbuf, sendcount, sendtype);
  return start_blocks("MPI_Igather", comm, call, is_root ? call.recv : call.send,
                      request);
}

std::optional<Err> direct_iscatter(const void* sendbuf, dt::Count sendcount,
                                   const dt::Datatype* sendtype, void* recvbuf,
                                   dt::Count recvcount, const dt::Datatype* recvtype,
                                   int root, Comm& comm, Request** request) {
  if (comm.is_inter()) return {};
  OneWayCall call = call_of(Coll::kScatter, root);
  const bool is_root = comm.rank() == root;
  if (is_root) call.send = block(sendbuf, sendcount, sendtype);
  if (recvbuf != MPI_IN_PLACE) call.recv = block(recvbuf, recvcount, recvtype);
  return start_blocks("MPI_Iscatter", comm, call, is_root ? call.send : call.recv,
                      request);
}

namespace {

// In place the data come from `own`, a block of the receive side; they are shown before anything is received.
std::optional<Err> start_exchange(const char* name, Coll coll, const void* sendbuf,
                                  dt::Count sendcount, const dt::Datatype* sendtype,
                                  const Block& recv, int own, Comm& comm,
                                  Request** request) {
  if (comm.is_inter()) return {};
  OneWayCall call = call_of(coll);
  call.recv = recv;
  call.send = sendbuf != MPI_IN_PLACE ? block(sendbuf, sendcount, sendtype)
                                      : nbc::direct::block_at(recv, own);
  return start_blocks(name, comm, call, recv, request);
}

}  // namespace

std::optional<Err> direct_iallgather(const void* sendbuf, dt::Count sendcount,
                                     const dt::Datatype* sendtype, void* recvbuf,
                                     dt::Count recvcount, const dt::Datatype& recvtype,
                                     Comm& comm, Request** request) {
  return start_exchange("MPI_Iallgather", Coll::kAllgather, sendbuf, sendcount,
                        sendtype, block(recvbuf, recvcount, &recvtype), comm.rank(),
                        comm, request);
}

std::optional<Err> direct_ialltoall(const void* sendbuf, dt::Count sendcount,
                                    const dt::Datatype* sendtype, void* recvbuf,
                                    dt::Count recvcount, const dt::Datatype& recvtype,
                                    Comm& comm, Request** request) {
  return start_exchange("MPI_Ialltoall", Coll::kAlltoall, sendbuf, sendcount, sendtype,
                        block(recvbuf, recvcount, &recvtype), 0, comm, request);
}

// ---- reductions --------------------------------------------------------------------------

namespace {

std::optional<Err> start_reduction(const char* name, OneWayCall call,
                                   const void* sendbuf, void* recvbuf, dt::Count count,
                                   TypeArg type, const Op& op, Comm& comm,
                                   Request** request) {
  if (comm.is_inter() || !op.is_predefined()) return {};
  call.send = block(sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, count, type.type);
  call.recv = block(recvbuf, count, type.type);
  const DirectAsk ask{.coll = call.coll, .bytes = call.send.bytes(), .type = type.type};
  if (!goes_direct(comm, ask) || !describe_operation(call.op, *type, op)) return {};
  call.op_code = static_cast<uint8_t>(op.code());
  return start(name, comm, call, request);
}

}  // namespace

std::optional<Err> direct_ireduce(const void* sendbuf, void* recvbuf, dt::Count count,
                                  TypeArg type, Op* op, int root, Comm& comm,
                                  Request** request) {
  if (comm.is_inter()) return {};
  return start_reduction("MPI_Ireduce", call_of(Coll::kReduce, root), sendbuf, recvbuf,
                         count, type, *op, comm, request);
}

std::optional<Err> direct_iallreduce(const void* sendbuf, void* recvbuf,
                                     dt::Count count, TypeArg type, Op& op, Comm& comm,
                                     Request** request) {
  return start_reduction("MPI_Iallreduce", call_of(Coll::kAllreduce), sendbuf, recvbuf,
                         count, type, op, comm, request);
}

std::optional<Err> direct_iscan(const void* sendbuf, void* recvbuf, dt::Count count,
                                TypeArg type, Op& op, Comm& comm, Request** request) {
  return start_reduction("MPI_Iscan", call_of(Coll::kScan), sendbuf, recvbuf, count,
                         type, op, comm, request);
}

std::optional<Err> direct_iexscan(const void* sendbuf, void* recvbuf, dt::Count count,
                                  TypeArg type, Op& op, Comm& comm, Request** request) {
  return start_reduction("MPI_Iexscan", call_of(Coll::kExscan), sendbuf, recvbuf, count,
                         type, op, comm, request);
}

}  // namespace mpc::mpi

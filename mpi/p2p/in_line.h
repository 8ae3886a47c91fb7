#pragma once
// In line: the bodies of the four commonest calls, as parts of their entry points.
//
// Role:      to call a body with seven arguments from an entry point, and to save its registers, costs some 35 instructions,
//            an eighth of such a call.
// Users:     generated entry points of functions that are listed as "in_line"; mpi/p2p/send_receive.cpp makes bodies
//            out of line from them, for mpi.check=full.
// Threads:   any execution of the rank.
// See also:  docs/message-cost.md, mpi/api/generator/entries.py.

#include "mpi/objects/wait_reasons.h"
#include "mpi/p2p/make.h"
#include "runtime/message/background.h"

namespace mpc::mpi::impl {

// Starts the request of one message. It does the work of start_request(), without testing the kind.
template <class Start>
[[gnu::always_inline]] inline Err start_message(Request& request, Request** out,
                                                Start start) {
  request.is_active = true;
  if (request.kind() != RequestKind::kDone) [[likely]] {
    const msg::ShortCall short_call;
    start(request.comm()->self(), request);
  }
  *out = &request;
  return kSuccess;
}

[[gnu::always_inline]] inline Err isend_in(RankState& state, msg::Mode mode,
                                           const char* call, const void* buf,
                                           Count count, const dt::Datatype& type,
                                           int dest, int tag, Comm& comm,
                                           Request** request) {
  return start_message(*make_send(state, RequestKind::kSend, call, buf, count, type,
                                  dest, tag, comm, mode),
                       request, [](job::Rank& self, Request& r) {
                         msg::start_send(self, r.message, r.send);
                       });
}

// True: sent. `dest`: not MPI_PROC_NULL.
[[gnu::always_inline]] inline bool send_if_small(const void* buffer, Count count,
                                                 const dt::Datatype& type, int dest,
                                                 int tag, Comm& comm) {
  return type.is_contiguous() &&
         msg::send_small(comm.self(), buffer, static_cast<size_t>(type.size() * count),
                         comm.peer_world_rank(dest), {comm.context(), comm.rank()},
                         tag);
}

[[gnu::always_inline]] inline Err blocking_send(const char* call, const void* buffer,
                                                Count count, const dt::Datatype& type,
                                                int dest, int tag, Comm& comm,
                                                msg::Mode mode) {
  if (dest == MPI_PROC_NULL) [[unlikely]]
    return kSuccess;
  if (mode != msg::Mode::kSynchronous &&
      send_if_small(buffer, count, type, dest, tag, comm)) [[likely]]
    return kSuccess;
  // The general way, which may wait.
  const P2pReason reason(call, "send", count, "to", dest, tag, comm);
  const msg::Status status = msg::send(
      comm.self(), send_args(buffer, count, type, dest, tag, comm, mode), reason);
  return status.failed ? error_of(status) : kSuccess;
}

// `source`: not MPI_PROC_NULL.
[[gnu::always_inline]] inline Err receive_in(const char* call, void* buf, Count count,
                                             const dt::Datatype& type, int source,
                                             int tag, Comm& comm, MPI_Status* status) {
  msg::Status result;
  if (type.is_contiguous() &&
      msg::recv_small(comm.self(), buf, static_cast<size_t>(type.size() * count),
                      {comm.context(), source}, tag,
                      status == MPI_STATUS_IGNORE ? nullptr : &result)) [[likely]] {
    set_status(status, result);
    return kSuccess;
  }
  // The general way, which may wait.
  const P2pReason reason(call, "receive", count, "from", source, tag, comm);
  result = msg::recv_by_posting(comm.self(),
                                recv_args(buf, count, type, source, tag, comm), reason);
  set_status(status, result);
  return result.failed ? error_of(result) : kSuccess;
}

// `state`: of the caller's rank, which the entry point knows already.
namespace in_line {

[[gnu::always_inline]] inline Err send(RankState&, const void* buf, Count count,
                                       const dt::Datatype& type, int dest, int tag,
                                       Comm& comm) {
  return blocking_send("MPI_Send", buf, count, type, dest, tag, comm,
                       msg::Mode::kStandard);
}

[[gnu::always_inline]] inline Err recv(RankState&, void* buf, Count count,
                                       const dt::Datatype& type, int source, int tag,
                                       Comm& comm, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_status(status, proc_null_status());
    return kSuccess;
  }
  return receive_in("MPI_Recv", buf, count, type, source, tag, comm, status);
}

[[gnu::always_inline]] inline Err isend(RankState& state, const void* buf, Count count,
                                        const dt::Datatype& type, int dest, int tag,
                                        Comm& comm, Request** request) {
  return isend_in(state, msg::Mode::kStandard, "MPI_Isend", buf, count, type, dest, tag,
                  comm, request);
}

[[gnu::always_inline]] inline Err irecv(RankState& state, void* buf, Count count,
                                        const dt::Datatype& type, int source, int tag,
                                        Comm& comm, Request** request) {
  return start_message(
      *make_recv(state, "MPI_Irecv", buf, count, type, source, tag, comm), request,
      [](job::Rank& self, Request& r) { msg::start_recv(self, r.message, r.recv); });
}

}  // namespace in_line
}  // namespace mpc::mpi::impl

#pragma once
// Make: turns arguments of MPI into requests and messages of runtime/message.
//
// Role:      common parts of blocking, non-blocking and persistent point-to-point calls.
// Users:     mpi/p2p.
// Threads:   any execution of the rank.
// See also:  mpi/objects/request.h, runtime/message/message.h.

#include "mpi/objects/comm.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "mpi/objects/request_quick.h"
#include "mpi/objects/status.h"
#include "runtime/message/message.h"

namespace mpc::mpi::impl {

using dt::Count;

inline msg::SendArgs send_args(const void* buffer, Count count,
                               const dt::Datatype& type, int dest, int tag,
                               const Comm& comm, msg::Mode mode) noexcept {
  return {buffer,         count, &type,       comm.peer_world_rank(dest),
          comm.context(), tag,   comm.rank(), mode};
}
inline msg::RecvArgs recv_args(void* buffer, Count count, const dt::Datatype& type,
                               int source, int tag, const Comm& comm) noexcept {
  return {buffer, count, &type, source, comm.context(), tag};
}

// Requests that are not started yet; with MPI_PROC_NULL they are complete from the start. Inline,
// because every MPI_Isend calls them.

// A request that is complete from the start: communication with MPI_PROC_NULL.
inline Request* proc_null_request(RankState& state, Comm& comm, const char* call) {
  Request* request = Request::make(state, RequestKind::kDone, &comm, call);
  request->done_status = proc_null_status();
  return request;
}

// `state`: of the caller's rank.
[[gnu::always_inline]] inline Request* make_send(RankState& state, RequestKind kind,
                                                 const char* call, const void* buffer,
                                                 Count count, const dt::Datatype& type,
                                                 int dest, int tag, Comm& comm,
                                                 msg::Mode mode) {
  if (dest == MPI_PROC_NULL) return proc_null_request(state, comm, call);
  Request* request = is_of_message(kind)
                         ? Request::make_quickly(state, kind, &comm, call)
                         : Request::make(state, kind, &comm, call);
  request->send = send_args(buffer, count, type, dest, tag, comm, mode);
  request->peer = dest;
  request->type = dt::TypeRef(&type);
  return request;
}
inline Request* make_send(const char* call, const void* buffer, Count count,
                          const dt::Datatype& type, int dest, int tag, Comm& comm,
                          msg::Mode mode) {
  return make_send(this_rank(), RequestKind::kSend, call, buffer, count, type, dest,
                   tag, comm, mode);
}
inline Request* make_bsend(const char* call, const void* buffer, Count count,
                           const dt::Datatype& type, int dest, int tag, Comm& comm) {
  return make_send(this_rank(), RequestKind::kBuffered, call, buffer, count, type, dest,
                   tag, comm, msg::Mode::kStandard);
}

[[gnu::always_inline]] inline Request* make_recv(RankState& state, const char* call,
                                                 void* buffer, Count count,
                                                 const dt::Datatype& type, int source,
                                                 int tag, Comm& comm) {
  if (source == MPI_PROC_NULL) return proc_null_request(state, comm, call);
  Request* request = Request::make_quickly(state, RequestKind::kRecv, &comm, call);
  request->recv = recv_args(buffer, count, type, source, tag, comm);
  request->peer = source;
  request->type = dt::TypeRef(&type);
  return request;
}

}  // namespace mpc::mpi::impl

#pragma once
// Quick requests: begin and end of a request of one message in the usual case, in line.
//
// Role:      a small message costs little more than its request; the calls would be a tenth of that.
//            Everything else (threads, persistent requests, records, failures) goes to
//            Request::make() and finish().
// Users:     mpi/p2p.
// Threads:   an execution of the rank.
// See also:  mpi/objects/request_life.cpp, docs/message-cost.md.

#include <utility>

#include "mpi/objects/comm.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "mpi/objects/status.h"

namespace mpc::mpi {

// WORLD and SELF live until the rank's MPI ends, so their users need not be counted.
inline bool is_counted(const Comm* comm) noexcept {
  return comm != nullptr && !comm->is_predefined();
}

// Everything else is as the previous message, or small collective, left it, which was not started again: a
// start sets its fields anew, and the fields of other kinds were never set.
inline void Request::renew(RequestKind kind, Comm* comm, const char* call) noexcept {
  kind_ = kind;
  comm_ = comm;
  call_ = call;
  is_active = false;
  if (is_counted(comm)) comm->retain();
  Object::renew();
}

inline Request* Request::make_quickly(RankState& state, RequestKind kind, Comm* comm,
                                      const char* call) {
  RequestPool& pool = *state.requests;
  if (state.thread_level ==
          MPI_THREAD_MULTIPLE ||  // first: the others need the lock then
      pool.messages == nullptr ||
      pool.has_abandoned()) [[unlikely]]
    return make(state, kind, comm, call);
  Request* const request = std::exchange(pool.messages, pool.messages->next);
  request->renew(kind, comm, call);
  return request;
}

inline bool Request::finish_quickly(RankState& state, MPI_Request* handle,
                                    Request& request, MPI_Status* status) noexcept {
  const msg::Status& result = request.message.status();
  if (!request.is_message() || !request.is_kept() || result.failed ||
      is_counted(request.comm_) || state.thread_level == MPI_THREAD_MULTIPLE)
      [[unlikely]]
    return false;
  set_status(status, result);
  *handle = MPI_REQUEST_NULL;
  request.type = dt::TypeRef();
  request.mark_freed();
  request.next = std::exchange(state.requests->messages, &request);
  return true;
}

}  // namespace mpc::mpi

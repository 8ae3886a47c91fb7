// Bodies of MPI-4.1 sections 3.7.3, 3.8.4 and 3.9: free, cancel, start; generalized requests
// (section 13.2).

#include <fmt/format.h>

#include <memory>

#include "mpi/impl/grequest.h"
#include "mpi/impl/p2p.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/lookup.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "mpi/objects/status.h"

namespace mpc::mpi::impl {

// --- start, free, cancel --------------------------------------------------------------------

Err start(MPI_Request* handle) {
  Request* request = nullptr;
  if (const Err error = lookup(*handle, &request)) return error;
  if (!request->is_persistent) {
    return fail(
        MPI_ERR_REQUEST,
        fmt::format("MPI_Start: the request of {} is not persistent", request->call()));
  }
  return start_request(*rank_state(), *request);
}

Err startall(int count, MPI_Request* handles) {
  for (int i = 0; i < count; ++i) {
    if (const Err error = start(&handles[i])) return error;
  }
  return kSuccess;
}

Err request_free(MPI_Request* handle) {
  Request* request = nullptr;
  if (const Err error = lookup(*handle, &request)) return error;
  RankState& state = *rank_state();
  Err error;
  if (request->kind() == RequestKind::kGeneralized && request->is_done()) {
    const Generalized& fns = *request->generalized;
    if (fns.free != nullptr) error = Err{fns.free(fns.extra_state)};
  }
  *handle = MPI_REQUEST_NULL;
  Request::abandon(state, request);
  return error;
}

Err cancel(MPI_Request* handle) {
  Request* request = nullptr;
  if (const Err error = lookup(*handle, &request)) return error;
  if (!request->is_active) {
    return fail(MPI_ERR_REQUEST,
                "MPI_Cancel: the request is inactive: nothing was started");
  }
  RankState& state = *rank_state();
  switch (request->kind()) {
    case RequestKind::kSend:
    case RequestKind::kRecv:
      msg::cancel(*state.rank, request->message);
      break;
    case RequestKind::kBuffered:
      request->done_status.cancelled = request->buffered.cancel(*state.rank);
      break;
    case RequestKind::kGeneralized: {
      const Generalized& fns = *request->generalized;
      if (fns.cancel == nullptr) break;
      return Err{fns.cancel(fns.extra_state, request->is_done())};
    }
    case RequestKind::kSeveral:
    case RequestKind::kPartitioned:  // MPI-4.1 section 4.2.1
    case RequestKind::kFile:
      return fail(MPI_ERR_REQUEST,
                  fmt::format("MPI_Cancel: the request of {} cannot be "
                              "cancelled",
                              request->call()));
    case RequestKind::kCollective:
    case RequestKind::kSmallCollective:
    case RequestKind::kMeeting:
      return fail(MPI_ERR_REQUEST,
                  "MPI_Cancel: collective operations cannot be cancelled");
    case RequestKind::kDone:
      break;
  }
  return kSuccess;
}

Err test_cancelled(const MPI_Status* status, int* flag) {
  *flag = status_cancelled(*status);
  return kSuccess;
}

// --- generalized requests -------------------------------------------------------------------

Err grequest_start(MPI_Grequest_query_function* query_fn,
                   MPI_Grequest_free_function* free_fn,
                   MPI_Grequest_cancel_function* cancel_fn, void* extra_state,
                   Request** request) {
  Request* made = Request::make(*rank_state(), RequestKind::kGeneralized, nullptr,
                                "MPI_Grequest_start");
  made->generalized = std::make_unique<Generalized>();
  made->generalized->query = query_fn;
  made->generalized->free = free_fn;
  made->generalized->cancel = cancel_fn;
  made->generalized->extra_state = extra_state;
  made->is_active = true;
  *request = made;
  return kSuccess;
}

Err grequest_complete(Request& request) {
  if (request.kind() != RequestKind::kGeneralized) {
    return fail(MPI_ERR_REQUEST, "MPI_Grequest_complete: not a generalized request");
  }
  request.generalized->is_complete.store(true, std::memory_order_release);
  msg::notify(*rank_state()->rank);
  return kSuccess;
}

}  // namespace mpc::mpi::impl

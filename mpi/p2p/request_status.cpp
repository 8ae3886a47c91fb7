// Bodies of MPI-4.1 section 3.7.6: the status of requests, which are not changed.

#include "mpi/impl/p2p.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "mpi/objects/status.h"
#include "mpi/p2p/request_array.h"

namespace mpc::mpi::impl {

Err request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
  *flag = 1;
  set_empty(status);
  if (handle == MPI_REQUEST_NULL) return kSuccess;
  Request* request = nullptr;
  if (const Err error = lookup(handle, &request)) return error;
  if (!request->is_active) return kSuccess;
  *flag = test_for([&] { return request->is_done(); });
  if (!*flag) return kSuccess;
  if (request->kind() == RequestKind::kGeneralized)
    return Err{query_status(*request->generalized, status)};
  store_staged(*request);
  set_status(status, request->result());
  return kSuccess;
}

Err request_get_status_any(int count, const MPI_Request* handles, int* index, int* flag,
                           MPI_Status* status) {
  RequestArray requests;
  if (const Err error = requests.open(count, handles)) return error;
  *index = MPI_UNDEFINED;
  set_empty(status);
  if (requests.active() == 0) {
    *flag = 1;
    return kSuccess;
  }
  int done = -1;
  *flag = test_for([&] { return (done = requests.find_done()) >= 0; });
  if (!*flag) return kSuccess;
  *index = done;
  return request_get_status(handles[done], flag, status);
}

Err request_get_status_all(int count, const MPI_Request* handles, int* flag,
                           MPI_Status* statuses) {
  RequestArray requests;
  if (const Err error = requests.open(count, handles)) return error;
  *flag = test_for([&] { return requests.all_done(); });
  if (!*flag) return kSuccess;
  for (int i = 0; i < count; ++i) {
    int done = 0;
    if (const Err error = request_get_status(handles[i], &done, at(statuses, i)))
      return error;
  }
  return kSuccess;
}

Err request_get_status_some(int count, const MPI_Request* handles, int* outcount,
                            int* indices, MPI_Status* statuses) {
  RequestArray requests;
  if (const Err error = requests.open(count, handles)) return error;
  *outcount = requests.active() == 0 ? MPI_UNDEFINED : 0;
  if (requests.active() == 0) return kSuccess;
  test_for([&] { return requests.find_done() >= 0; });
  for (int i = 0; i < count; ++i) {
    if (requests[i] == nullptr || !requests[i]->is_done()) continue;
    int done = 0;
    if (const Err error =
            request_get_status(handles[i], &done, at(statuses, *outcount))) {
      return error;
    }
    indices[(*outcount)++] = i;
  }
  return kSuccess;
}

}  // namespace mpc::mpi::impl

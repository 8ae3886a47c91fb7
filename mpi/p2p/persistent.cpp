// Bodies of MPI-4.1 section 3.9: persistent sends and receives.

#include "mpi/impl/p2p.h"
#include "mpi/objects/request.h"
#include "mpi/p2p/make.h"

namespace mpc::mpi::impl {
namespace {

Err make_persistent(Request* request, Request** out) {
  request->is_persistent = true;
  *out = request;
  return kSuccess;
}

}  // namespace

Err send_init(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
              Comm& comm, Request** request) {
  return make_persistent(make_send("MPI_Send_init", buf, count, type, dest, tag, comm,
                                   msg::Mode::kStandard),
                         request);
}
Err ssend_init(const void* buf, Count count, const dt::Datatype& type, int dest,
               int tag, Comm& comm, Request** request) {
  return make_persistent(make_send("MPI_Ssend_init", buf, count, type, dest, tag, comm,
                                   msg::Mode::kSynchronous),
                         request);
}
Err rsend_init(const void* buf, Count count, const dt::Datatype& type, int dest,
               int tag, Comm& comm, Request** request) {
  return make_persistent(
      make_send("MPI_Rsend_init", buf, count, type, dest, tag, comm, msg::Mode::kReady),
      request);
}
Err bsend_init(const void* buf, Count count, const dt::Datatype& type, int dest,
               int tag, Comm& comm, Request** request) {
  return make_persistent(
      make_bsend("MPI_Bsend_init", buf, count, type, dest, tag, comm), request);
}
Err recv_init(void* buf, Count count, const dt::Datatype& type, int source, int tag,
              Comm& comm, Request** request) {
  return make_persistent(
      make_recv(this_rank(), "MPI_Recv_init", buf, count, type, source, tag, comm),
      request);
}

}  // namespace mpc::mpi::impl

// Bodies of MPI-4.1 chapter 3: blocking and non-blocking sends and receives.

#include <fmt/format.h>

#include <memory>
#include <new>

#include "mpi/impl/p2p.h"
#include "mpi/objects/buffered.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "mpi/objects/status.h"
#include "mpi/p2p/in_line.h"

namespace mpc::mpi::impl {
namespace {

Err start_now(Request* request, Request** out) {
  if (const Err error = start_request(*rank_state(), *request)) {
    Request::destroy(*rank_state(), request);
    return error;
  }
  *out = request;
  return kSuccess;
}

}  // namespace

// --- blocking -------------------------------------------------------------------------------

Err send(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
         Comm& comm) {
  return in_line::send(this_rank(), buf, count, type, dest, tag, comm);
}
Err ssend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
          Comm& comm) {
  return blocking_send("MPI_Ssend", buf, count, type, dest, tag, comm,
                       msg::Mode::kSynchronous);
}
Err rsend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
          Comm& comm) {
  return blocking_send("MPI_Rsend", buf, count, type, dest, tag, comm,
                       msg::Mode::kReady);
}
Err bsend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
          Comm& comm) {
  if (dest == MPI_PROC_NULL) return kSuccess;
  return buffered_send(
      send_args(buf, count, type, dest, tag, comm, msg::Mode::kStandard), comm);
}

Err recv(void* buf, Count count, const dt::Datatype& type, int source, int tag,
         Comm& comm, MPI_Status* status) {
  return in_line::recv(this_rank(), buf, count, type, source, tag, comm, status);
}

Err sendrecv(const void* sendbuf, Count sendcount, const dt::Datatype& sendtype,
             int dest, int sendtag, void* recvbuf, Count recvcount,
             const dt::Datatype& recvtype, int source, int recvtag, Comm& comm,
             MPI_Status* status) {
  job::Rank& self = comm.self();
  // A message that leaves at once needs no posted receive beside it: then this is a send and a receive.
  if (source != MPI_PROC_NULL && dest != MPI_PROC_NULL &&
      (send_if_small(sendbuf, sendcount, sendtype, dest, sendtag, comm) ||
       msg::send_at_once(self, send_args(sendbuf, sendcount, sendtype, dest, sendtag,
                                         comm, msg::Mode::kStandard))))
    return receive_in("MPI_Sendrecv", recvbuf, recvcount, recvtype, source, recvtag,
                      comm, status);
  msg::Request receive;
  if (source != MPI_PROC_NULL) {
    msg::start_recv(self, receive,
                    recv_args(recvbuf, recvcount, recvtype, source, recvtag, comm));
  }
  msg::Status sent;
  if (dest != MPI_PROC_NULL) {
    const P2pReason reason("MPI_Sendrecv", "send", sendcount, "to", dest, sendtag,
                           comm);
    sent = msg::send(self,
                     send_args(sendbuf, sendcount, sendtype, dest, sendtag, comm,
                               msg::Mode::kStandard),
                     reason);
  }
  if (source == MPI_PROC_NULL) {
    set_status(status, proc_null_status());
  } else {
    const P2pReason reason("MPI_Sendrecv", "receive", recvcount, "from", source,
                           recvtag, comm);
    msg::wait(self, receive, reason);
    set_status(status, receive.status());
    if (receive.status().failed) return error_of(receive.status());
  }
  return sent.failed ? error_of(sent) : kSuccess;
}

Err sendrecv_replace(void* buf, Count count, const dt::Datatype& type, int dest,
                     int sendtag, int source, int recvtag, Comm& comm,
                     MPI_Status* status) {
  const size_t bytes = static_cast<size_t>(type.size()) * static_cast<size_t>(count);
  const std::unique_ptr<char[]> packed(new (std::nothrow) char[bytes + 1]);
  if (packed == nullptr) {
    return fail(MPI_ERR_NO_MEM,
                fmt::format("MPI_Sendrecv_replace: no memory for a copy of {} "
                            "bytes",
                            bytes));
  }
  dt::pack(buf, type, count, 0, packed.get(), bytes);
  const dt::Datatype& byte = *dt::predefined(dt::abi::kByte);
  return sendrecv(packed.get(), static_cast<Count>(bytes), byte, dest, sendtag, buf,
                  count, type, source, recvtag, comm, status);
}

// --- non-blocking ---------------------------------------------------------------------------

Err isend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
          Comm& comm, Request** request) {
  return in_line::isend(this_rank(), buf, count, type, dest, tag, comm, request);
}
Err issend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
           Comm& comm, Request** request) {
  return isend_in(this_rank(), msg::Mode::kSynchronous, "MPI_Issend", buf, count, type,
                  dest, tag, comm, request);
}
Err irsend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
           Comm& comm, Request** request) {
  return isend_in(this_rank(), msg::Mode::kReady, "MPI_Irsend", buf, count, type, dest,
                  tag, comm, request);
}
Err ibsend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
           Comm& comm, Request** request) {
  return start_now(make_bsend("MPI_Ibsend", buf, count, type, dest, tag, comm),
                   request);
}
Err irecv(void* buf, Count count, const dt::Datatype& type, int source, int tag,
          Comm& comm, Request** request) {
  return in_line::irecv(this_rank(), buf, count, type, source, tag, comm, request);
}

namespace {

// MPI_Isendrecv: a send and a receive, each unless its peer is MPI_PROC_NULL.
struct SendReceive final : Several {
  msg::Request send, receiving;
  dt::TypeRef send_type, receive_type;
  std::unique_ptr<char[]> packed;  // MPI_Isendrecv_replace: what is sent
  const char* call = "";
  int dest = MPI_PROC_NULL, source = MPI_PROC_NULL;
  const Comm* comm = nullptr;

  std::string text() const override {
    return fmt::format("{} to {} and from {} on {}", call, dest, source,
                       comm->display_name());
  }
};

Request* start_both(std::unique_ptr<SendReceive> both, const msg::SendArgs& send,
                    const msg::RecvArgs& receive, Comm& comm) {
  RankState& state = *rank_state();
  Request* request = Request::make(state, RequestKind::kSeveral, &comm, both->call);
  request->is_active = true;
  request->done_status = proc_null_status();
  both->comm = &comm;  // the request keeps it
  both->send_type = dt::TypeRef(send.type);
  both->receive_type = dt::TypeRef(receive.type);
  if (both->source != MPI_PROC_NULL) {
    msg::start_recv(comm.self(), both->receiving, receive);
    both->messages.push_back(&both->receiving);
    both->receive = &both->receiving;
  }
  if (both->dest != MPI_PROC_NULL) {
    msg::start_send(comm.self(), both->send, send);
    both->messages.push_back(&both->send);
  }
  request->several = std::move(both);
  return request;
}

std::unique_ptr<SendReceive> make_both(const char* call, int dest, int source) {
  auto both = std::make_unique<SendReceive>();
  both->call = call;
  both->dest = dest;
  both->source = source;
  return both;
}

}  // namespace

Err isendrecv(const void* sendbuf, Count sendcount, const dt::Datatype& sendtype,
              int dest, int sendtag, void* recvbuf, Count recvcount,
              const dt::Datatype& recvtype, int source, int recvtag, Comm& comm,
              Request** request) {
  const msg::SendArgs send =
      send_args(sendbuf, sendcount, sendtype, dest == MPI_PROC_NULL ? 0 : dest, sendtag,
                comm, msg::Mode::kStandard);
  *request =
      start_both(make_both("MPI_Isendrecv", dest, source), send,
                 recv_args(recvbuf, recvcount, recvtype, source, recvtag, comm), comm);
  return kSuccess;
}

Err isendrecv_replace(void* buf, Count count, const dt::Datatype& type, int dest,
                      int sendtag, int source, int recvtag, Comm& comm,
                      Request** request) {
  const size_t bytes = static_cast<size_t>(type.size()) * static_cast<size_t>(count);
  auto both = make_both("MPI_Isendrecv_replace", dest, source);
  both->packed.reset(new (std::nothrow) char[bytes + 1]);
  if (both->packed == nullptr) {
    return fail(MPI_ERR_NO_MEM, fmt::format("no memory for a copy of {} bytes", bytes));
  }
  dt::pack(buf, type, count, 0, both->packed.get(), bytes);
  const msg::SendArgs send = send_args(
      both->packed.get(), static_cast<Count>(bytes), *dt::predefined(dt::abi::kByte),
      dest == MPI_PROC_NULL ? 0 : dest, sendtag, comm, msg::Mode::kStandard);
  *request = start_both(std::move(both), send,
                        recv_args(buf, count, type, source, recvtag, comm), comm);
  return kSuccess;
}

}  // namespace mpc::mpi::impl

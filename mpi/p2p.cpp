// Bodies of MPI-4.1 chapter 3: sends, receives, probes, persistent requests.

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <new>

#include "mpi/api/impl_p2p.h"
#include "mpi/buffered.h"
#include "mpi/comm.h"
#include "mpi/message.h"
#include "mpi/rank_state.h"
#include "mpi/request.h"
#include "mpi/status.h"
#include "mpi/wait_reasons.h"

namespace mpc::mpi::impl {
namespace {

msg::SendArgs send_args(const void* buffer, Count count, const dt::Datatype& type,
                        int dest, int tag, const Comm& comm, msg::Mode mode) noexcept {
  return {buffer,         count, &type,       comm.peer_world_rank(dest),
          comm.context(), tag,   comm.rank(), mode};
}
msg::RecvArgs recv_args(void* buffer, Count count, const dt::Datatype& type, int source,
                        int tag, const Comm& comm) noexcept {
  return {buffer, count, &type, source, comm.context(), tag};
}

Err blocking_send(const char* call, const void* buffer, Count count,
                  const dt::Datatype& type, int dest, int tag, Comm& comm,
                  msg::Mode mode) {
  if (dest == MPI_PROC_NULL) return kSuccess;
  const P2pReason reason(call, "send", count, "to", dest, tag, comm);
  const msg::Status status = msg::send(
      comm.self(), send_args(buffer, count, type, dest, tag, comm, mode), reason);
  return status.failed ? error_of(status) : kSuccess;
}

// A request that is complete from the start: communication with MPI_PROC_NULL.
Request* proc_null_request(RankState& state, Comm& comm, const char* call) {
  Request* request = Request::make(state, RequestKind::kDone, &comm, call);
  request->done_status = proc_null_status();
  return request;
}

Request* make_send(RequestKind kind, const char* call, const void* buffer, Count count,
                   const dt::Datatype& type, int dest, int tag, Comm& comm,
                   msg::Mode mode) {
  RankState& state = *rank_state();
  if (dest == MPI_PROC_NULL) return proc_null_request(state, comm, call);
  Request* request = Request::make(state, kind, &comm, call);
  request->send = send_args(buffer, count, type, dest, tag, comm, mode);
  request->peer = dest;
  request->type = dt::TypeRef(&type);
  return request;
}
Request* make_send(const char* call, const void* buffer, Count count,
                   const dt::Datatype& type, int dest, int tag, Comm& comm,
                   msg::Mode mode) {
  return make_send(RequestKind::kSend, call, buffer, count, type, dest, tag, comm,
                   mode);
}
Request* make_bsend(const char* call, const void* buffer, Count count,
                    const dt::Datatype& type, int dest, int tag, Comm& comm) {
  return make_send(RequestKind::kBuffered, call, buffer, count, type, dest, tag, comm,
                   msg::Mode::kStandard);
}

Request* make_recv(const char* call, void* buffer, Count count,
                   const dt::Datatype& type, int source, int tag, Comm& comm) {
  RankState& state = *rank_state();
  if (source == MPI_PROC_NULL) return proc_null_request(state, comm, call);
  Request* request = Request::make(state, RequestKind::kRecv, &comm, call);
  request->recv = recv_args(buffer, count, type, source, tag, comm);
  request->peer = source;
  request->type = dt::TypeRef(&type);
  return request;
}

Err start_now(Request* request, Request** out) {
  if (const Err error = start_request(*rank_state(), *request)) {
    Request::destroy(*rank_state(), request);
    return error;
  }
  *out = request;
  return kSuccess;
}

Err make_persistent(Request* request, Request** out) {
  request->is_persistent = true;
  *out = request;
  return kSuccess;
}

}  // namespace

// --- blocking -------------------------------------------------------------------------------

Err send(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
         Comm& comm) {
  return blocking_send("MPI_Send", buf, count, type, dest, tag, comm,
                       msg::Mode::kStandard);
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
  if (source == MPI_PROC_NULL) {
    set_status(status, proc_null_status());
    return kSuccess;
  }
  const P2pReason reason("MPI_Recv", "receive", count, "from", source, tag, comm);
  const msg::Status result =
      msg::recv(comm.self(), recv_args(buf, count, type, source, tag, comm), reason);
  set_status(status, result);
  return result.failed ? error_of(result) : kSuccess;
}

Err sendrecv(const void* sendbuf, Count sendcount, const dt::Datatype& sendtype,
             int dest, int sendtag, void* recvbuf, Count recvcount,
             const dt::Datatype& recvtype, int source, int recvtag, Comm& comm,
             MPI_Status* status) {
  job::Rank& self = comm.self();
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
  return start_now(
      make_send("MPI_Isend", buf, count, type, dest, tag, comm, msg::Mode::kStandard),
      request);
}
Err issend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
           Comm& comm, Request** request) {
  return start_now(make_send("MPI_Issend", buf, count, type, dest, tag, comm,
                             msg::Mode::kSynchronous),
                   request);
}
Err irsend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
           Comm& comm, Request** request) {
  return start_now(
      make_send("MPI_Irsend", buf, count, type, dest, tag, comm, msg::Mode::kReady),
      request);
}
Err ibsend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
           Comm& comm, Request** request) {
  return start_now(make_bsend("MPI_Ibsend", buf, count, type, dest, tag, comm),
                   request);
}
Err irecv(void* buf, Count count, const dt::Datatype& type, int source, int tag,
          Comm& comm, Request** request) {
  return start_now(make_recv("MPI_Irecv", buf, count, type, source, tag, comm),
                   request);
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

// --- persistent -----------------------------------------------------------------------------

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
      make_recv("MPI_Recv_init", buf, count, type, source, tag, comm), request);
}

// --- probe ----------------------------------------------------------------------------------

namespace {

struct ProbeArgs {
  job::Rank& self;
  int source;
  msg::ContextId context;
  int tag;
  msg::Status status;
  msg::MatchedMessage* matched = nullptr;
};

bool try_probe(void* argument) {
  auto& args = *static_cast<ProbeArgs*>(argument);
  return msg::iprobe(args.self, args.source, args.context, args.tag, &args.status);
}
bool try_mprobe(void* argument) {
  auto& args = *static_cast<ProbeArgs*>(argument);
  args.matched =
      msg::improbe(args.self, args.source, args.context, args.tag, &args.status);
  return args.matched != nullptr;
}

MPI_Message message_handle(Comm& comm, msg::MatchedMessage* matched) {
  return (new Message(comm, matched))->handle();
}

}  // namespace

Err probe(int source, int tag, Comm& comm, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_status(status, proc_null_status());
    return kSuccess;
  }
  ProbeArgs args{comm.self(), source, comm.context(), tag, {}};
  const P2pReason reason("MPI_Probe", "probe", kNoCount, "from", source, tag, comm);
  msg::wait_until(comm.self(), nullptr, 0, try_probe, &args, reason);
  set_status(status, args.status);
  return kSuccess;
}

Err iprobe(int source, int tag, Comm& comm, int* flag, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_status(status, proc_null_status());
    *flag = 1;
    return kSuccess;
  }
  msg::progress(comm.self());
  ProbeArgs args{comm.self(), source, comm.context(), tag, {}};
  *flag = try_probe(&args);
  if (*flag) {
    set_status(status, args.status);
  } else {
    msg::relax(comm.self());
  }
  return kSuccess;
}

Err mprobe(int source, int tag, Comm& comm, MPI_Message* message, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_status(status, proc_null_status());
    *message = MPI_MESSAGE_NO_PROC;
    return kSuccess;
  }
  ProbeArgs args{comm.self(), source, comm.context(), tag, {}};
  const P2pReason reason("MPI_Mprobe", "probe", kNoCount, "from", source, tag, comm);
  msg::wait_until(comm.self(), nullptr, 0, try_mprobe, &args, reason);
  set_status(status, args.status);
  *message = message_handle(comm, args.matched);
  return kSuccess;
}

Err improbe(int source, int tag, Comm& comm, int* flag, MPI_Message* message,
            MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_status(status, proc_null_status());
    *message = MPI_MESSAGE_NO_PROC;
    *flag = 1;
    return kSuccess;
  }
  msg::progress(comm.self());
  ProbeArgs args{comm.self(), source, comm.context(), tag, {}};
  *flag = try_mprobe(&args);
  if (*flag) {
    set_status(status, args.status);
    *message = message_handle(comm, args.matched);
  } else {
    *message = MPI_MESSAGE_NULL;
    msg::relax(comm.self());
  }
  return kSuccess;
}

namespace {

Request* make_mrecv(const char* call, void* buffer, Count count,
                    const dt::Datatype& type, Message& message) {
  RankState& state = *rank_state();
  Comm& comm = message.comm();
  Request* request = Request::make(state, RequestKind::kRecv, &comm, call);
  request->recv = recv_args(buffer, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, comm);
  request->peer = MPI_ANY_SOURCE;
  request->type = dt::TypeRef(&type);
  request->is_active = true;
  msg::start_mrecv(comm.self(), request->message, message.take(), buffer, count, &type);
  message.drop();
  return request;
}

}  // namespace

Err mrecv(void* buf, Count count, const dt::Datatype& type, MPI_Message* message,
          MPI_Status* status) {
  Request* request = nullptr;
  if (const Err error = imrecv(buf, count, type, message, &request)) return error;
  RankState& state = *rank_state();
  wait_done(state, *request, "MPI_Mrecv");
  MPI_Request handle = request->handle();
  return finish(state, &handle, *request, status);
}

Err imrecv(void* buf, Count count, const dt::Datatype& type, MPI_Message* message,
           Request** request) {
  if (*message == MPI_MESSAGE_NO_PROC) {
    *message = MPI_MESSAGE_NULL;
    *request = Request::make(*rank_state(), RequestKind::kDone, nullptr, "MPI_Imrecv");
    (*request)->done_status = proc_null_status();
    return kSuccess;
  }
  Message* object = nullptr;
  if (const Err error = lookup(*message, &object)) return error;
  *request = make_mrecv("MPI_Imrecv", buf, count, type, *object);
  *message = MPI_MESSAGE_NULL;
  return kSuccess;
}

}  // namespace mpc::mpi::impl

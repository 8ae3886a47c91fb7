// Bodies of MPI-4.1 section 3.8: probes, and receives of probed messages.

#include "mpi/impl/p2p.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/lookup.h"
#include "mpi/objects/message.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "mpi/objects/status.h"
#include "mpi/objects/wait_reasons.h"
#include "mpi/p2p/make.h"
#include "mpi/p2p/request_array.h"
#include "runtime/message/losses.h"

namespace mpc::mpi::impl {
namespace {

struct ProbeArgs {
  job::Rank& self;
  int source;
  msg::ContextId context;
  int tag;
  msg::Status status;
  msg::MatchedMessage* matched = nullptr;
};

// True if no message has come, and none will, because the sender has died.
[[gnu::cold]] bool is_in_vain(ProbeArgs& args) {
  const msg::Loss loss =
      msg::take_loss(args.self.world_rank, args.context, args.source);
  if (!loss.is_there) return false;
  args.status.failed = true;
  args.status.error = Errc::kLost;
  args.status.source = loss.source;
  args.status.tag = args.tag;
  return true;
}

bool try_probe(void* argument) {
  auto& args = *static_cast<ProbeArgs*>(argument);
  if (msg::iprobe(args.self, args.source, args.context, args.tag, &args.status))
    return true;
  return job::losses::any() && is_in_vain(args);
}
bool try_mprobe(void* argument) {
  auto& args = *static_cast<ProbeArgs*>(argument);
  args.matched =
      msg::improbe(args.self, args.source, args.context, args.tag, &args.status);
  if (args.matched != nullptr) return true;
  return job::losses::any() && is_in_vain(args);
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
  if (msg::probe_quickly(args.self, source, args.context, tag, &args.status)) {
    set_status(status, args.status);
    return kSuccess;
  }
  const P2pReason reason("MPI_Probe", "probe", kNoCount, "from", source, tag, comm);
  msg::wait_for_message(args.self, args.context, source, try_probe, &args, reason);
  set_status(status, args.status);
  return error_of(args.status);
}

Err iprobe(int source, int tag, Comm& comm, int* flag, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_status(status, proc_null_status());
    *flag = 1;
    return kSuccess;
  }
  ProbeArgs args{comm.self(), source, comm.context(), tag, {}};
  // Progress would take a small message out of the ring, for the receive that follows to find elsewhere. That a sender
  // has died is for after it: what it has sent before may still have to come.
  *flag = msg::iprobe(args.self, source, args.context, tag, &args.status) ||
          test_after_progress(args.self, [&] { return try_probe(&args); });
  if (!*flag) return kSuccess;
  set_status(status, args.status);
  if (args.status.failed) *flag = 0;
  return error_of(args.status);
}

Err mprobe(int source, int tag, Comm& comm, MPI_Message* message, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_status(status, proc_null_status());
    *message = MPI_MESSAGE_NO_PROC;
    return kSuccess;
  }
  ProbeArgs args{comm.self(), source, comm.context(), tag, {}};
  const P2pReason reason("MPI_Mprobe", "probe", kNoCount, "from", source, tag, comm);
  msg::wait_for_message(args.self, args.context, source, try_mprobe, &args, reason);
  set_status(status, args.status);
  if (args.status.failed) return error_of(args.status);
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
  ProbeArgs args{comm.self(), source, comm.context(), tag, {}};
  *message = MPI_MESSAGE_NULL;
  *flag = test_after_progress(args.self, [&] { return try_mprobe(&args); });
  if (!*flag) return kSuccess;
  set_status(status, args.status);
  if (args.status.failed) {
    *flag = 0;
    return error_of(args.status);
  }
  *message = message_handle(comm, args.matched);
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
    (*request)->is_active = true;
    return kSuccess;
  }
  Message* object = nullptr;
  if (const Err error = lookup(*message, &object)) return error;
  *request = make_mrecv("MPI_Imrecv", buf, count, type, *object);
  *message = MPI_MESSAGE_NULL;
  return kSuccess;
}

}  // namespace mpc::mpi::impl

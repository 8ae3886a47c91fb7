// MPI-4.1 chapter 3 with mpi.check=full: sends, receives, matched probes.

#include "mpi/check/watched.h"
#include "mpi/checked/p2p.h"
#include "mpi/impl/p2p.h"

namespace mpc::mpi::checked {

std::shared_ptr<SentNote> announce(const Peer& to, Count count,
                                   const dt::Datatype& type) {
  if (to.is_null()) return nullptr;
  std::shared_ptr<SentNote> note = send_note(to.comm, to.rank, to.tag, count, type);
  if (!note->request.is_complete()) Watch::here().keep(note);
  return note;
}

ReceiveRef expect(const Peer& from, Count count, const dt::Datatype& type) {
  if (from.is_null()) return nullptr;
  ReceiveRef receive = Watch::here().post(from.comm, from.rank, from.tag);
  receive->set_call(count, type, this_call());
  return receive;
}

void end(const ReceiveRef& receive, const msg::Status& status) {
  if (receive == nullptr) return;
  Watch& watch = Watch::here();
  watch.note_end(*receive, status);
  watch.settle(receive->comm);
}

namespace {

// --- blocking -------------------------------------------------------------------------------

// A send of any of the four modes: they do not differ in anything that is checked.
template <class Send>
Err send_as(Send send, const void* buf, Count count, const dt::Datatype& type, int dest,
            int tag, Comm& comm) {
  if (dest != MPI_PROC_NULL)
    Watch::here().buffers.look({Buffer{buf, count, type}.read()});
  announce({comm, dest, tag}, count, type);
  return send(buf, count, type, dest, tag, comm);
}

}  // namespace

Err send(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
         Comm& comm) {
  return send_as(impl::send, buf, count, type, dest, tag, comm);
}
Err ssend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
          Comm& comm) {
  return send_as(impl::ssend, buf, count, type, dest, tag, comm);
}
Err rsend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
          Comm& comm) {
  return send_as(impl::rsend, buf, count, type, dest, tag, comm);
}
Err bsend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
          Comm& comm) {
  return send_as(impl::bsend, buf, count, type, dest, tag, comm);
}

Err recv(void* buf, Count count, const dt::Datatype& type, int source, int tag,
         Comm& comm, MPI_Status* status) {
  const OwnStatus own(status);
  const ReceiveRef receive = expect({comm, source, tag}, count, type);
  if (receive != nullptr)
    Watch::here().buffers.look({Buffer{buf, count, type}.written()});
  const Err error = impl::recv(buf, count, type, source, tag, comm, status);
  msg::Status ended = status_of(*status);
  ended.failed = static_cast<bool>(error);
  end(receive, ended);
  return error;
}

namespace {

// Both halves of MPI_Sendrecv and MPI_Sendrecv_replace.
template <class Call>
Err exchange(const Buffer& out, const Peer& to, const Buffer& in, const Peer& from,
             bool is_in_place, MPI_Status* status, Call call) {
  std::vector<BufferUse> uses;
  if (!to.is_null() && !is_in_place) uses.push_back(out.read());
  if (!from.is_null()) uses.push_back(in.written());
  Watch::here().buffers.look(uses);
  const ReceiveRef receive = expect(from, in.count, in.type);
  announce(to, out.count, out.type);
  const Err error = call(status);
  msg::Status ended = status_of(*status);
  ended.failed = static_cast<bool>(error);
  end(receive, ended);
  return error;
}

}  // namespace

Err sendrecv(const void* sendbuf, Count sendcount, const dt::Datatype& sendtype,
             int dest, int sendtag, void* recvbuf, Count recvcount,
             const dt::Datatype& recvtype, int source, int recvtag, Comm& comm,
             MPI_Status* status) {
  const OwnStatus own(status);
  return exchange({sendbuf, sendcount, sendtype}, {comm, dest, sendtag},
                  {recvbuf, recvcount, recvtype}, {comm, source, recvtag}, false,
                  status, [&](MPI_Status* out) {
                    return impl::sendrecv(sendbuf, sendcount, sendtype, dest, sendtag,
                                          recvbuf, recvcount, recvtype, source, recvtag,
                                          comm, out);
                  });
}

Err sendrecv_replace(void* buf, Count count, const dt::Datatype& type, int dest,
                     int sendtag, int source, int recvtag, Comm& comm,
                     MPI_Status* status) {
  const OwnStatus own(status);
  const Buffer buffer{buf, count, type};
  return exchange(buffer, {comm, dest, sendtag}, buffer, {comm, source, recvtag}, true,
                  status, [&](MPI_Status* out) {
                    return impl::sendrecv_replace(buf, count, type, dest, sendtag,
                                                  source, recvtag, comm, out);
                  });
}

// --- matched probes ---------------------------------------------------------------------------

namespace {

// The probe has taken a message: it takes the place of a receive.
void keep_probed(Comm& comm, MPI_Message message, const MPI_Status& status) {
  if (message == MPI_MESSAGE_NO_PROC || message == MPI_MESSAGE_NULL) return;
  Watch& watch = Watch::here();
  ReceiveRef receive = watch.post(comm, status.MPI_SOURCE, status.MPI_TAG);
  end(receive, status_of(status));
  const std::lock_guard lock(watch.mutex);
  watch.probed[message] = std::move(receive);
}

// The receive of the message that is about to be received; null: from MPI_PROC_NULL.
ReceiveRef take_probed(MPI_Message message, Count count, const dt::Datatype& type) {
  Watch& watch = Watch::here();
  ReceiveRef receive;
  {
    const std::lock_guard lock(watch.mutex);
    const auto found = watch.probed.find(message);
    if (found == watch.probed.end()) return nullptr;
    receive = std::move(found->second);
    watch.probed.erase(found);
  }
  // A message longer than the buffer is an error already.
  receive->has_failed = receive->bytes > count * type.size();
  watch.set_call(*receive, count, type);
  return receive;
}

}  // namespace

Err mprobe(int source, int tag, Comm& comm, MPI_Message* message, MPI_Status* status) {
  const OwnStatus own(status);
  const Err error = impl::mprobe(source, tag, comm, message, status);
  if (!error) keep_probed(comm, *message, *status);
  return error;
}
Err improbe(int source, int tag, Comm& comm, int* flag, MPI_Message* message,
            MPI_Status* status) {
  const OwnStatus own(status);
  const Err error = impl::improbe(source, tag, comm, flag, message, status);
  if (!error && *flag != 0) keep_probed(comm, *message, *status);
  return error;
}
Err mrecv(void* buf, Count count, const dt::Datatype& type, MPI_Message* message,
          MPI_Status* status) {
  if (take_probed(*message, count, type) != nullptr)
    Watch::here().buffers.look({Buffer{buf, count, type}.written()});
  return impl::mrecv(buf, count, type, message, status);
}
Err imrecv(void* buf, Count count, const dt::Datatype& type, MPI_Message* message,
           Request** request) {
  const ReceiveRef receive = take_probed(*message, count, type);
  const Err error = impl::imrecv(buf, count, type, message, request);
  if (error || receive == nullptr) return error;
  auto watched = std::make_shared<Watched>();
  watched->site = this_call();
  watched->uses.push_back(Buffer{buf, count, type}.written());
  begin(*watched);
  attach(*request, std::move(watched));
  return error;
}

}  // namespace mpc::mpi::checked

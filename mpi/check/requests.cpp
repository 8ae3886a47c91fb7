// MPI-4.1 sections 3.7 and 3.9 with mpi.check=full: operations that start, and requests.

#include <fmt/format.h>

#include <vector>

#include "mpi/check/watched.h"
#include "mpi/checked/p2p.h"
#include "mpi/impl/p2p.h"
#include "mpi/objects/lookup.h"

namespace mpc::mpi::checked {

WatchedRef watched_half(const Buffer& buffer, const Peer& peer, bool is_send) {
  auto out = std::make_shared<Watched>();
  out->site = this_call();
  if (peer.is_null()) return out;
  out->uses.push_back(is_send ? buffer.read() : buffer.written());
  out->comm = &peer.comm;  // the request keeps it
  out->is_send = is_send;
  out->peer = peer.rank;
  out->tag = peer.tag;
  out->count = buffer.count;
  out->type = dt::TypeRef(&buffer.type);
  return out;
}

void begin(Watched& watched) {
  Watch::here().buffers.begin(&watched, watched.uses);
  if (watched.comm == nullptr) return;
  const Peer peer{*watched.comm, watched.peer, watched.tag};
  if (watched.is_send) {
    watched.note = announce(peer, watched.count, *watched.type);
  } else {
    watched.receive = expect(peer, watched.count, *watched.type);
    watched.receive->site = watched.site;
  }
}

void attach(Request* request, WatchedRef watched) {
  Watch& watch = Watch::here();
  const std::lock_guard lock(watch.mutex);
  if (watched->receive != nullptr) watched->receive->request = request;
  watch.requests[request] = std::move(watched);
}

namespace {

// The operation was not started after all: withdraws what begin() has registered.
Err give_up(Watched& watched, Err error) {
  Watch& watch = Watch::here();
  watch.buffers.end(&watched, false);
  if (watched.receive != nullptr) watch.lose(*watched.receive);
  return error;
}

template <class Call, class Pointer>
Err start_half(Call call, bool is_send, Pointer buf, Count count,
               const dt::Datatype& type, int peer, int tag, Comm& comm,
               Request** request) {
  WatchedRef watched = watched_half({buf, count, type}, {comm, peer, tag}, is_send);
  begin(*watched);
  if (const Err error = call(buf, count, type, peer, tag, comm, request))
    return give_up(*watched, error);
  attach(*request, std::move(watched));
  return kSuccess;
}

template <class Call, class Pointer>
Err prepare_half(Call call, bool is_send, Pointer buf, Count count,
                 const dt::Datatype& type, int peer, int tag, Comm& comm,
                 Request** request) {
  if (const Err error = call(buf, count, type, peer, tag, comm, request)) return error;
  WatchedRef watched = watched_half({buf, count, type}, {comm, peer, tag}, is_send);
  watched->is_persistent = true;
  attach(*request, std::move(watched));
  return kSuccess;
}

}  // namespace

Err isend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
          Comm& comm, Request** request) {
  return start_half(impl::isend, true, buf, count, type, dest, tag, comm, request);
}
Err issend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
           Comm& comm, Request** request) {
  return start_half(impl::issend, true, buf, count, type, dest, tag, comm, request);
}
Err irsend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
           Comm& comm, Request** request) {
  return start_half(impl::irsend, true, buf, count, type, dest, tag, comm, request);
}
Err ibsend(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
           Comm& comm, Request** request) {
  return start_half(impl::ibsend, true, buf, count, type, dest, tag, comm, request);
}
Err irecv(void* buf, Count count, const dt::Datatype& type, int source, int tag,
          Comm& comm, Request** request) {
  return start_half(impl::irecv, false, buf, count, type, source, tag, comm, request);
}

Err send_init(const void* buf, Count count, const dt::Datatype& type, int dest, int tag,
              Comm& comm, Request** request) {
  return prepare_half(impl::send_init, true, buf, count, type, dest, tag, comm,
                      request);
}
Err ssend_init(const void* buf, Count count, const dt::Datatype& type, int dest,
               int tag, Comm& comm, Request** request) {
  return prepare_half(impl::ssend_init, true, buf, count, type, dest, tag, comm,
                      request);
}
Err rsend_init(const void* buf, Count count, const dt::Datatype& type, int dest,
               int tag, Comm& comm, Request** request) {
  return prepare_half(impl::rsend_init, true, buf, count, type, dest, tag, comm,
                      request);
}
Err bsend_init(const void* buf, Count count, const dt::Datatype& type, int dest,
               int tag, Comm& comm, Request** request) {
  return prepare_half(impl::bsend_init, true, buf, count, type, dest, tag, comm,
                      request);
}
Err recv_init(void* buf, Count count, const dt::Datatype& type, int source, int tag,
              Comm& comm, Request** request) {
  return prepare_half(impl::recv_init, false, buf, count, type, source, tag, comm,
                      request);
}

Err start(MPI_Request* handle) {
  Request* request = nullptr;
  if (const Err error = lookup(*handle, &request)) return error;
  const WatchedRef watched = Watch::here().find(request);
  const bool begins = watched != nullptr && !request->is_active;
  if (begins) begin(*watched);
  if (const Err error = impl::start(handle))
    return begins ? give_up(*watched, error) : error;
  if (begins) attach(request, watched);
  return kSuccess;
}

Err startall(int count, MPI_Request* handles) {
  for (int i = 0; i < count; ++i) {
    if (const Err error = start(&handles[i])) return error;
  }
  return kSuccess;
}

namespace {

// Both halves of one request. The send only gets a note, because the request is watched as a
// receive.
template <class Call>
Err start_both(const Buffer& out, const Peer& to, const Buffer& in, const Peer& from,
               bool is_in_place, Request** request, Call call) {
  WatchedRef watched = watched_half(in, from, false);
  if (!to.is_null() && !is_in_place) watched->uses.push_back(out.read());
  begin(*watched);
  announce(to, out.count, out.type);
  if (const Err error = call()) return give_up(*watched, error);
  attach(*request, std::move(watched));
  return kSuccess;
}

}  // namespace

Err isendrecv(const void* sendbuf, Count sendcount, const dt::Datatype& sendtype,
              int dest, int sendtag, void* recvbuf, Count recvcount,
              const dt::Datatype& recvtype, int source, int recvtag, Comm& comm,
              Request** request) {
  return start_both(
      {sendbuf, sendcount, sendtype}, {comm, dest, sendtag},
      {recvbuf, recvcount, recvtype}, {comm, source, recvtag}, false, request, [&] {
        return impl::isendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                               recvcount, recvtype, source, recvtag, comm, request);
      });
}

Err isendrecv_replace(void* buf, Count count, const dt::Datatype& type, int dest,
                      int sendtag, int source, int recvtag, Comm& comm,
                      Request** request) {
  const Buffer buffer{buf, count, type};
  return start_both(buffer, {comm, dest, sendtag}, buffer, {comm, source, recvtag},
                    true, request, [&] {
                      return impl::isendrecv_replace(buf, count, type, dest, sendtag,
                                                     source, recvtag, comm, request);
                    });
}

namespace {

// MPI-4.1 section 6.12: the request of a collective must not be freed before it is complete.
void look_at_freed(const Request& request, CallSite made) {
  if (request.kind() != RequestKind::kCollective) return;
  const CallSite site = this_call();
  report_fault("freed while active", place_of(made.address), place_of(site.address),
               [&] {
                 return fmt::format(
                     "the request of a collective is freed before it is complete\n"
                     "  {} of rank {}: {}\n  freed by {}",
                     call_at(made), request.owner(), request.text(), call_at(site));
               });
}

}  // namespace

Err request_free(MPI_Request* handle) {
  Request* request = nullptr;
  if (const Err error = lookup(*handle, &request)) return error;
  Watch& watch = Watch::here();
  const WatchedRef watched = watch.find(request);
  const CallSite made = watched != nullptr ? watched->site : CallSite{};
  if (request->is_active) look_at_freed(*request, made);
  ReceiveRef receive;
  if (watched != nullptr) {
    watch.buffers.end(watched.get(), false);
    if (watched->note != nullptr) watch.keep(watched->note);
    receive = std::move(watched->receive);
    const std::lock_guard lock(watch.mutex);
    watch.requests.erase(request);
  }
  // The request lives until its operation has ended; the code that frees it then reports its status
  // (mpi/objects/made.cpp).
  if (request->is_active) watch.note_freed(*request, made, std::move(receive));
  return impl::request_free(handle);
}

}  // namespace mpc::mpi::checked

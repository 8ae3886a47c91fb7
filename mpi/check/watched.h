#pragma once
// Watched calls: how calls of point-to-point communication inform the rank's Watch.
//
// Role:      sends a note before each message, gives each receive its place in the order of
//            matching, and names the buffers of both.
// Users:     mpi/check.
// Threads:   any execution of the rank.
// See also:  mpi/objects/watch.h, docs/design/0034-checking.md.

#include <memory>
#include <utility>

#include "mpi/objects/request.h"
#include "mpi/objects/status.h"
#include "mpi/objects/watch.h"

namespace mpc::mpi::checked {

using dt::Count;

// One buffer, and what is done with it.
struct Buffer {
  const void* base;
  Count count;
  const dt::Datatype& type;

  BufferUse read() const { return {base, count, type, false, this_call()}; }
  BufferUse written() const { return {base, count, type, true, this_call()}; }
};

// The partner of a send or receive.
struct Peer {
  Comm& comm;
  int rank, tag;

  bool is_null() const noexcept { return rank == MPI_PROC_NULL; }
};

// Sends the note of a send that follows at once; null for MPI_PROC_NULL.
std::shared_ptr<SentNote> announce(const Peer& to, Count count,
                                   const dt::Datatype& type);
// Registers a receive that is posted at once; null for MPI_PROC_NULL.
ReceiveRef expect(const Peer& from, Count count, const dt::Datatype& type);

// The description of a request that this call will create.
WatchedRef watched_half(const Buffer& buffer, const Peer& peer, bool is_send);
// The operation of the request begins: buffers, note, order of matching. Caller: before it starts
// it.
void begin(Watched& watched);
// The request is created: it is watched until it is freed.
void attach(Request* request, WatchedRef watched);

// Compares a receive that has ended with its note.
void end(const ReceiveRef& receive, const msg::Status& status);

inline msg::Status status_of(const MPI_Status& status) noexcept {
  msg::Status out;
  out.source = status.MPI_SOURCE;
  out.tag = status.MPI_TAG;
  out.bytes = status_bytes(status);
  out.cancelled = status_cancelled(status);
  return out;
}

// The status of a call whose caller may have passed none.
class OwnStatus {
 public:
  explicit OwnStatus(MPI_Status*& status) noexcept {
    if (status == MPI_STATUS_IGNORE) status = &own_;
  }

 private:
  MPI_Status own_{};
};

}  // namespace mpc::mpi::checked

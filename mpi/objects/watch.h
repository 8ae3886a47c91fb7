#pragma once
// Watch: the operations of a rank that are under way, as mpi.check=full knows them.
//
// Role:      knows which buffers they use, and which messages receives have taken: the note of
//            each message is compared with its receive.
// Users:     mpi/check (point to point), mpi/coll (buffers), mpi/objects.
// Threads:   any execution of the rank.
// See also:  docs/design/0034-checking.md; mpi/objects/note.h, mpi/objects/buffers_in_use.h.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "mpi/objects/buffers_in_use.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/note.h"
#include "mpi/objects/open_receives.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi {

class Win;

// The data kept for a request, until it is freed.
struct Watched {
  CallSite site;  // of the call that has created it
  bool is_persistent = false;
  std::vector<BufferUse> uses;  // while it is active
  // For a send or receive; null comm: another operation.
  Comm* comm = nullptr;
  bool is_send = false;
  int peer = 0, tag = 0;
  dt::Count count = 0;
  dt::TypeRef type;
  std::shared_ptr<SentNote> note;  // of the send that is under way
  ReceiveRef receive;              // the receive that is
};
using WatchedRef = std::shared_ptr<Watched>;

// A request that the program has freed before its operation has ended.
struct Freed {
  CallSite made, freed;
  ReceiveRef receive;  // or null
};

struct Watch {
  // The calling rank's; created at the first use.
  static Watch& here();
  explicit Watch(job::Rank& rank) noexcept : self(rank) {}
  ~Watch();

  // Caller: before it posts the receive; a matched probe once it has taken its message. The order
  // of these calls is that of matching.
  ReceiveRef post(Comm& comm, int source, int tag);
  WatchedRef find(const Request* request);  // null: it is not watched
  // The receive has ended with this status. settle() follows.
  void note_end(Receive& receive, const msg::Status& status);
  // Takes the notes of receives that have ended, as far as it is certain which notes are theirs,
  // and compares them. Switches: yes.
  void settle(const Comm& comm);
  // It cannot be known which message this receive takes: no receive of its communicator is
  // compared any more.
  void lose(Receive& receive);
  // Sets the call of a receive whose note may be there already, and compares the two.
  void set_call(Receive& receive, dt::Count count, const dt::Datatype& type);
  // Keeps a note that the network may still need.
  void keep(std::shared_ptr<SentNote> note);
  // This call frees the active request, which lives until its operation has ended: note_gone().
  void note_freed(const Request& request, CallSite made, ReceiveRef receive);
  void note_gone(const Request& request);
  // Empty: the program has completed the request, or not freed it.
  std::optional<Freed> freed(const Request& request);

  job::Rank& self;
  BuffersInUse buffers;
  std::mutex mutex;  // of what follows; not held while anything is sent or received
  std::unordered_map<const Request*, WatchedRef> requests;
  std::unordered_map<const void*, ReceiveRef> probed;  // by MPI_Message
  // Operations on windows that are not complete here, by target.
  std::unordered_map<const Win*, std::map<int, std::vector<WatchedRef>>> one_sided;

 private:
  struct Stream {
    OpenReceives receives;
    bool is_lost = false;
    bool is_settling = false;  // one thread at a time takes notes
  };

  std::unordered_map<msg::ContextId, Stream> streams_;
  std::unordered_map<const Request*, Freed> freed_;
  std::vector<std::shared_ptr<SentNote>> notes_;
  size_t notes_before_look_ =
      0;  // the number of notes at which finished ones are dropped
};

}  // namespace mpc::mpi

#pragma once
// Watch: what mpi.check=full knows of the operations of a rank that are under way.
//
// Role:      which buffers they use, and which messages receives have taken: the note of each message is
//            compared with its receive.
// Users:     mpi/check (point to point), mpi/coll (buffers), mpi/objects.
// Threads:   any execution of the rank.
// See also:  docs/design/0034-checking.md; mpi/objects/note.h, mpi/objects/buffers_in_use.h.

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "mpi/objects/buffers_in_use.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/note.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi {

class Request;

// One receive, or a message that a matched probe has taken: from its posting until its note is there.
struct Receive {
  explicit Receive(Comm& its_comm, int its_source, int its_tag) noexcept;
  ~Receive();
  Receive(const Receive&) = delete;
  Receive& operator=(const Receive&) = delete;

  bool may_take(int from, int with_tag) const noexcept {
    return (source == from || source == msg::kAnySource) &&
           (tag == with_tag || tag == msg::kAnyTag);
  }
  // Its call: known from the start, of a matched probe later.
  void set_call(dt::Count its_count, const dt::Datatype& its_type, CallSite its_site) {
    count = its_count;
    type = dt::TypeRef(&its_type);
    site = its_site;
  }

  Comm& comm;
  int source, tag;  // as posted, then those of the message
  const Request* request =
      nullptr;  // while the program has not completed it: asked whether it has ended
  bool has_ended = false, was_cancelled = false, has_failed = false;
  int64_t bytes = 0;
  dt::Count count = 0;
  dt::TypeRef type;
  CallSite site;
  std::optional<Note> note;
};
using ReceiveRef = std::shared_ptr<Receive>;

// What belongs to a request, until it is freed.
struct Watched {
  CallSite site;  // of the call that has made it
  bool is_persistent = false;
  std::vector<BufferUse> uses;  // while it is active
  // Of a send or receive; null comm: another operation.
  Comm* comm = nullptr;
  bool is_send = false;
  int peer = 0, tag = 0;
  dt::Count count = 0;
  dt::TypeRef type;
  std::shared_ptr<SentNote> note;  // of the send that is under way
  ReceiveRef receive;              // the receive that is
};
using WatchedRef = std::shared_ptr<Watched>;

struct Watch {
  // Of the calling rank; made at the first use.
  static Watch& here();
  explicit Watch(job::Rank& rank) noexcept : self(rank) {}
  ~Watch();

  // Before the receive is posted, and when it has been: the order of these calls is that of matching.
  ReceiveRef post(Comm& comm, int source, int tag);
  WatchedRef find(const Request* request);  // null: it is not watched
  // It has ended as this says. Then settle().
  void note_end(Receive& receive, const msg::Status& status);
  // Takes and compares the notes of receives that have ended, as far as it is certain which ones are
  // theirs. Switches: yes.
  void settle(const Comm& comm);
  // It cannot be known what this one takes: no receive of its communicator is compared any more.
  void lose(Receive& receive);
  // The call of a receive whose note may be there already. Compares them.
  void set_call(Receive& receive, dt::Count count, const dt::Datatype& type);
  // Keeps a note that may still be needed by the network.
  void keep(std::shared_ptr<SentNote> note);

  job::Rank& self;
  BuffersInUse buffers;
  std::mutex mutex;  // of what follows; not held while anything is sent or received
  std::unordered_map<const Request*, WatchedRef> requests;
  std::unordered_map<const void*, ReceiveRef> probed;  // by MPI_Message

 private:
  struct Stream {
    std::deque<ReceiveRef> receives;  // in order of posting
    bool is_lost = false;
    bool is_settling = false;  // one thread at a time takes notes
  };
  ReceiveRef next_ripe(Stream& stream);

  std::unordered_map<msg::ContextId, Stream> streams_;
  std::vector<std::shared_ptr<SentNote>> notes_;
};

}  // namespace mpc::mpi

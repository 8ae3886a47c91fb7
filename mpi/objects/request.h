#pragma once
// Request: the object behind an MPI_Request.
//
// Role:      one operation that was started and is not yet completed by its owner: point to
//            point, partitioned, collective, generalized; persistent or not.
// Users:     mpi: the chapters whose calls have requests; mpi/objects, mpi/check.
// Threads:   any execution of the owning rank; two of them may not complete the same request
//            at once (MPI-4.1 section 11.6.2). The operation itself may finish anywhere.
// See also:  runtime/message/message.h, nbc/engine/engine.h; MPI-4.1 sections 3.7, 3.9, 13.2.
//
//                start                         the operation ends        wait/test
//   inactive -------------> active, not done -----------------> active, done ------> inactive
//      ^                                                                             |
//      +----------- persistent requests only; others are freed instead <-------------+

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/spin_lock.h"
#include "mpi.h"
#include "mpi/objects/buffered.h"
#include "mpi/objects/error.h"
#include "mpi/objects/object.h"
#include "nbc/direct/pending.h"
#include "nbc/engine/engine.h"
#include "nbc/overlap/tree_split.h"
#include "runtime/message/message.h"

namespace mpc::mpi {

class Comm;
struct RankState;

enum class RequestKind : uint8_t {
  kDone,  // complete from the start: MPI_PROC_NULL, collectives without work
  kSend,
  kRecv,
  kSeveral,  // more than one message: MPI_Isendrecv, MPI_Buffer_iflush
  kBuffered,  // MPI_Ibsend, MPI_Bsend_init: the data are copied at the start, then it is done
  kCollective,
  kSmallCollective,  // without a schedule: nbc/direct/pending.h
  kGeneralized,
  kMeeting,  // of members of several processes: MPI_Comm_idup when ids have to be agreed on
  kPartitioned,
  kFile,  // non-blocking access to a file
};

constexpr bool is_of_message(RequestKind kind) noexcept {
  return kind == RequestKind::kSend || kind == RequestKind::kRecv;
}

// The arguments that the user gave to MPI_Grequest_start (MPI-4.1 section 13.2).
struct Generalized {
  MPI_Grequest_query_function* query = nullptr;
  MPI_Grequest_free_function* free = nullptr;
  MPI_Grequest_cancel_function* cancel = nullptr;
  void* extra_state = nullptr;
  std::atomic<bool> is_complete{
      false};  // MPI_Grequest_complete: release, is_done: acquire
};

// For a kSeveral request: its messages, and what they need until they are complete. For a kMeeting
// request, which has no messages: how to find out that it is over. For a kPartitioned or kFile
// request: everything.
struct Several {
  virtual ~Several() = default;
  virtual bool is_over() { return true; }
  virtual std::string text() const = 0;
  // For a kPartitioned or kFile request, in this order: a round begins; its result, once it is
  // over; its error, if it has failed (a file's is blamed already); may another thread of the
  // program end a wait for it?
  virtual void start() {}
  virtual const msg::Status& outcome() const noexcept;
  static const msg::Status& nothing() noexcept;  // of what succeeds
  virtual Err error() { return kSuccess; }
  virtual bool can_end_by_itself() const { return false; }
  // The caller waits until it is over, now or soon. help(): what no other thread has begun the caller may do itself.
  virtual void note_wait() noexcept {}
  virtual void help() {}
  std::vector<msg::Request*> messages;
  const msg::Request* receive = nullptr;  // one of them, whose status is the request's
};

// Copies that an operation works on instead of the user's buffers (array sections of Fortran).
struct StagedBuffers {
  virtual ~StagedBuffers() = default;
  virtual void load() noexcept = 0;   // before each start but the first
  virtual void store() noexcept = 0;  // when it has ended
};

// What a collective holds until it ends: schedule in flight, temporary arrays. Owned by the
// request, created by mpi/coll.
struct CollectiveState {
  virtual ~CollectiveState() = default;
  nbc::CollectivePtr collective;
  nbc::SplitCall split;  // wants to know how long the program computes before it waits
  std::unique_ptr<StagedBuffers> staged;
  bool is_stored = false;  // staged: since the last start
};

// What a message needs stands together, in as few lines as possible: a window of 64 fits into a first-level cache.
class alignas(64) Request final : public Object {
 public:
  // Both: caller is an execution of the rank. Cost: a free list of the rank.
  static Request* make(RankState& state, RequestKind kind, Comm* comm,
                       const char* call);
  static void destroy(RankState& state, Request* request) noexcept;
  // The usual cases of make(), for kSend and kRecv, and of finish(), without a call:
  // mpi/objects/request_quick.h. finish_quickly() is for a done request; false: call finish().
  static Request* make_quickly(RankState& state, RequestKind kind, Comm* comm,
                               const char* call);
  static bool finish_quickly(RankState& state, MPI_Request* handle, Request& request,
                             MPI_Status* status) noexcept;
  // The user no longer needs the request: it is freed when the operation has ended.
  static void abandon(RankState& state, Request* request) noexcept;

  RequestKind kind() const noexcept { return kind_; }
  bool is_message() const noexcept { return is_of_message(kind_); }  // one, its own
  bool is_done() const noexcept;  // false for inactive ones too
  // The same for one message, quickly; false for all other kinds.
  bool is_message_done() const noexcept {
    return is_message() && message.is_complete();
  }
  const msg::Status& result() const noexcept;
  // True if a thread of the program may end a wait for it, by saying that a generalized request is
  // complete or a partition ready.
  bool can_end_by_itself() const;
  Comm* comm() const noexcept { return comm_; }
  const char* call() const noexcept { return call_; }  // "MPI_Isend"
  // "receive of 4 elements from rank 3, tag 7, MPI_COMM_WORLD"
  std::string text() const;
  MPI_Request handle() noexcept { return reinterpret_cast<MPI_Request>(this); }

  bool is_persistent = false;
  bool is_active = false;

 private:
  RequestKind kind_;
  Comm* comm_;
  const char* call_;

 public:
  int peer = MPI_PROC_NULL;  // rank in comm, as the user gave it
  dt::TypeRef type;          // keeps a derived type alive
  Request* next = nullptr;   // of the free list or the abandoned ones
  msg::Request message;      // kSend, kRecv
  union {                    // kSend, kBuffered, kRecv: for restarts and text()
    msg::SendArgs send;
    msg::RecvArgs recv;
  };
  std::unique_ptr<StagedBuffers> staged;        // kSmallCollective; see CollectiveState
  std::unique_ptr<CollectiveState> collective;  // kCollective
  std::unique_ptr<Generalized> generalized;     // kGeneralized
  std::unique_ptr<Several> several;  // kSeveral, kMeeting, kPartitioned, kFile
  BufferedMessage buffered;          // kBuffered
  msg::Status done_status;           // others, and where there is no receive
  union {
    nbc::direct::Pending pending;  // kSmallCollective: from its start on
  };

 private:
  friend struct RequestPool;
  Request(int owner, RequestKind kind, Comm* comm, const char* call) noexcept;
  ~Request() = default;
  // True for a message, or a small collective, that is not started again: the request can be stored as it
  // is, for the next one.
  bool is_kept() const noexcept {
    return (is_message() || kind_ == RequestKind::kSmallCollective) && !is_persistent &&
           is_plain() && staged == nullptr;
  }
  void renew(RequestKind kind, Comm* comm, const char* call) noexcept;
};

// Free and abandoned requests of one rank.
struct RequestPool {
  Request* free = nullptr;      // memory
  Request* messages = nullptr;  // kSend and kRecv that are over, as they were
  // Changed under the lock; relaxed, as has_abandoned() is a hint.
  std::atomic<Request*> abandoned{nullptr};
  SpinLock<>
      lock;  // of all lists, where several threads of the rank make calls at once
  bool has_abandoned() const noexcept {
    return abandoned.load(std::memory_order_relaxed) != nullptr;
  }
  ~RequestPool();
};

// Starts what `request` describes: first start and restarts alike.
// Errors: MPI_ERR_REQUEST if it is active already; MPI_ERR_BUFFER if it is buffered and there is
// no room.
Err start_request(RankState& state, Request& request);

// Waits until the active request is done. Switches: yes.
void wait_done(RankState& state, Request& request, const char* call);

// Finishes a done (or inactive) request: fills `status` except MPI_ERROR, then frees it and
// sets *handle to MPI_REQUEST_NULL, or makes a persistent one inactive.
// Returns the operation's error.
Err finish(RankState& state, MPI_Request* handle, Request& request, MPI_Status* status);

// The operation of an active request has ended: copies the received data to the user's buffers.
void store_staged(Request& request) noexcept;

// Lets the user's function fill `status`, except MPI_ERROR. Returns its code.
int query_status(const Generalized& fns, MPI_Status* status);

// The error of an operation's status as an MPI error.
Err error_of(const msg::Status& status);
// The same for a collective. The user does not know the ranks and tags of its messages.
Err error_of_collective(const msg::Status& status, const char* call);

// Ends the requests that were abandoned and are done; all of them if `wait`, or all of `only`.
void reap_abandoned(RankState& state, bool wait, const Comm* only = nullptr);

}  // namespace mpc::mpi

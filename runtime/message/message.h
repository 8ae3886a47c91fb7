#pragma once
// Messages between ranks: matching, protocols, requests of point-to-point communication.
//
// Role:      MPI-4.1 chapter 3 below the level of MPI objects: an envelope is (source world
//            rank, context id, tag); the side that comes second finds the match; one copy.
// Users:     mpi (bodies), nbc/engine.
// Threads:   any execution of the owning rank for posting; completion may happen on any
//            execution of the job.
// See also:  docs/messages.md, docs/design/0003-mailbox.md, Denis et al. 2018, Kumar 2016.

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "runtime/datatype/datatype.h"
#include "runtime/job/rank.h"
#include "runtime/message/request.h"
#include "scheduler/execution.h"

namespace mpc::msg {

// --- starting operations -------------------------------------------------------------------
// `source_in_comm` is what the receiver's status shows (the sender's rank in the communicator).
// Buffers and types belong to the operation until it is complete.
// Errors are only those of resources (kNoMem); arguments are checked in the layers above.
struct SendArgs {
  const void* buffer;
  Count count;
  const dt::Datatype* type;
  int dest_world;
  ContextId context;
  int tag;
  int source_in_comm;
  Mode mode;
};
struct RecvArgs {
  void* buffer;
  Count count;
  const dt::Datatype* type;
  int source_in_comm;  // or kAnySource; matching is by the sender's rank in the communicator
  ContextId context;
  int tag;
};
void start_send(job::Rank& self, Request& request, const SendArgs& args);
void start_recv(job::Rank& self, Request& request, const RecvArgs& args);

// Short forms for the blocking calls; same semantics, without a request of the caller's.
// Switches: yes.
Status send(job::Rank& self, const SendArgs& args, const sched::WaitReason& why);
Status recv(job::Rank& self, const RecvArgs& args, const sched::WaitReason& why);
// Sends if that waits for nobody: a message that fits into the ring of a rank of this process. False: nothing
// has been done. Switches: no.
bool send_at_once(job::Rank& self, const SendArgs& args);
// The commonest messages, with arguments that stay in registers and without a reason for reports: `bytes` bytes at
// `data`, or up to `room` at `buffer`, without gaps, within the process.
// False: nothing has been done; use send(), or recv_by_posting().
//
// `origin`: with the caller's rank in the communicator. Switches: if the receiver is far behind.
bool send_small(job::Rank& self, const void* data, size_t bytes, int dest_world,
                Origin origin, int tag);
// Of a message that is there, or comes within a microsecond or two. `status`: may be null. Switches: no.
bool recv_small(job::Rank& self, void* buffer, size_t room, Origin origin, int tag,
                Status* status) noexcept;
// recv() without trying recv_small() first.
Status recv_by_posting(job::Rank& self, const RecvArgs& args,
                       const sched::WaitReason& why);

// --- progress and waiting -------------------------------------------------------------------
// Drains the rank's own mailbox (and does other pending work). Cheap when there is nothing.
// Returns true if anything happened. Caller: any execution of `self`.
bool progress(job::Rank& self);
// Work of upper layers that must run on the rank itself (a collective's user operation):
// called by progress() and in every round of every wait, once after each notify().
// Registered by a constructor function of the library; returns true if anything happened.
using ProgressHook = bool (*)(job::Rank&);
void add_progress_hook(ProgressHook hook);
// For calls that test and find nothing (MPI_Test, MPI_Iprobe in a user's loop): after
// a few of them in a row lets the other ranks of this worker run. asks_again: a caller that does nothing else polls for
// other processes each time. Switches: sometimes.
void relax(job::Rank& self, bool asks_again = true);
// Waits until the request is complete. Switches: yes.
void wait(job::Rank& self, Request& request, const sched::WaitReason& why);
// Waits until all of the requests (null ones are skipped, inactive ones count as complete) are
// complete; wakes up once. Switches: yes.
void wait_all(job::Rank& self, Request* const* requests, size_t n,
              const sched::WaitReason& why);
// Waits until `ready(argument)` is true; it is evaluated after every progress and whenever one
// of the requests completes. Used for waitany, waitsome, generalized and collective requests.
using Predicate = bool (*)(void* argument);
void wait_until(job::Rank& self, Request* const* requests, size_t n, Predicate ready,
                void* argument, const sched::WaitReason& why);
// The same for what a message of this context and source makes true, as in a probe: so ranks that compute, and the
// rank itself while one of its threads waits, are interrupted for it if it may come from another process.
void wait_for_message(job::Rank& self, ContextId context, int source, Predicate ready,
                      void* argument, const sched::WaitReason& why);
// A condition of an upper layer that another thread makes true and then announces by an unpark
// of its own to the execution that arm() was called with. After arm() the condition is checked
// again, so the announcer first stores, then reads who is armed; both with seq_cst.
struct Condition {
  Predicate holds;
  void (*arm)(void* argument, sched::Execution& waiter);
  void (*disarm)(void* argument);
  void* argument;
  bool is_inside = false;  // executions of this process make it true
};
// Waits until it holds; messages and hooks are served meanwhile as in every wait. Cheaper than
// wait_until(): no request and no message makes it check again. Switches: yes.
void wait_for(job::Rank& self, const Condition& condition,
              const sched::WaitReason& why);
// Wakes any execution of `self` that is in wait()/wait_until(), so that it checks again.
void notify(job::Rank& self);
// Like notify(), for a rank whose main execution is parked in such a wait. True: this call has
// woken it there, so that it calls the hooks; otherwise it may have checked before, or may not
// check soon. Caller: any execution but those of `self`. Switches: no.
bool call_parked(job::Rank& self);
// Hints: call_parked() would find the rank; the same, on another core, which is idle. Caller: any.
bool is_parked(const job::Rank& self) noexcept;
bool is_parked_idly(const job::Rank& self) noexcept;

// --- probe, matched probe, cancel -----------------------------------------------------------
struct MatchedMessage;  // taken out of matching by mprobe; consumed by start_mrecv
bool iprobe(job::Rank& self, int source, ContextId context, int tag, Status* status);
// For a probe that may wait: waits for a microsecond or two, if that pays. False: use wait_for_message().
// Switches: no.
bool probe_quickly(job::Rank& self, int source, ContextId context, int tag,
                   Status* status);
MatchedMessage* improbe(job::Rank& self, int source, ContextId context, int tag,
                        Status*);
void start_mrecv(job::Rank& self, Request& request, MatchedMessage* message,
                 void* buffer, Count count, const dt::Datatype* type);
// A receive not yet matched becomes complete with status.cancelled; otherwise it completes
// normally. A send not yet matched is withdrawn from the receiver's queue likewise.
// Switches: if the receiver lives in another process, which is asked.
void cancel(job::Rank& self, Request& request);

// Buffered mode: runtime/message treats kBuffered as kStandard; mpi/objects/buffered.h handles the
// user's buffers and waits for them.

// Mailbox of a rank: created at its start, destroyed at its end. Messages may be sent to a rank
// before its start, and wait for it. A rank that ends with operations under way is an error of
// the program, but does no harm to others: its receives are forgotten, its sends withdrawn; small
// messages sent to it are dropped, large and synchronous ones stay incomplete (a deadlock report
// then names them).
// In a job of several processes the same holds for their messages on the way.
void create_mailbox(job::Rank& rank);
void destroy_mailbox(job::Rank& rank);
// Number of sends/receives posted and not complete in the whole job (deadlock detection).
int64_t operations_in_flight() noexcept;

}  // namespace mpc::msg

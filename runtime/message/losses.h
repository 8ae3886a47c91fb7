#pragma once
// Losses: what a process that has died leaves behind in those that go on (mpcrun --on-fail notify).
//
// Role:      a thread of its own ends what waits for the dead: sends, receives, questions; and what members
//            of a broken communicator have offered each other in collectives. Says of a receive, a probe, a
//            send whether it can still be of use.
// Users:     runtime/message; mpi (probes, collectives, gates), mpi/objects/comm says who is in which context.
// Threads:   any, unless a function says otherwise.
// See also:  docs/design/0040-losses.md (why nothing is overlooked); runtime/job/losses.h (who is lost).
//
// A process of such a job is one rank: one mailbox, and what is said of a context is said of that rank's.

#include <span>
#include <string>

#include "base/result.h"
#include "runtime/job/losses.h"
#include "runtime/message/message.h"
#include "runtime/wireup/record.h"

namespace mpc::msg {

// Starts the thread. Caller: the thread that starts the job, once its network is open. Errors: kSystem.
Result<> watch_losses(job::Job& job);

// The network is about to be closed: what dies from now on is nobody's concern. Caller: as watch_losses().
void forget_losses() noexcept;

// Called on that thread for each loss, when what waited for the dead has failed, before ranks look again.
// Caller: before main(). At most one.
void on_loss(void (*handler)(job::Job& job, int process)) noexcept;

// How the network ends its connection with a process that it does not know to be dead. Caller: before the
// first loss.
void close_lost_by(void (*close)(int process) noexcept) noexcept;

// --- contexts, where a loss is survived ---
// World ranks: of senders by their rank in the context, of others who take part in its collectives.
// Ownership: both stay until they are removed.
void add_members(ContextId context, std::span<const int> senders,
                 std::span<const int> others);
void remove_members(ContextId context) noexcept;

// --- what is in vain. Caller: losses::any() ---
struct Loss {
  bool is_there = false;
  int source = kAnySource;  // who is lost, by its rank in the context
};
// Of a receive or a probe for which no message has come. From any source: once for each death; this call
// is that once.
Loss take_loss(ContextId context, int source);
bool has_lost_member(ContextId context);
// A receive has been posted, a send has been entered: if it is in vain it fails soon. Caller: no lock held.
[[gnu::cold]] void look_after_receive(ContextId context, int source);
[[gnu::cold]] void look_after_send(ContextId context);

// The network has lost this peer: no message of it comes any more. Caller: who polls.
void note_broken(int peer) noexcept;

// A process has died, and something of the user's cannot go on without it. Caller: any.
void end_job(job::Job& job, const std::string& why);

// Waits until all processes that live have come there. Switches: yes.
using wireup::Gate;
void pass_gate(job::Rank& self, Gate gate, const char* what);

}  // namespace mpc::msg

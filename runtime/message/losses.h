#pragma once
// Losses: cleans up after a dead process in those that continue: mpcrun --on-fail notify, and programs
// without mpcrun whose children have ended.
//
// Role:      a thread of its own ends whatever waits for the dead: sends, receives, questions; and
//            what members of a broken communicator have offered each other in collectives. Says
//            whether a receive, a probe or a send can still succeed.
// Users:     runtime/message; mpi (probes, collectives, gates), mpi/objects/comm says who is in which context.
// Threads:   any, unless a function says otherwise.
// See also:  docs/design/0040-losses.md (why nothing is overlooked); runtime/job/losses.h (who is lost).
//
// Two ranks of a process may have different communicators with the same context id: what is known of a context
// is known of a rank's. A program without mpcrun is one rank, and loses processes of other jobs only.

#include <span>
#include <string>

#include "base/result.h"
#include "runtime/job/losses.h"
#include "runtime/message/lost_members.h"
#include "runtime/message/message.h"
#include "runtime/wireup/record.h"

namespace mpc::msg {

// Starts the thread. Caller: the thread that starts the job, once its network is open. Errors: kSystem.
Result<> watch_losses(job::Job& job);

// The network is about to be closed: later deaths are ignored. Caller: as watch_losses().
void forget_losses() noexcept;

// `handler` is called on that thread for each loss, after whatever waited for the dead has failed
// and before ranks check again. Caller: before main(). At most one handler.
void on_loss(void (*handler)(job::Job& job, int process)) noexcept;

// Sets how the network ends its connection with a process that it does not know to be dead. Caller:
// before the first loss.
void close_lost_by(void (*close)(int process) noexcept) noexcept;

// Sets how messages that have come from a process that is dead, and wait in this one, are taken: called until it says
// that there were none. Caller: as close_lost_by().
void take_left_by(bool (*take)(int process) noexcept) noexcept;

// --- operations that can not succeed. Caller: losses::any() ---
// A receive has been posted, or a send has been started: if it can
// not succeed it fails soon. Caller: holds no lock.
[[gnu::cold]] void look_after_receive(int rank, ContextId context, int source);
[[gnu::cold]] void look_after_send(int rank, ContextId context);
// The same for one to a rank of this process, which waits for its receive; also before the first loss.
[[gnu::cold]] void look_after_local_send(int rank, ContextId context);

// The network has lost this peer: no message comes from it any more. Caller: the thread that polls.
void note_broken(int peer) noexcept;

// A process has died, and some part of the user's program cannot continue without it. Caller: any.
void end_job(job::Job& job, const std::string& why);

// Waits until all ranks of this process, and all living processes, have arrived there. Switches: yes.
using wireup::Gate;
void pass_gate(job::Rank& self, Gate gate, const char* what);

}  // namespace mpc::msg

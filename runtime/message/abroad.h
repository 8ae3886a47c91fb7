#pragma once
// Abroad: this process's connections with those of other jobs of the same user on the same host.
//
// Role:      opens the process to others when it opens or looks for the first port, or others of its job need it
//            to be, never before; makes a connection with a process when somebody has to talk to it, and knows who
//            uses it. What ranks send to ranks of other jobs, and what meetings of several jobs tell, goes over it.
// Users:     mpi/spawn, mpi/objects (comm, meeting_key), runtime/message/network.cpp.
// Threads:   any; the connections have a thread of their own.
// See also:  runtime/transport/bridge/bridge.h, runtime/job/neighbours.h, runtime/wireup/lobby.h;
//            docs/design/0039-jobs-that-connect.md.

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "runtime/job/job.h"
#include "runtime/wireup/lobby.h"

namespace mpc::msg {
class Endpoint;
}

namespace mpc::msg::abroad {

// Null: this process is not open to others. Cost: a load.
Endpoint* endpoint() noexcept;

// Opens the process in this folder, once; `number`: its job's, which no other job has. Later calls return what the
// first one has. gone(slot): no more comes from the process that was there (caller: the connections' thread, without
// locks). Caller: any rank, without locks. Cost: a millisecond at the first time.
// Errors: kUnsupported: such a job cannot; kPermission, kNoMem, kSystem: see Lobby.
Result<wireup::Lobby*> open(job::Job& job, const std::string& folder, uint64_t number,
                            void (*gone)(int slot) noexcept);
// Null: it is not open.
wireup::Lobby* lobby() noexcept;

// There is a connection with the process in this slot when it returns. `number`: its job's; 0: whichever.
// Caller: as open(), which has been called. Blocks the caller's core: until the other job's thread has
// answered, seconds at most. Errors: kNotFound: it is not there (any more); kArg: the jobs cannot talk to each
// other, and why; kSystem: it does not answer, too.
Result<> reach(int slot, uint64_t number);

// Who counts on the job in this slot: a communicator, or two groups that are about to make one. While there
// is a use no deadlock is reported, and this job ends if that one does without having said so.
// Returns what names the connection to end_use(); 0: there is none any more.
uint64_t begin_use(int slot);
void end_use(int slot, uint64_t connection) noexcept;
// The same use from now on, but the other job may go as it likes: it is only waited for, so that no deadlock is
// reported while it is there. Ended by end_weak_use().
void weaken_use(int slot, uint64_t connection) noexcept;
void end_weak_use(int slot, uint64_t connection) noexcept;

// The process in this slot is of a job that this one has spawned. Caller: has a use of it.
void note_child(int slot) noexcept;
// Waits until no job that this one has spawned has a communicator with it any more, or is there; tells those that
// are that nothing more comes from here. Caller: the rank, at the end of MPI_Finalize. Switches: yes.
void wait_for_children(job::Rank& self);

// Reaches all of these, by their numbers where members of several jobs meet (job::neighbours); the own one may be
// among them, and such as have ended. Ends this job if one is there and cannot be reached: a communicator has members
// that cannot talk to each other.
// Caller: as reach(), and a rank.
void reach_all(std::span<const int> processes);

// The job is about to end early: leaves no file behind. Caller: any, without waiting.
void abandon() noexcept;
// Tells the others that this job ends, when all that was sent is on its way. Caller: no rank runs.
void close();

}  // namespace mpc::msg::abroad

#pragma once
// Abroad: this process's connections with those of other jobs of the same user on the same host.
//
// Role:      opens the process to other jobs when it opens or looks up the first port, or when other processes of
//            its job need it to be open, never before; connects to a process when a rank has to talk to it, and
//            knows who uses the connection. Messages to ranks of other jobs, and those of meetings of several jobs,
//            go over it.
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

// Opens the process in this folder, once. `number`: its job's, which no other job has. Later calls return what
// the first one opened. gone(slot): nothing more comes from the process that was there (caller: the
// connections' thread, without locks). Caller: any rank, without locks. Cost: a millisecond at the
// first call.
// Errors: kUnsupported: such a job cannot; kPermission, kNoMem, kSystem: see Lobby.
Result<wireup::Lobby*> open(job::Job& job, const std::string& folder, uint64_t number,
                            void (*gone)(int slot) noexcept);
// Null: the job is not open.
wireup::Lobby* lobby() noexcept;

// When it returns there is a connection with the process in this
// slot. `number`: the job's job's; 0: any.
// Caller: as open(), which has been called. Blocks the caller's core until the other job's thread
// has answered, seconds at most. Errors: kNotFound: the job does not exist (any more); kArg: the
// jobs cannot talk to each other, and why; kSystem: it does not answer, too.
Result<> reach(int slot, uint64_t number);

// Registers a user of the job in this slot: a communicator, or two groups that are about to create
// one. While there is a use no deadlock is reported, and this job ends if that one ends without
// announcing it. Returns the name of the connection for end_use(); 0: there is no connection any
// more.
uint64_t begin_use(int slot);
void end_use(int slot, uint64_t connection) noexcept;
// The same use from now on, but the other job may end as it likes. The use only says that this job
// waits for it, so that no deadlock is reported while it exists. Ended by end_weak_use().
void weaken_use(int slot, uint64_t connection) noexcept;
void end_weak_use(int slot, uint64_t connection) noexcept;

// Notes that the process in this slot belongs to a job that this one has spawned. Caller: uses its connection.
void note_child(int slot) noexcept;
// Waits until each job that this one has spawned has no communicator with it any more, or has ended; tells those
// that still exist that nothing more comes from here. Caller: the rank, at the end of MPI_Finalize. Switches: yes.
void wait_for_children(job::Rank& self);

// Connects to all of these processes, numbered as where members of several jobs meet (job::neighbours); the own one
// may be among them, and processes that have ended. Ends this job if one exists and cannot be reached: a communicator
// has members that cannot talk to each other.
// Caller: as reach(), and a rank.
void reach_all(std::span<const int> processes);

// The job is about to end early: removes its files. Caller: any, without waiting.
void abandon() noexcept;
// Tells the others that this job ends, once everything that
// was sent is on its way. Caller: no rank runs.
void close();

}  // namespace mpc::msg::abroad

#pragma once
// Abroad: this job's connections with other jobs of the same user on the same host.
//
// Role:      opens the job to others when the first port is opened or looked up, never before;
//            connects to a job when a rank has to talk to it, and knows who uses the connection.
//            What ranks send to ranks of other jobs, and the messages of meetings, go over it as
//            between processes.
// Users:     mpi/spawn, mpi/objects (comm, meeting_key), runtime/message/network.cpp.
// Threads:   any; the connections have a thread of their own.
// See also:  runtime/transport/bridge/bridge.h, runtime/job/neighbours.h, runtime/wireup/lobby.h;
//            docs/design/0039-jobs-that-connect.md.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "runtime/job/job.h"
#include "runtime/wireup/lobby.h"

namespace mpc::msg {
class Endpoint;
}

namespace mpc::msg::abroad {

// Null: this job is not open to others. Cost: a load.
Endpoint* endpoint() noexcept;

// Opens the job in this folder, once. `number`: one that no other job has. Later calls return what
// the first one opened. gone(slot): nothing more comes from the job that was there (caller: the
// connections' thread, without locks). Caller: any rank, without locks. Cost: a millisecond at the
// first call.
// Errors: kUnsupported: a job of several processes; kPermission, kNoMem, kSystem: see Lobby.
Result<wireup::Lobby*> open(job::Job& job, const std::string& folder, uint64_t number,
                            void (*gone)(int slot) noexcept);
// Null: the job is not open.
wireup::Lobby* lobby() noexcept;

// When it returns there is a connection with the job in this
// slot. `number`: the job's number; 0: any.
// Caller: as open(), which has been called. Blocks the caller's core until the other job's thread
// has answered, seconds at most. Errors: kNotFound: the job does not exist (any more); kArg: the
// jobs cannot talk to each other, and why; kSystem.
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

// Notes that this job has spawned the job in this slot. `connection`: as from begin_use().
void note_child(int slot, uint64_t connection) noexcept;
// Waits until each job that this one has spawned has no communicator with
// it any more, or has ended; tells those that still exist that nothing more
// comes from here. Caller: the rank, at the end of MPI_Finalize.
// Switches: yes.
void wait_for_children(job::Rank& self);

// The local number of a rank, from its name in all jobs (job::neighbours::name_of).
// Connects to its job if necessary. If that is impossible this job ends: a
// communicator has members that cannot talk to each other.
int rank_of(int name);

// The job is about to end early: removes its files. Caller: any, without waiting.
void abandon() noexcept;
// Tells the others that this job ends, once everything that
// was sent is on its way. Caller: no rank runs.
void close();

}  // namespace mpc::msg::abroad

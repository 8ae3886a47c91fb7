#pragma once
// Abroad: this process's connections with processes of other jobs of the same user.
//
// Role:      opens the process to other jobs when it opens or looks up its first port, or when
//            other processes of its job need that, never before. Connects to a process when a rank
//            has to talk to it, and knows the users of each connection. Messages to ranks of other
//            jobs, and those of meetings of several jobs, use these connections.
// Users:     mpi/spawn, mpi/objects (comm, meeting_key), runtime/message/network.cpp.
// Threads:   any; the connections have a thread of their own.
// See also:  runtime/transport/bridge/bridge.h, runtime/job/neighbours.h, runtime/wireup/lobby.h;
//            docs/design/0039-jobs-that-connect.md.

#include <cstdint>
#include <optional>
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

// Opens the process in the lobby at this place (wireup::text_of(Place)), once; empty: in that of its
// settings, or of its job. `number`: the number of its job, which no other job has.
// Later calls return what the first one opened. gone(slot): nothing more comes from the process in
// that slot (caller: the connections' thread, without locks). Caller: any rank, without locks.
// Cost: a millisecond at the first call.
// Errors: kUnsupported: a job of this kind cannot; kPermission, kNoMem, kSystem: see Lobby.
Result<wireup::Lobby*> open(job::Job& job, const std::string& place, uint64_t number,
                            void (*gone)(int slot) noexcept);
// Null: this process is not open to others.
wireup::Lobby* lobby() noexcept;
// The port that a job has published under this name. The process is opened only if it has to ask one of
// another host. Caller: as open().
std::optional<std::string> look_up_name(const std::string& name,
                                        Result<wireup::Lobby*> (*open)());

// When it returns without an error there is a connection with the process in this slot. `number`:
// of the job that is expected there; 0: any job. Caller: as open(), which has been called. Blocks
// the caller's core until the other job's thread has answered, for seconds at most. Errors:
// kNotFound: the job does not exist (any more); kArg: the jobs cannot talk to each other, with the
// reason; kSystem: among others, it does not answer.
Result<> reach(int slot, uint64_t number);

// Registers a user of the job in this slot: a communicator, or two groups that are about to create
// one. While there is a use no deadlock is reported, and this job ends if that one ends without
// announcing it. Returns the name of the connection for end_use(); 0: there is no connection any
// more.
uint64_t begin_use(int slot);
void end_use(int slot, uint64_t connection) noexcept;
// From now on the other job may end without ending this one. The use only says that this job waits
// for it, so that no deadlock is reported while it exists. Ended by end_weak_use().
void weaken_use(int slot, uint64_t connection) noexcept;
void end_weak_use(int slot, uint64_t connection) noexcept;

// Notes that the process in this slot belongs to a job that this one has spawned. Caller: has a use
// of that connection.
void note_child(int slot) noexcept;
// Tells the jobs that this one has spawned that no operation starts here any more. Then waits until
// each of them has no communicator with this job any more, or has ended. Caller: the rank, at the
// end of MPI_Finalize. Switches: yes.
void wait_for_children(job::Rank& self);

// Of a program without mpcrun: "PROGRAM, process PID has ended ...", of the last process of another job
// that has ended while this one counted on it; empty: none has.
std::string last_gone();

// Connects to all of these processes, which are numbered as in meetings of several jobs
// (job::neighbours). The calling process may be among them, and processes that have ended. If one
// exists and cannot be reached this job ends: a communicator has members that cannot talk to each
// other. Caller: as reach(), and a rank.
void reach_all(std::span<const int> processes);

// The job is about to end early: removes its files. Caller: any, without waiting.
void abandon() noexcept;
// Tells the others that this job ends, after all that was sent is on its way. Caller: no rank runs.
void close();

}  // namespace mpc::msg::abroad

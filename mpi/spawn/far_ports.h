#pragma once
// FarPorts: the letters that two processes exchange about ranks that come to a port.
//
// Role:      opens the process to others; sends a knock to the process that has the port, and the
//            answer back. That process may belong to the same job; then a rank that accepts may
//            knock, too.
// Users:     mpi/spawn.
// Threads:   any; the connections' thread receives letters, without locks.
// See also:  runtime/message/abroad.h, runtime/message/control.h; docs/design/0039-jobs-that-connect.md.
//
//   the process of the rank that comes   the process that has the port
//   kKnock (request, port, rank) --->    no partner waits there: the rank joins the port's queue
//   (kLeave (request)            --->    removed from the queue; if it was still in it: kLeft)
//                                <---    kMet (request, rank, number) | kNoPort | kClosed | kLeft

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/job/job.h"
#include "runtime/wireup/lobby.h"

namespace mpc::mpi {

enum class Word : uint32_t { kKnock, kLeave, kMet, kNoPort, kClosed, kLeft };

struct Letter {
  Word word{};
  bool accepts = false;  // kKnock: the rank calls MPI_Comm_accept
  int32_t rank = 0;      // its name in all jobs; kKnock, kMet
  uint64_t request = 0;
  uint64_t number = 0;  // kKnock: the port; kMet: what both sides meet under
};

// A letter with its receiver, the process in this slot. Collected under a lock, sent without it.
struct Addressed {
  int slot;
  Letter letter;
};
using Letters = std::vector<Addressed>;
void send(const Letters& letters);

// ports.cpp: handles a letter. Caller: the connections' thread.
void take_letter(int slot, const Letter& letter) noexcept;
// No more letters come from this slot.
void note_gone(int slot) noexcept;

// Opens the process to others, at the first call. place: where the port that the caller looks for
// is; empty: as the settings say. Errors: as msg::abroad::open().
Result<wireup::Lobby*> open_to_others(job::Job& job, const std::string& place = {});
// The same, or null: the first failure gives a warning with the reason, and ports stay within the
// job.
wireup::Lobby* lobby_of(job::Job& job);

}  // namespace mpc::mpi

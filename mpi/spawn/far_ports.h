#pragma once
// FarPorts: what two processes tell each other of who comes to a port.
//
// Role:      opens the process to others; carries a knock at a port of another process there, and the answer back.
//            That may be one of the same job: then who accepts there may knock, too.
// Users:     mpi/spawn.
// Threads:   any; letters are taken by the connections' thread, without locks.
// See also:  runtime/message/abroad.h, runtime/message/control.h; docs/design/0039-jobs-that-connect.md.
//
//   who comes                          the process that has the port
//   kKnock (request, port, rank) --->  nobody is there for it: it stands in the port's queue
//   (kLeave (request)            --->  taken out; if it still stood there: kLeft)
//                                <---  kMet (request, rank, number) | kNoPort | kClosed | kLeft

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/job/job.h"
#include "runtime/wireup/lobby.h"

namespace mpc::mpi {

enum class Word : uint32_t { kKnock, kLeave, kMet, kNoPort, kClosed, kLeft };

struct Letter {
  Word word{};
  bool accepts = false;  // kKnock: as MPI_Comm_accept does
  int32_t rank = 0;      // its name in all jobs; kKnock, kMet
  uint64_t request = 0;
  uint64_t number = 0;  // kKnock: the port; kMet: what both sides meet by
};

// To the process in a slot; collected under a lock, and sent without it.
struct Addressed {
  int slot;
  Letter letter;
};
using Letters = std::vector<Addressed>;
void send(const Letters& letters);

// ports.cpp: what they mean. Caller: the connections' thread.
void take_letter(int slot, const Letter& letter) noexcept;
// No letter comes from there any more.
void note_gone(int slot) noexcept;

// Opens the process to others, at the first call. folder: where the port is that is looked for; empty: as the
// settings say. Errors: as msg::abroad::open().
Result<wireup::Lobby*> open_to_others(job::Job& job, const std::string& folder = {});
// The same, or null: then one warning says why, for the first time, and what is done stays in the job.
wireup::Lobby* lobby_of(job::Job& job);

}  // namespace mpc::mpi

#pragma once
// RankState: everything MPI that belongs to one rank.
//
// Role:      init phase, thread level, COMM_WORLD and COMM_SELF, attributes' keyvals, error
//            classes, handle tables, buffered-send buffer. Reached through job::Rank::mpi.
// Users:     mpi.
// Threads:   thread-multiple: tables are locked by their own mutexes; hot fields are read-only
//            after MPI_Init.
// See also:  mpi/handles.h.

#include <atomic>
#include <memory>

#include "runtime/job/rank.h"

namespace mpc::mpi {

class Comm;
class Errhandler;
struct HandleTables;
struct KeyvalTable;
struct ErrorTable;

struct RankState {
  job::Rank* rank = nullptr;
  std::atomic<bool> initialised{false};
  std::atomic<bool> finalised{false};
  int thread_level = 0;
  Comm* world = nullptr;
  Comm* self = nullptr;
  std::unique_ptr<HandleTables> handles;
  std::unique_ptr<KeyvalTable> keyvals;
  std::unique_ptr<ErrorTable> errors;

  RankState();
  ~RankState();
};

// Of the calling thread's rank; null when the thread belongs to no rank (before a singleton's
// MPI_Init). Cost: three loads.
inline RankState* rank_state() noexcept {
  job::Rank* rank = job::current_rank();
  return rank == nullptr ? nullptr : static_cast<RankState*>(rank->mpi);
}

}  // namespace mpc::mpi

#pragma once
// RankState: all MPI state that belongs to one rank.
//
// Role:      init phase, sessions, thread level, COMM_WORLD and COMM_SELF, attributes' keyvals, error
//            classes, handle tables. Reached through job::Rank::mpi.
// Users:     mpi.
// Threads:   thread-multiple: the tables are under `mutex`; hot fields are read-only after
//            MPI_Init.
// See also:  mpi/objects/rank_life.h (its begin and end), mpi/objects/handles.h.

#include <atomic>
#include <memory>
#include <mutex>

#include "runtime/job/rank.h"

namespace mpc::mpi {

class Comm;
class Errhandler;
class Group;
class Info;
class SendBuffer;
struct Watch;
struct RequestPool;
struct HandleTables;
struct KeyvalTable;
struct ErrorTable;
struct ToolState;
struct TypeTable;

struct RankState {
  job::Rank* rank = nullptr;
  // MPI may be called: in the world model, or in a session. See update_running() in session.h.
  // Each entry point tests is_running. With mpi.check=full is_checked is set instead: calls then
  // take their cold path, which tests it (EntryScope::is_checked()).
  std::atomic<bool> is_running{false}, is_checked{false};
  bool may_call() const noexcept {
    // Relaxed: the thread that uses MPI knows by its own means that MPI_Init has returned.
    return is_running.load(std::memory_order_relaxed) ||
           is_checked.load(std::memory_order_relaxed);
  }
  std::atomic<bool> initialised{false};  // the world model's flags
  std::atomic<bool> finalised{false};
  bool is_in_world() const noexcept {
    return initialised.load(std::memory_order_relaxed) &&
           !finalised.load(std::memory_order_relaxed);  // written by the rank itself
  }
  int thread_level = 0;        // an ABI constant; the highest of those asked for
  int world_thread_level = 0;  // what MPI_Init_thread has provided
  int sessions = 0, sessions_begun = 0;     // under the mutex
  sched::Execution* main_thread = nullptr;  // the caller of MPI_Init
  Comm* world = nullptr;                    // null before MPI_Init
  Comm* self = nullptr;

  // Owned by their own parts of mpi/, which alone know their types: a shared_ptr remembers how
  // to destroy its object.
  std::mutex mutex;  // of the tables below, which are made at their first use
  std::shared_ptr<HandleTables> handles;
  std::shared_ptr<KeyvalTable> keyvals;
  std::shared_ptr<ErrorTable> errors;
  std::shared_ptr<TypeTable> types;  // names and attributes of predefined types
  std::shared_ptr<ToolState> tool;   // handles of MPI_T
  Group* empty_group = nullptr;      // MPI_GROUP_EMPTY
  Info* env = nullptr;               // MPI_INFO_ENV

  // Values of predefined attributes: MPI hands out their addresses.
  struct {
    int tag_ub, io, host, wtime_is_global, appnum, last_used_code, universe_size;
  } predefined{};

  // Owned by the point-to-point bodies: the buffer of MPI_Buffer_attach, requests ...
  std::shared_ptr<SendBuffer> send_buffer;
  std::shared_ptr<RequestPool> requests;
  std::shared_ptr<Watch> watch;  // mpi/objects/watch.h: made at the first need
};

// The state of the calling thread's rank; null when the thread belongs to no rank (before a
// singleton's MPI_Init). Cost: three loads.
inline RankState* rank_state() noexcept {
  job::Rank* rank = job::current_rank();
  return rank == nullptr ? nullptr : rank->mpi;
}
// The same for bodies, whose entry point has checked that there is one.
inline RankState& this_rank() noexcept { return *rank_state(); }
inline int this_world_rank() noexcept { return job::current_rank()->world_rank; }
// For calls that are allowed before MPI_Init: a program without launcher becomes a job.
RankState& attached_rank();

// The state of another rank; null when it has ended or lives in another process.
RankState* rank_state_of(int world_rank) noexcept;

}  // namespace mpc::mpi

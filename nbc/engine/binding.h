#pragma once
// Binding: what a schedule gets when it is started: buffers, types, the operation, the ranks.
//
// Role:      the arguments of a collective call, in the engine's form.
// Users:     mpi fills it in; nbc/engine and tests read it.
// Threads:   plain data; constant while a collective that uses it is in flight.
// See also:  nbc/engine/engine.h, nbc/algorithms/collectives.h (which buffers and types).

#include <span>

#include "nbc/schedule/schedule.h"
#include "runtime/message/message.h"

namespace mpc::nbc {

// How a reduction is applied: by a predefined kernel, or by a user's function with its datatype
// handle. inout = in op inout, n elements.
struct Reduction {
  void (*apply)(void* context, const void* in, void* inout, Count n) = nullptr;
  void* context = nullptr;
  bool is_user = false;  // must run as the owning rank; see may_run_in_background
  bool commutative = true;
  // Optional: out = a op b. `out` overlaps neither.
  void (*apply3)(void* context, const void* a, const void* b, void* out,
                 Count n) = nullptr;
  // A user's function may also run on the rank's progress thread, while the rank computes. If
  // false it runs only in calls of the rank. All collectives that a rank has in flight agree.
  bool may_run_in_background = false;
};

// What a start binds. create() copies the elements of the two spans; what these point to, and
// world_ranks, must stay valid until the collective is complete. See nbc/algorithms/collectives.h
// for the buffers and types of each collective.
struct Binding {
  std::span<void* const> buffers;              // by slot (slot kScratch is ignored)
  std::span<const dt::Datatype* const> types;  // by BufferRef::type
  Reduction reduction;
  std::span<const int> world_ranks;  // communicator rank -> world rank
  int my_rank = 0;                   // in the communicator
  msg::ContextId context = 0;        // the context of the communicator's collectives
  int tag_base = 0;                  // the same at all members for this collective
  // A message that is shorter than its receive is an error (kCount), as a longer one is.
  bool needs_whole_messages = false;
};

}  // namespace mpc::nbc

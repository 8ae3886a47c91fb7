#pragma once
// Target: one member's part of a window, as the others reach it.
//
// Role:      its memory, its lock, what it has exposed; on cache lines of its own.
// Users:     runtime/rma, mpi/objects, mpi/rma.
// Threads:   the memory is constant after the window was made; the rest says it itself.
// See also:  runtime/rma/window_share.h (all of them), docs/design/0026-windows.md.

#include <atomic>
#include <cstdint>

#include "runtime/datatype/datatype.h"
#include "runtime/message/sleeper.h"
#include "runtime/rma/post_board.h"
#include "runtime/rma/regions.h"
#include "runtime/rma/target_lock.h"

namespace mpc::rma {

using dt::Count;

struct Memory {
  char* base = nullptr;
  Count bytes = 0;
  Count unit = 1;           // of displacements, in bytes
  bool is_dynamic = false;  // displacements are addresses, in attached regions
};

enum class Fit : uint8_t { kFits, kNegative, kBeyond, kNotAttached };

struct alignas(64) Target {
  explicit Target(int members) noexcept : posts(members) {}

  // Where displacement `disp` is, and whether `count` of `type` there are in the memory.
  Fit find(Count disp, const dt::Datatype& type, Count count, char** out);

  Memory memory;

  alignas(64) TargetLock lock;

  // MPI_Win_post ... MPI_Win_wait. Numbers only grow: of origins that have completed, and of those
  // that all posts together have waited for.
  alignas(64) std::atomic<uint64_t> completed{0};
  std::atomic<uint64_t> expected{0};
  msg::Sleeper exposure;  // the member waits for `completed`

  alignas(64) PostBoard posts;  // of others, for this member
  Regions regions;
};

}  // namespace mpc::rma

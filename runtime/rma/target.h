#pragma once
// Target: one member's part of a window, as the others access it.
//
// Role:      its memory, its lock, what it has exposed; on cache lines of its own.
// Users:     runtime/rma, mpi/objects, mpi/rma.
// Threads:   the memory is constant after the window is created; for the others see each.
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

// How an address is found. Dynamic: displacements are addresses, in attached regions. Far: in another
// process, whose addresses mean nothing here.
enum class Addressing : uint8_t { kHere, kDynamic, kFar, kFarDynamic };

struct Memory {
  char* base = nullptr;
  Count bytes = 0;
  Count unit = 1;  // of displacements, in bytes
  Addressing addressing = Addressing::kHere;

  bool is_dynamic() const noexcept {
    return addressing == Addressing::kDynamic || addressing == Addressing::kFarDynamic;
  }
  // Does it belong to another process? Memory that several processes
  // have mapped is here in each of them.
  bool is_far() const noexcept { return addressing >= Addressing::kFar; }
};

// kFar: it fits as far as this process can know, and has no address here.
enum class Fit : uint8_t { kFits, kFar, kNegative, kBeyond, kNotAttached };

class LocalQueue;

struct alignas(64) Target {
  explicit Target(int members) noexcept : posts(members) {}

  // The address of displacement `disp`, and whether `count` of `type` there are inside the memory.
  Fit find(Count disp, const dt::Datatype& type, Count count, char** out) {
    if (memory.addressing == Addressing::kHere) [[likely]]
      return find_here(disp, type, count, out);
    return find_elsewhere(disp, type, count, out);
  }
  // Counts one origin's MPI_Win_complete. Caller: any, after its writes to the memory are done.
  void note_completed() noexcept;

  Memory memory;

  alignas(64) TargetLock lock;

  // MPI_Win_post ... MPI_Win_wait. Both numbers only grow: the origins that have completed, and
  // those that all posts together have waited for.
  alignas(64) std::atomic<uint64_t> completed{0};
  std::atomic<uint64_t> expected{0};
  msg::Sleeper exposure;  // the member waits for `completed`

  alignas(64) PostBoard posts;  // posts of other members for this one
  // What of this member's operations waits for posts, among others; null: it lives elsewhere, or not yet.
  std::atomic<LocalQueue*> queue{nullptr};
  Regions regions;

 private:
  Fit find_here(Count disp, const dt::Datatype& type, Count count, char** out) noexcept;
  [[gnu::cold]] Fit find_elsewhere(Count disp, const dt::Datatype& type, Count count,
                                   char** out);
};

}  // namespace mpc::rma

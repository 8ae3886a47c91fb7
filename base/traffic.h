#pragma once
// Traffic: counts how many messages and bytes each rank has received from each other one.
//
// Role:      exact counts for `mpcrun --profile` and `--trace`. Off by default: then a match costs
//            only the load and the branch that the trace costs anyway.
// Users:     runtime/message counts; mpi/objects names the members of communicators; runtime/job and
//            runtime/trace read.
// Threads:   count() and world_rank() any execution, each with entries of its own; start() before ranks
//            run; the rest any.
// See also:  docs/profile.md, base/trace.h.

#include <atomic>
#include <cstdint>

namespace mpc::traffic {

// The ranks that receive in this process, and the total number of ranks.
struct Ranks {
  int first = 0, count = 0, size = 0;
};

// What `from` (world rank; -1: not known) has sent to `to`.
struct Flow {
  int to, from;
  uint64_t messages, bytes;
};

// Counts from now on. False: no memory. Caller: while no other thread counts.
bool start(const Ranks& ranks) noexcept;
void stop() noexcept;

namespace detail {
enum Watcher : uint8_t { kTrace = 1, kCounts = 2 };
extern std::atomic<uint8_t> watchers;
void set_watcher(Watcher watcher, bool is_on) noexcept;
}  // namespace detail

// Do the counts or the trace want to hear of matches? Cost: a load of a line that stays in
// the cache.
inline bool is_watched() noexcept {
  return detail::watchers.load(std::memory_order_relaxed) != 0;
}

// The trace says whether it is on. Caller: base/trace.cpp.
void note_trace(bool is_on) noexcept;

// Counts a message for `to` from number `source` of the communicator
// that has this context id there. No effect unless start() was called.
// Cost: 40 instructions, if it is similar to a recent one.
void count(int to, uint32_t context, int source, uint64_t bytes) noexcept;
// The world rank of that source; -1: not known. Cost: as count().
int world_rank(int to, uint32_t context, int source) noexcept;

// From now on messages with this context id come to `rank` from these senders (world ranks). The
// array must exist until remove_senders(). Caller: if is_watched().
void add_senders(int rank, uint32_t context, const int* world_ranks, int count);
void remove_senders(int rank, uint32_t context) noexcept;

// Calls visit(argument, flow) for each pair that has exchanged messages. Uses no malloc.
void visit(void (*visitor)(void* argument, const Flow& flow), void* argument) noexcept;
template <class Visit>
void for_each(Visit visitor) noexcept {
  visit(
      [](void* argument, const Flow& flow) { (*static_cast<Visit*>(argument))(flow); },
      &visitor);
}

}  // namespace mpc::traffic

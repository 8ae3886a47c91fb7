#pragma once
// Trace: events with times in a ring of the process, for tests and for questions of order.
//
// Role:      shows the way of one operation through the layers. Off by default: then an event
//            costs one load and a branch.
// Users:     every layer: MPC_TRACE("engine", "node_ready", node_index).
// Threads:   any; an event is written by one fetch_add and a few stores.
// See also:  docs/ibcast-to-memcpy.md reads it in a test; base/log.h for text.

#include <atomic>
#include <cstdint>
#include <vector>

namespace mpc::trace {

struct Event {
  uint64_t time_ns;   // CLOCK_MONOTONIC
  const char* layer;  // static string
  const char* what;   // static string
  uint64_t value;
  void* who;  // the identity (rank) given by the who source, or null
};

namespace detail {
extern std::atomic<bool> is_on;
void record(const char* layer, const char* what, uint64_t value) noexcept;
}  // namespace detail

inline bool enabled() noexcept {
  return detail::is_on.load(std::memory_order_relaxed);
}

// Begins anew with room for `capacity` events; later ones overwrite the oldest.
// Caller: while no other thread records.
void start(size_t capacity);
void stop() noexcept;
// The events so far, the oldest first. Caller: after stop(), when recorders have gone on.
std::vector<Event> take();
// Installed by the job layer: who runs here.
void set_who_source(void* (*source)()) noexcept;

}  // namespace mpc::trace

#define MPC_TRACE(layer, what, value)                        \
  do {                                                       \
    if (__builtin_expect(::mpc::trace::enabled(), 0))        \
      ::mpc::trace::detail::record(layer, what,              \
                                   static_cast<uint64_t>(value)); \
  } while (0)

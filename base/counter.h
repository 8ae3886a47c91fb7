#pragma once
// Counter: counts how often something happened; declared and registered by one line.
//
// Role:      `Counter c{"sched.handovers", "..."};` at namespace scope; listed by mpcinfo, later
//            an MPI_T pvar.
// Users:     every layer, away from the hot path or with add() on the event's own rare branch.
// Threads:   add() and get() from anywhere, relaxed.
// See also:  base/settings.h, base/trace.h.

#include <atomic>
#include <cstdint>
#include <vector>

namespace mpc {

class Counter {
 public:
  Counter(const char* name, const char* help) noexcept;
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  // Cost: one locked addition (5 ns, more if many threads count the same).
  void add(uint64_t by = 1) noexcept {
    value_.fetch_add(by, std::memory_order_relaxed);
  }
  uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }
  const char* name() const noexcept { return name_; }  // "layer.word_word"
  const char* help() const noexcept { return help_; }  // one sentence

  // Sorted by name.
  static std::vector<const Counter*> all();

 private:
  const char* name_;
  const char* help_;
  Counter* next_;
  alignas(64) std::atomic<uint64_t> value_{0};
};

}  // namespace mpc

#pragma once
// Prefetch: asks for a cache line before it is written.
//
// Role:      a store to a line that another core has read waits until that core has given it up; the
//            wait can begin earlier.
// Users:     runtime/message, nbc/direct.
// Threads:   any; nothing changes but time.

namespace mpc {

// Requests the line for writing. Any address is allowed.
inline void prefetch_for_write(const void* line) noexcept {
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
}

}  // namespace mpc

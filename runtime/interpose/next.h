#pragma once
// Next: libc's own version of a function that this library replaces.
//
// Role:      MPC_NEXT(name, type): the next definition of `name` after ours in lookup order,
//            found once per function.
// Users:     runtime/interpose.
// Threads:   any; two threads may look it up at once and find the same.

#include <dlfcn.h>

#include <atomic>

#include "base/check.h"

namespace mpc::interpose {

// Libc discards the message that dlerror() would return, and frees the one that it returned, when
// it finds a symbol: a program's own failure must survive our look-ups.
void keep_error_of_program() noexcept;

// Libc's definition where libc comes before this library in lookup order: in a command without MPI
// for which a library that uses MPI is preloaded, as `env` in `LD_PRELOAD=libwrap.so env ...`.
void* find_earlier(const char* name) noexcept;

inline void* find_next(std::atomic<void*>& cached, const char* name) noexcept {
  // Relaxed: only the value matters; what it points to existed before.
  void* found = cached.load(std::memory_order_relaxed);
  if (found == nullptr) [[unlikely]] {
    keep_error_of_program();
    found = ::dlsym(RTLD_NEXT, name);
    if (found == nullptr) found = find_earlier(name);
    CHECK(found != nullptr, name);
    cached.store(found, std::memory_order_relaxed);
  }
  return found;
}

}  // namespace mpc::interpose

#define MPC_NEXT(name, type)                                              \
  (__extension__({                                                        \
    static constinit std::atomic<void*> mpc_next{nullptr};                \
    reinterpret_cast<type>(::mpc::interpose::find_next(mpc_next, #name)); \
  }))

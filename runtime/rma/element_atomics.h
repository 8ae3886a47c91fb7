#pragma once
// Element atomics: one element of a window changed as a whole, whoever else changes it.
//
// Role:      the mechanism below accumulate, fetch-and-op and compare-and-swap. It follows from size
//            and address of the element alone, so that all who reach an element take the same one:
//            1, 2, 4, 8 bytes at their alignment are the processor's; all others have a stripe lock.
// Users:     runtime/rma/accumulate.cpp.
// Threads:   any.
// See also:  docs/design/0026-windows.md, "Atomics"; runtime/datatype/reduce.h (the operations).

#include <cstdint>
#include <cstring>

#include "base/spin_lock.h"
#include "runtime/datatype/reduce_function.h"

namespace mpc::rma {

// The lock of whatever begins at this address, in all windows of the process.
SpinLock<>& stripe_of(const void* address) noexcept;

inline bool is_atomic_size(int64_t extent) noexcept {
  return extent == 1 || extent == 2 || extent == 4 || extent == 8;
}
inline bool is_aligned(const void* address, int64_t extent) noexcept {
  return (reinterpret_cast<uintptr_t>(address) & static_cast<uintptr_t>(extent - 1)) ==
         0;
}

// All with the processor's atomics. Order: an element that one writes with release another reads with
// acquire; changes are both.
template <class Word>
struct Processor {
  static Word get(const void* at) noexcept {
    return __atomic_load_n(static_cast<const Word*>(at), __ATOMIC_ACQUIRE);
  }
  static void set(void* at, Word value) noexcept {
    __atomic_store_n(static_cast<Word*>(at), value, __ATOMIC_RELEASE);
  }
  static Word exchange(void* at, Word value) noexcept {
    return __atomic_exchange_n(static_cast<Word*>(at), value, __ATOMIC_ACQ_REL);
  }
  static Word add(void* at, Word value) noexcept {
    return __atomic_fetch_add(static_cast<Word*>(at), value, __ATOMIC_ACQ_REL);
  }
  // What was there; `value` is there if that was `expected`.
  static Word compare_and_swap(void* at, Word expected, Word value) noexcept {
    __atomic_compare_exchange_n(static_cast<Word*>(at), &expected, value, false,
                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return expected;
  }
  // What was there before `kernel` was applied with the operand.
  static Word apply(void* at, const void* operand, dt::ReduceFn kernel) noexcept {
    Word old = __atomic_load_n(static_cast<Word*>(at), __ATOMIC_RELAXED);
    for (;;) {
      Word changed = old;
      kernel(operand, &changed, 1);
      if (__atomic_compare_exchange_n(static_cast<Word*>(at), &old, changed, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return old;
    }
  }
};

}  // namespace mpc::rma

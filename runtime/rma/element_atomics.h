#pragma once
// Element atomics: changes one element of a window as a whole, whatever other threads change it.
//
// Role:      the mechanism below accumulate, fetch-and-op and compare-and-swap. It depends only on
//            size and address of the element, so that all threads that access an element use the
//            same one: for 1, 2, 4, 8 bytes at their alignment the processor's; for all others a
//            stripe lock.
// Users:     runtime/rma/accumulate.cpp.
// Threads:   any.
// See also:  docs/design/0026-windows.md, "Atomics"; runtime/datatype/reduce.h (the operations).

#include <cstdint>
#include <cstring>

#include "base/spin_lock.h"
#include "runtime/datatype/reduce_function.h"

namespace mpc::rma {

// The lock of elements that begin at this address, in all windows of the process.
SpinLock<>& stripe_of(const void* address) noexcept;

inline bool is_atomic_size(int64_t extent) noexcept {
  return extent == 1 || extent == 2 || extent == 4 || extent == 8;
}
inline bool is_aligned(const void* address, int64_t extent) noexcept {
  return (reinterpret_cast<uintptr_t>(address) & static_cast<uintptr_t>(extent - 1)) ==
         0;
}

// All use the processor's atomics. Order: an element written with release is read with
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
  // Returns the old value; stores `value` if that was `expected`.
  static Word compare_and_swap(void* at, Word expected, Word value) noexcept {
    __atomic_compare_exchange_n(static_cast<Word*>(at), &expected, value, false,
                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return expected;
  }
  // Returns the value before `kernel` was applied with the operand, of `elements` that fill a word.
  static Word apply(void* at, const void* operand, dt::ReduceFn kernel,
                    int64_t elements = 1) noexcept {
    Word old = __atomic_load_n(static_cast<Word*>(at), __ATOMIC_RELAXED);
    for (;;) {
      Word changed = old;
      kernel(operand, &changed, elements);
      if (__atomic_compare_exchange_n(static_cast<Word*>(at), &old, changed, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return old;
    }
  }
};

}  // namespace mpc::rma

#pragma once
// Futex: sleep on a word of memory and wake its sleepers, by raw system calls.
//
// Role:      the only way in which the runtime blocks a kernel thread. Never touches errno or
//            any thread_local, so it may be used while the thread's TLS is lent to another thread.
// Users:     scheduler; base itself.
// Threads:   any.
// See also:  futex(2).

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>

namespace mpc {

// A system call without libc: returns -errno on failure, touches no thread_local.
[[gnu::always_inline]] inline long raw_syscall(long number, long a = 0, long b = 0,
                                               long c = 0, long d = 0, long e = 0,
                                               long f = 0) noexcept {
#if defined(__x86_64__)
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#else
#error "raw_syscall: only x86-64 is supported"
#endif
}

using FutexWord = std::atomic<uint32_t>;

[[gnu::always_inline]] inline long futex_address(const FutexWord& word) noexcept {
  return reinterpret_cast<long>(&word);
}

// Sleeps while word == expected. May return after a wake-up, a change or a signal: callers loop.
[[gnu::always_inline]] inline void futex_wait(const FutexWord& word,
                                              uint32_t expected) noexcept {
  raw_syscall(SYS_futex, futex_address(word), FUTEX_WAIT_PRIVATE, expected);
}

// The same with a deadline (CLOCK_MONOTONIC, absolute). Returns false when the time ran out.
inline bool futex_wait_until(const FutexWord& word, uint32_t expected,
                             uint64_t deadline_ns) noexcept {
  constexpr uint64_t kSecond = 1'000'000'000;
  timespec end{static_cast<time_t>(deadline_ns / kSecond),
               static_cast<long>(deadline_ns % kSecond)};
  return raw_syscall(SYS_futex, futex_address(word), FUTEX_WAIT_BITSET_PRIVATE,
                     expected, reinterpret_cast<long>(&end), 0,
                     static_cast<long>(FUTEX_BITSET_MATCH_ANY)) != -ETIMEDOUT;
}

[[gnu::always_inline]] inline void futex_wake(const FutexWord& word,
                                              int count = 1) noexcept {
  raw_syscall(SYS_futex, futex_address(word), FUTEX_WAKE_PRIVATE, count);
}

[[gnu::always_inline]] inline void futex_wake_all(const FutexWord& word) noexcept {
  futex_wake(word, INT_MAX);
}

}  // namespace mpc

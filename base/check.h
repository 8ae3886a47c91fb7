#pragma once
// CHECK: a broken invariant of our own ends the process with one report. Never for a user's mistake.
//
// Role:      states what must hold; the report names rank, core and state through the reporter that
//            the job layer installs.
// Users:     every layer.
// Threads:   any, signal handlers included (the report uses write(2) only).
// See also:  base/result.h for errors that a user or the system can cause.

namespace mpc {

// Writes a line about the running rank and core for the report. Installed once, by runtime/job.
// Must be async-signal-safe; returns the number of bytes written to `buffer`.
using CheckReporter = unsigned long (*)(char* buffer, unsigned long size);
void set_check_reporter(CheckReporter reporter) noexcept;

[[noreturn]] void check_failed(const char* expression, const char* message,
                               const char* file, int line) noexcept;

}  // namespace mpc

#define CHECK(condition, message)                                   \
  do {                                                              \
    if (__builtin_expect(!(condition), 0))                          \
      ::mpc::check_failed(#condition, message, __FILE__, __LINE__); \
  } while (0)

// Checked in debug and sanitizer builds only: for conditions on the hot path.
#ifdef NDEBUG
#define DCHECK(condition, message) \
  do {                             \
  } while (0)
#else
#define DCHECK(condition, message) CHECK(condition, message)
#endif

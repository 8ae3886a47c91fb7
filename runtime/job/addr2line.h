#pragma once
// addr2line: finds the source lines of addresses by the program addr2line of binutils.
//
// Role:      debug data are read in another process, so that their cost and any damage in them do
//            not affect the report that asks.
// Users:     runtime/job/backtrace.cpp.
// Threads:   the one that writes a report; signal handlers (no heap, no locks).
// See also:  addr2line(1).

#include <cstddef>
#include <cstdint>

namespace mpc::job::addr2line {

// Room for the name of the function and for "file:line"; "" if unknown.
struct Answer {
  char* function;
  size_t function_bytes;
  char* line;
  size_t line_bytes;
};

// Looks for the program in PATH. Caller: once, before anything crashes.
void find_program() noexcept;

// Asks about offsets in one file. Without the program there are no
// answers. Answers that do not come in time are left out.
void ask(const char* file, const size_t* offsets, Answer* answers, int count,
         int milliseconds) noexcept;

int64_t now_ms() noexcept;

}  // namespace mpc::job::addr2line

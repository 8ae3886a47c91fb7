#pragma once
// addr2line: the lines of source of addresses, by the program of binutils.
//
// Role:      debug data are read in another process: what they cost and where they are damaged
//            does not matter to the report that asks.
// Users:     runtime/job/backtrace.cpp.
// Threads:   the one that makes a report; signal handlers (no heap, no locks).
// See also:  addr2line(1).

#include <cstddef>
#include <cstdint>

namespace mpc::job::addr2line {

// Room for the name of the function and for "file:line"; "" where nothing is known.
struct Answer {
  char* function;
  size_t function_bytes;
  char* line;
  size_t line_bytes;
};

// Looks for the program in PATH. Caller: once, before anything crashes.
void find_program() noexcept;

// Asks about offsets of one file. Without the program nothing is answered. What it has not
// said in time is left out.
void ask(const char* file, const size_t* offsets, Answer* answers, int count,
         int milliseconds) noexcept;

int64_t now_ms() noexcept;

}  // namespace mpc::job::addr2line

#pragma once
// Executable stack: of the threads of a rank whose program needs one, as its main thread has.
//
// Role:      libc does this in a process, where the dynamic linker has seen the program.
// Users:     runtime/interpose/threads.cpp.
// Threads:   each for itself, at its start.
// See also:  runtime/interpose/executable_stack.cpp (the main thread), runtime/loader/image.h.

#include "runtime/job/rank.h"

namespace mpc::interpose {

// Of the calling thread, which belongs to the rank. A stack that the program has allocated, and that does not fill
// pages, stays as it is.
void make_thread_stack_executable(const job::Rank& rank) noexcept;

}  // namespace mpc::interpose

#pragma once
// Working directory: gives a rank's directory and umask to its threads.
//
// Role:      a thread that a rank starts has a directory of its own in the kernel, and begins in
//            the rank's.
// Users:     runtime/interpose/threads.cpp.
// Threads:   the thread that begins.
// See also:  scheduler/switch_hook.h, docs/limits.md.

#include "runtime/job/rank.h"

namespace mpc::interpose {

void enter_working_directory(const job::Rank& rank) noexcept;

}  // namespace mpc::interpose

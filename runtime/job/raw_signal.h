#pragma once
// Raw signals: handlers and masks of the process by system calls.
//
// Role:      for the report of a crash: libc's functions are those of the rank that has crashed,
//            and may be the program's own.
// Users:     runtime/job/crash.cpp, runtime/job/guarded.cpp.
// Threads:   any, signal handlers too.
// See also:  signal(7).

#include <signal.h>

namespace mpc::job::raw {

using Handler = void (*)(int, siginfo_t*, void*);

// For all threads. Runs on the signal stack; the signal is not blocked meanwhile. Caller: in the
// handler of SIGSEGV or another signal that libc has installed (whose return path is copied).
void set_handler(int signal, Handler handler) noexcept;
void set_default(int signal) noexcept;

// For the calling thread.
void block(int signal) noexcept;
void unblock(int signal) noexcept;
void block_all() noexcept;

// Sends it once more, to the calling thread, as it came.
void send_again(int signal, const siginfo_t& info) noexcept;

}  // namespace mpc::job::raw

#pragma once
// Loading: what the user is told if a program kills the process while it is being loaded.
//
// Role:      the dynamic linker, and what it calls in the program (indirect functions), crash
//            on files whose damage no check has found. That is the
//            file's fault, and the message says so.
// Users:     runtime/job/node_job.cpp.
// Threads:   one, before there are others.
// See also:  runtime/loader/integrity.h, which finds most damage before; runtime/job/crash.h for
//            crashes of ranks.

#include <signal.h>

#include <iterator>
#include <string>

namespace mpc::job {

// While this object lives, a crash names the program and ends the
// process with this status. One object at a time.
class Loading {
 public:
  Loading(const std::string& program, int status) noexcept;
  ~Loading();
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;

 private:
  static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  struct sigaction before_[std::size(kSignals)];
};

}  // namespace mpc::job

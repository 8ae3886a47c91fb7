#pragma once
// SharedPointer: the shared file pointer of the members of a file.
//
// Role:      a number that each access moves on. It lives in the first of the processes in which
//            members live; the others ask that one, by control messages.
// Users:     mpi/io.
// Threads:   any execution of a member.
// See also:  runtime/message/control.h; MPI-4.1 section 14.4.4.

#include <atomic>
#include <cstdint>

#include "mpi/objects/comm.h"
#include "runtime/io/outcome.h"

namespace mpc::mpi {

using io::Count;

struct SharedPointer {
 public:
  // One object for all members of a process. `comm`: the file's own.
  explicit SharedPointer(Comm& comm);
  ~SharedPointer();
  SharedPointer(const SharedPointer&) = delete;
  SharedPointer& operator=(const SharedPointer&) = delete;

  // Moves it on by `etypes`; returns the old value. Switches: if it lives in another process.
  Count move_by(job::Rank& self, Count etypes);
  // Has an effect only in the process where it lives. Caller: no member uses it meanwhile.
  void set_at_home(Count etypes);
  bool is_at_home() const noexcept { return is_at_home_; }

 private:
  const bool is_alone_;  // all members live in one process
  bool is_at_home_ = true;
  int here_ = 0, home_ = 0;      // processes
  uint64_t place_ = 0;           // names it in messages
  std::atomic<Count> value_{0};  // is_alone_; relaxed: it orders nothing
};

}  // namespace mpc::mpi

#pragma once
// Collective: one access of many ranks at once, in two phases.
//
// Role:      finds out whether the members' pieces are better moved together. If so, the part of the
//            file that they touch is cut into windows; whoever comes takes the next window, moves the
//            pieces of all members between it and their buffers, and accesses the file once.
// Users:     mpi/io.
// Threads:   work(): any number of executions and pool threads at once.
// See also:  runtime/io/windows.h (one window); docs/design/0028-files.md.
//
//   file     |  window 0  |  window 1  |  window 2  |
//   rank 0     aa    aa      aa    aa      aa           work() of rank 1 takes window 0,
//   rank 1       bb    bb      bb    bb      bb         that of rank 0 window 1, then 2, ...

#include <atomic>
#include <vector>

#include "runtime/io/transfer.h"
#include "runtime/io/windows.h"

namespace mpc::io {

// How far a collective access has come: of the file.
struct Reach {
  Count failed_at = kNotStopped;  // from here on it is not known what was written
  Count file_end = kNotStopped;   // reads: there is nothing from here on
  int error = 0;                  // errno, of what failed first in the file

  void note(const WindowOutcome& outcome) noexcept;
  void note(const Reach& other) noexcept;
};
// Of a member whose view is ordered.
Outcome outcome_of(const Part& part, const Reach& reach) noexcept;

// Pieces from this length on are as fast one by one.
inline constexpr Count kLargePiece = Count{32} << 10;
// The file may be so many times longer than the data.
inline constexpr Count kMostSparse = 4;
// An estimate of how many pieces of the file the part has, not 0.
Count pieces_of(const Part& part) noexcept;

class Collective {
 public:
  // The views, buffers and datatypes of the parts belong to the access until it is over.
  Collective(const Target& target, std::vector<Part> parts, bool is_write);

  // False: each member accesses the file for itself, and nothing of what follows is needed.
  bool has_windows() const noexcept { return window_count_ > 0; }
  Count window_count() const noexcept { return window_count_; }
  // Takes windows until there are no more. True: the last of them was done in this call, and the
  // access is over. Switches: sometimes.
  bool work();
  // Once it is over.
  Outcome outcome(size_t part) const noexcept;

 private:
  bool is_worthwhile() const noexcept;
  void note(const WindowOutcome& outcome) noexcept;

  const Target target_;
  const std::vector<Part> parts_;
  const bool is_write_;
  Count begin_ = 0, end_ = 0;  // of the file
  Count window_count_ = 0;
  std::atomic<Count> next_{0};  // relaxed: a ticket
  std::atomic<Count> left_{0};  // acq_rel: who is last has seen what the others did
  std::atomic<Count>
      failed_at_;  // of the file: from here on it is not known what was written
  std::atomic<Count> file_end_;  // reads: there is nothing from here on
  std::atomic<int> error_{0};    // all three: relaxed, ordered by left_
};

}  // namespace mpc::io

#pragma once
// Collective: one access of many ranks at once, in two phases.
//
// Role:      decides whether to move the pieces of all members together. If so, the part of the
//            file that they touch is cut into windows. Each thread that takes part claims the next
//            window, moves the pieces of all members between it and their buffers, and accesses the
//            file once.
// Users:     mpi/io.
// Threads:   work(): any number of executions and pool threads at once.
// See also:  runtime/io/windows.h (one window); docs/design/0028-files.md.
//
//   file     |  window 0  |  window 1  |  window 2  |
//   rank 0     aa    aa      aa    aa      aa           work() of rank 1 claims window 0,
//   rank 1       bb    bb      bb    bb      bb         that of rank 0 window 1, then 2, ...

#include <atomic>
#include <vector>

#include "runtime/io/transfer.h"
#include "runtime/io/windows.h"

namespace mpc::io {

// How much of the file a collective access has moved; both are offsets in the file.
struct Reach {
  Count failed_at = kNotStopped;  // from here on it is unknown what was written
  Count file_end = kNotStopped;   // reads: the file has ended here
  int error = 0;                  // errno of the failure at the lowest offset

  void note(const WindowOutcome& outcome) noexcept;
  void note(const Reach& other) noexcept;
};
// The outcome for a member, whose view is ordered.
Outcome outcome_of(const Part& part, const Reach& reach) noexcept;

// Pieces of this length or longer are moved as fast one by one.
inline constexpr Count kLargePiece = Count{32} << 10;
// How many times longer than the data the accessed part of the file may be.
inline constexpr Count kMostSparse = 4;
// An estimate of how many pieces of the file the part consists of; not 0.
Count pieces_of(const Part& part) noexcept;

class Collective {
 public:
  // The views, buffers and datatypes of the parts must stay unchanged until the access is over.
  Collective(const Target& target, std::vector<Part> parts, bool is_write);

  // False: each member accesses the file by itself, and the functions below are not needed.
  bool has_windows() const noexcept { return window_count_ > 0; }
  Count window_count() const noexcept { return window_count_; }
  // Claims windows until none is left. True: this call finished the last one, so that the access is
  // over. Switches: sometimes.
  bool work();
  // Caller: the access is over.
  Outcome outcome(size_t part) const noexcept;

 private:
  bool is_worthwhile() const noexcept;
  void note(const WindowOutcome& outcome) noexcept;

  const Target target_;
  const std::vector<Part> parts_;
  const bool is_write_;
  Count begin_ = 0, end_ = 0;  // in the file
  Count window_count_ = 0;
  std::atomic<Count> next_{0};  // relaxed: a ticket
  std::atomic<Count> left_{0};  // acq_rel: the last one sees what the others did
  std::atomic<Count>
      failed_at_;  // in the file: from here on it is unknown what was written
  std::atomic<Count> file_end_;  // reads: the file has ended here
  std::atomic<int> error_{0};    // all three: relaxed, ordered by left_
};

}  // namespace mpc::io

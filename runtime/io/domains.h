#pragma once
// Domains: which process accesses which part of a file in a collective access of several processes.
//
// Role:      from what each process has, as a few numbers, to whether the processes exchange their pieces
//            before they access the file, and if so to the part of the file of each of them: its domain,
//            in windows. Every process computes the same.
// Users:     mpi/io/two_phase.
// Threads:   pure functions.
// See also:  docs/design/0028-files.md; Thakur, Gropp, Lusk, "Data Sieving and Collective I/O in
//            ROMIO" (Frontiers 1999).
//
//   file        |0     |1     |2     |3     |4     |      windows
//   aggregator   AAAAAA AAAAAA AAAAAA BBBBBB BBBBBB       its domain; round r moves its r-th window

#include <span>
#include <utility>
#include <vector>

#include "runtime/io/collective.h"

namespace mpc::io {

// What the members of one process have. Travels as bytes.
struct Extent {
  Count first = kNotStopped, last = 0;  // of the file
  Count bytes = 0, pieces = 0;
  bool is_ordered = true;  // all their views
  // The hints of the process; those of the first one count.
  Switch hint = Switch::kAutomatic;
  Count window_bytes = 0, aggregators = 0;

  void add(const Part& part) noexcept;
};

struct Domains {
  Count begin = 0, end = 0;      // of the file
  Count window = 0;              // bytes
  Count windows_each = 0;        // of an aggregator, at most: so many rounds
  std::vector<int> aggregators;  // indices of processes, ascending

  bool is_exchanged() const noexcept { return !aggregators.empty(); }
  // In this round; empty (first == second) where the domain is over.
  std::pair<Count, Count> window_of(size_t aggregator, Count round) const noexcept;
};
// `extents` by process. Not exchanged: each process is as fast by itself, or hints want it so.
Domains divide(std::span<const Extent> extents);

}  // namespace mpc::io

#pragma once
// Domains: divides a collective access between processes: each gets a part of the file.
//
// Role:      from a few numbers of each process, decides whether the processes exchange their
//            pieces before they access the file, and if so which part of the file each of them
//            accesses: its domain, in windows. Every process computes the same result.
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

// What the members of one process access. Sent as bytes.
struct Extent {
  Count first = kNotStopped, last = 0;  // in the file
  Count bytes = 0, pieces = 0;
  bool is_ordered = true;  // the views of all members
  // The hints of the process; those of the first process decide.
  Switch hint = Switch::kAutomatic;
  Count window_bytes = 0, aggregators = 0;

  void add(const Part& part) noexcept;
};

struct Domains {
  Count begin = 0, end = 0;      // in the file
  Count window = 0;              // bytes
  Count windows_each = 0;        // of an aggregator, at most: the number of rounds
  std::vector<int> aggregators;  // indices of processes, ascending

  bool is_exchanged() const noexcept { return !aggregators.empty(); }
  // The aggregator's window in this round; empty (first == second) if its domain has ended.
  std::pair<Count, Count> window_of(size_t aggregator, Count round) const noexcept;
};
// `extents`: one for each process. Without exchange: if each process is as fast by itself, or hints
// say so.
Domains divide(std::span<const Extent> extents);

}  // namespace mpc::io

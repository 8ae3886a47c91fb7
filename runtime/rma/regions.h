#pragma once
// Regions: the memory that one member has attached to a dynamic window.
//
// Role:      MPI_Win_attach and MPI_Win_detach; whether an access lies in one of the regions.
// Users:     runtime/rma.
// Threads:   any: the member changes them while others read.
// See also:  MPI-4.1 section 12.2.4.

#include <cstdint>
#include <vector>

#include "base/mutex.h"

namespace mpc::rma {

class Regions {
 public:
  // False: it overlaps an existing region.
  bool attach(uintptr_t base, uintptr_t bytes);
  // False: none begins there.
  bool detach(uintptr_t base);
  // Is all of [low, high) in one region, or in several without a gap between them?
  bool holds(uintptr_t low, uintptr_t high);

 private:
  struct Region {
    uintptr_t low, high;
  };
  Mutex mutex_;
  std::vector<Region> list_ MPC_GUARDED_BY(mutex_);  // ascending, without overlap
};

}  // namespace mpc::rma

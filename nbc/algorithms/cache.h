#pragma once
// ScheduleCache: the schedules that a communicator has used, found again by the call's shape.
//
// Role:      a repeated collective costs a look-up instead of a build.
// Users:     mpi: each Comm owns one (it is per rank, as the Comm is).
// Threads:   any execution of the owning rank; locked inside.
// See also:  nbc/algorithms/collectives.h.

#include <memory>

#include "nbc/algorithms/collectives.h"

namespace mpc::nbc {

class ScheduleCache {
 public:
  ScheduleCache();
  ~ScheduleCache();
  ScheduleCache(const ScheduleCache&) = delete;
  ScheduleCache& operator=(const ScheduleCache&) = delete;

  // The schedule of this shape: the cached one, or a new one. When more than `nbc.cache_entries`
  // are cached, the least recently used ones are dropped.
  // Errors: those of build(). Cost: a hash of the shape's fields; of its arrays in v forms.
  Result<std::shared_ptr<const Schedule>> get(const Shape& shape);

  size_t entries() const noexcept;
  uint64_t hits() const noexcept;
  uint64_t builds() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mpc::nbc

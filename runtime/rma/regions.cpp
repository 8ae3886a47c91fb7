#include "runtime/rma/regions.h"

#include <algorithm>

namespace mpc::rma {

bool Regions::attach(uintptr_t base, uintptr_t bytes) {
  const Locked inside(mutex_);
  const auto next = std::find_if(list_.begin(), list_.end(), [&](const Region& r) {
    return r.high > base || r.low >= base;
  });
  const bool is_free = next == list_.end() || base + bytes <= next->low;
  // An empty region overlaps nothing, but has a base that can be detached.
  if (!is_free && bytes != 0) return false;
  list_.insert(next, {base, base + bytes});
  return true;
}

bool Regions::detach(uintptr_t base) {
  const Locked inside(mutex_);
  const auto found = std::find_if(list_.begin(), list_.end(),
                                  [&](const Region& r) { return r.low == base; });
  if (found == list_.end()) return false;
  list_.erase(found);
  return true;
}

bool Regions::holds(uintptr_t low, uintptr_t high) {
  const Locked inside(mutex_);
  for (const Region& r : list_) {
    if (r.low > low) break;
    if (r.high > low) low = r.high;  // the rest may lie in the next one
    if (low >= high) return true;
  }
  return false;
}

}  // namespace mpc::rma

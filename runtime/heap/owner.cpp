#include "runtime/heap/owner.h"

namespace mpc::heap {
namespace {

constinit Owner g_owners[kMaxRanks + 1];

}  // namespace

int Owner::rank() const noexcept {
  return static_cast<int>(this - g_owners) + kProcess;
}

Owner& owner_of(int rank) noexcept { return g_owners[rank - kProcess]; }

}  // namespace mpc::heap

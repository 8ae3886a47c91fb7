#include "runtime/rma/element_atomics.h"

namespace mpc::rma {
namespace {

struct alignas(64) Stripe {
  SpinLock<> lock;
};
constexpr size_t kStripes = 256;
constinit Stripe g_stripes[kStripes];

}  // namespace

SpinLock<>& stripe_of(const void* address) noexcept {
  // Elements that have stripes are mostly 16 bytes long; the constant is that of the golden ratio.
  const auto number = reinterpret_cast<uintptr_t>(address) >> 2;
  return g_stripes[(number * 0x9e3779b97f4a7c15u) >> 56].lock;
}

}  // namespace mpc::rma

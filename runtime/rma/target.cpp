#include "runtime/rma/target.h"

#include <algorithm>

namespace mpc::rma {
namespace {

// The bytes that `count` of `type` span, relative to their displacement. False: they do not fit in 63
// bits.
bool span_of(const dt::Datatype& type, Count count, Count* low, Count* high) noexcept {
  Count last = 0;
  if (__builtin_mul_overflow(count - 1, type.extent(), &last)) return false;
  *low = type.true_lb() + std::min(last, Count{0});
  return !__builtin_add_overflow(type.true_lb() + type.true_extent(),
                                 std::max(last, Count{0}), high);
}

}  // namespace

Fit Target::find_elsewhere(Count disp, const dt::Datatype& type, Count count,
                           char** out) {
  if (memory.addressing == Addressing::kFar) {
    const Fit fit = find_here(disp, type, count, out);
    return fit == Fit::kFits ? Fit::kFar : fit;
  }
  Count low = 0, high = 0;
  *out = reinterpret_cast<char*>(disp);
  const bool is_empty = count == 0 || type.size() == 0;
  if (!is_empty && !span_of(type, count, &low, &high)) return Fit::kBeyond;
  if (memory.addressing == Addressing::kFarDynamic) return Fit::kFar;
  if (is_empty) return Fit::kFits;
  const auto at = static_cast<uintptr_t>(disp);
  return regions.holds(at + static_cast<uintptr_t>(low),
                       at + static_cast<uintptr_t>(high))
             ? Fit::kFits
             : Fit::kNotAttached;
}

Fit Target::find_here(Count disp, const dt::Datatype& type, Count count,
                      char** out) noexcept {
  Count low = 0, high = 0, start = 0;
  if (disp < 0) return Fit::kNegative;
  if (__builtin_mul_overflow(disp, memory.unit, &start)) return Fit::kBeyond;
  *out = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(memory.base) +
                                 static_cast<uintptr_t>(start));
  if (count == 0 || type.size() == 0) return Fit::kFits;
  if (!span_of(type, count, &low, &high) ||
      __builtin_add_overflow(high, start, &high) || start + low < 0 ||
      high > memory.bytes)
    return Fit::kBeyond;
  return Fit::kFits;
}

void Target::note_completed() noexcept {
  // seq_cst: see Access::wait(); release for what was written to the target. `expected` was written
  // before the post that the origin has taken.
  const uint64_t now = completed.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (now >= expected.load(std::memory_order_relaxed)) exposure.wake();
}

}  // namespace mpc::rma

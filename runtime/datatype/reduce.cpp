#include "runtime/datatype/reduce.h"

#include "runtime/datatype/reduce_table.h"

namespace mpc::dt {
namespace {

const ReduceTable& table() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kReduceV3;
#endif
  return kReduceBaseline;
}

bool in_range(uint32_t op, uint32_t type) noexcept {
  return op >= kFirstOp && op <= kLastOp && type >= abi::kFirstType &&
         type <= abi::kLastType;
}

}  // namespace

ReduceFn reduction(uint32_t op_code, uint32_t type_code) noexcept {
  if (!in_range(op_code, type_code)) return nullptr;
  return table().two[op_slot(op_code)][type_code - abi::kFirstType];
}

Reduce3Fn reduction3(uint32_t op_code, uint32_t type_code) noexcept {
  if (!in_range(op_code, type_code)) return nullptr;
  return table().three[op_slot(op_code)][type_code - abi::kFirstType];
}

}  // namespace mpc::dt

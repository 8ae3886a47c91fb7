#pragma once
// ReduceTable: function pointers by operation and datatype code.
//
// Role:      the interface between reduce.cpp, which picks a table, and the kernels'
//            object files.
// Users:     runtime/datatype only.
// Threads:   constant.
// See also:  reduce_kernels.h.

#include <cstdint>

#include "runtime/datatype/abi.h"
#include "runtime/datatype/reduce_function.h"

namespace mpc::dt {

inline constexpr uint32_t kFirstOp = abi::kSum, kLastOp = abi::kNoOp;
constexpr uint32_t op_slot(uint32_t op) { return op - kFirstOp; }

struct ReduceTable {
  static constexpr uint32_t kOps = kLastOp - kFirstOp + 1;
  static constexpr uint32_t kTypes = abi::kLastType - abi::kFirstType + 1;
  ReduceFn two[kOps][kTypes] = {};
  Reduce3Fn three[kOps][kTypes] = {};
};

extern const ReduceTable kReduceBaseline;
#if defined(__x86_64__)
extern const ReduceTable kReduceV3;  // AVX2 and FMA
#endif

}  // namespace mpc::dt

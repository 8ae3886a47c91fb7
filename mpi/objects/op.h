#pragma once
// Op: a reduction operation, predefined or the user's.
//
// Role:      MPI-4.1 section 6.9; gives nbc/engine the function that it applies.
// Users:     reductions, RMA accumulate.
// Threads:   constant after creation; predefined ones belong to the process.
// See also:  runtime/datatype/reduce.h (kernels), nbc/engine/engine.h (Reduction).

#include <atomic>

#include "base/mpi_constants.h"
#include "mpi.h"
#include "mpi/objects/attributes.h"
#include "mpi/objects/error.h"
#include "mpi/objects/object.h"
#include "nbc/engine/engine.h"
#include "runtime/datatype/datatype.h"

namespace mpc::mpi {

class DatatypeObject;

class Op final : public Object {
 public:
  Op(int owner, uint32_t code, bool commutes) noexcept
      : Object(Kind::kOp, owner),
        code_(code),
        commutes_(commutes),
        is_reduction_(code != dt::abi::kReplace && code != dt::abi::kNoOp) {}
  uint32_t code() const noexcept { return code_; }  // dt::abi::Op; 0: the user's
  bool is_predefined() const noexcept { return code_ != 0; }
  bool commutes() const noexcept { return commutes_; }
  // MPI_REPLACE and MPI_NO_OP are for one-sided communication only (MPI-4.1 section 12.3.4).
  bool is_reduction() const noexcept { return is_reduction_; }
  const char* name() const noexcept;  // "MPI_SUM"; null: the user's
  MPI_Op handle() noexcept;
  void drop() noexcept;  // gives a reference back

  // The user's function, one of the two.
  AnyFunction* function = nullptr;  // MPI_User_function, or Fortran's
  MPI_User_function_c* large_function = nullptr;
  Language language = Language::kC;
  void* extra_state = nullptr;

 private:
  uint32_t code_;
  bool commutes_, is_reduction_;
};

Op* predefined_op(MPI_Op handle) noexcept;  // null: no such constant
namespace detail {
inline constexpr uintptr_t kFirstOp = abi::kOpNull,
                           kOpCount = 0x20;  // the ABI's handles of operations
// Null until predefined_op() has been called.
extern constinit std::atomic<Op* const*> predefined_ops;
}  // namespace detail
// The same in line; null: no such constant, or not known yet.
inline Op* quick_predefined_op(MPI_Op handle) noexcept {
  // acquire pairs with the release where the operations are made.
  Op* const* const ops = detail::predefined_ops.load(std::memory_order_acquire);
  const uintptr_t at = reinterpret_cast<uintptr_t>(handle) - detail::kFirstOp;
  return ops != nullptr && at < detail::kOpCount ? ops[at] : nullptr;
}

// One operation on one datatype, ready for the engine. Lives as long as the collective, and
// keeps operation and type alive: both may be freed while it is in flight (MPI-4.1 sections
// 5.1.9 and 6.9.5), and a user's function may still ask what its datatype is.
class BoundOp {
 public:
  BoundOp() = default;
  BoundOp(const BoundOp&) = delete;
  BoundOp& operator=(const BoundOp&) = delete;
  ~BoundOp();
  // `handle` is what a user's function sees. Errors: MPI_ERR_OP if the operation is not
  // defined for the type (the message names both).
  Err bind(Op& op, const dt::Datatype& type, MPI_Datatype handle);
  nbc::Reduction reduction() const noexcept { return reduction_; }
  const Op* op() const noexcept { return op_; }  // null: not bound
  // For calls outside of schedules: as reduction().apply, but a user's function waits until
  // no other execution of the rank is in one. Caller: an execution of the rank. Switches: yes.
  static void apply_alone(void* context, const void* in, void* inout, dt::Count n);

 private:
  static uint32_t dup_code(const dt::Datatype& type) noexcept;  // 0: none
  static void apply(void* context, const void* in, void* inout, dt::Count n);
  void keep(DatatypeObject* object) noexcept;
  Op* op_ = nullptr;
  dt::TypeRef type_;
  MPI_Datatype handle_ = nullptr;
  DatatypeObject* object_ = nullptr;  // behind the handle; null if nobody can free it
  void (*kernel_)(const void*, void*, dt::Count) = nullptr;
  void (*kernel3_)(const void*, const void*, void*, dt::Count) = nullptr;
  nbc::Reduction reduction_;
};

}  // namespace mpc::mpi

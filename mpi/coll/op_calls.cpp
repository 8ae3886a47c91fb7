// Bodies of MPI-4.1 section 6.9: reduction operations.

#include <fmt/format.h>

#include "mpi/impl/collective.h"
#include "mpi/objects/op.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi::impl {

Err op_create(UserFunction function, bool commute, MPI_Op* out) {
  Op* op = new Op(this_world_rank(), 0, commute);
  if (function.classic != nullptr) op->function = any_function(function.classic);
  op->large_function = function.large;
  *out = op->handle();
  return kSuccess;
}

Err op_free(HandleRef<Op, MPI_Op> ref) {
  if (ref->is_predefined())
    return fail(MPI_ERR_OP, "a predefined operation cannot be freed");
  ref->mark_freed();
  ref->drop();
  *ref.handle = MPI_OP_NULL;
  return kSuccess;
}

Err op_commutative(Op& op, int* commute) {
  *commute = op.commutes();
  return kSuccess;
}

Err reduce_local(const void* in, void* inout, Count count, TypeArg type, Op& op) {
  BoundOp bound;
  MPC_MPI_TRY(bound.bind(op, *type, type.handle));
  if (count > 0) BoundOp::apply_alone(&bound, in, inout, count);
  return kSuccess;
}

}  // namespace mpc::mpi::impl

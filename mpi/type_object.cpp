#include "mpi/type_object.h"

#include "mpi/handles.h"
#include "mpi/rank_state.h"

namespace mpc::mpi {

DatatypeObject* predefined_type_object(MPI_Datatype handle) {
  const auto code = reinterpret_cast<uintptr_t>(handle);
  const dt::Datatype* type = dt::predefined(static_cast<uint32_t>(code));
  if (type == nullptr || handle == MPI_DATATYPE_NULL) return nullptr;
  RankState& state = this_rank();
  const std::lock_guard lock(state.mutex);
  if (!state.types) state.types = std::make_unique<TypeTable>();
  auto& object = state.types->objects[code];
  if (!object) {
    object = std::make_unique<DatatypeObject>(this_world_rank(), dt::TypeRef(type), handle);
    object->is_permanent = true;
  }
  return object.get();
}

void drop_type_object(DatatypeObject* object) noexcept {
  if (!object->release()) return;
  forget_handle(*object);
  delete object;
}

MPI_Datatype create_type_handle(dt::TypeRef type) {
  if (type->is_predefined())
    return reinterpret_cast<MPI_Datatype>(static_cast<uintptr_t>(type->abi_code()));
  return (new DatatypeObject(this_world_rank(), std::move(type)))->handle();
}

}  // namespace mpc::mpi

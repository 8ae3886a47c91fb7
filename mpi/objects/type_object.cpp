#include "mpi/objects/type_object.h"

#include "mpi/objects/handles.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi {

namespace {

// The rank's only object for a type that lives as long as the process.
DatatypeObject* permanent_object(const dt::Datatype& type, MPI_Datatype constant) {
  RankState& state = this_rank();
  const std::lock_guard lock(state.mutex);
  if (!state.types) state.types = std::make_shared<TypeTable>();
  auto& object = state.types->objects[&type];
  if (!object)
    object = std::make_unique<DatatypeObject>(this_world_rank(), dt::TypeRef(&type),
                                              constant);
  object->exempt();
  return object.get();
}

}  // namespace

DatatypeObject* predefined_type_object(MPI_Datatype handle) {
  const auto code = reinterpret_cast<uintptr_t>(handle);
  const dt::Datatype* type = dt::predefined(static_cast<uint32_t>(code));
  if (type == nullptr || handle == MPI_DATATYPE_NULL) return nullptr;
  return permanent_object(*type, handle);
}

void drop_type_object(DatatypeObject* object) noexcept {
  if (!object->release()) return;
  forget_handle(*object);
  delete object;
}

MPI_Datatype create_type_handle(dt::TypeRef type) {
  if (type->abi_code() != 0)
    return reinterpret_cast<MPI_Datatype>(static_cast<uintptr_t>(type->abi_code()));
  if (type->is_predefined()) return permanent_object(*type, nullptr)->handle();
  return (new DatatypeObject(this_world_rank(), std::move(type)))->handle();
}

}  // namespace mpc::mpi

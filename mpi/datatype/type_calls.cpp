// Bodies of MPI-4.1 sections 5.1 and 19.1.9: datatypes.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/mpi_constants.h"
#include "mpi/impl/datatype.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/status.h"
#include "mpi/objects/type_object.h"

namespace mpc::mpi::impl {
namespace {

Err finish(Result<dt::TypeRef> made, MPI_Datatype* out) {
  if (!made.ok()) return fail(made.error());
  *out = create_type_handle(std::move(made).value());
  return kSuccess;
}

// For a permanent type: no reference is counted.
Err finish(const dt::Datatype* type, MPI_Datatype* out, const std::string& wanted) {
  if (type == nullptr) return fail(MPI_ERR_ARG, wanted);
  *out = create_type_handle(dt::TypeRef(type));
  return kSuccess;
}

// A handle of the caller for a part of another type.
MPI_Datatype part_handle(const dt::Datatype* type) {
  return create_type_handle(dt::TypeRef(type));
}

Err check_room(Count given, size_t needed, const char* name) {
  if (given >= static_cast<Count>(needed)) return kSuccess;
  return fail(MPI_ERR_ARG, fmt::format("{} is {}, {} are needed", name, given, needed));
}

Err check_not_named(const dt::Datatype& type) {
  if (type.contents().combiner != dt::abi::kCombinerNamed) return kSuccess;
  return fail(MPI_ERR_TYPE, "a predefined datatype has no contents");
}

Err check_not_large(const dt::Datatype& type) {
  if (!type.contents().large) return kSuccess;
  return fail(MPI_ERR_TYPE,
              "the datatype was made with large counts: use the function "
              "with _c");
}

}  // namespace

// --- constructors ---------------------------------------------------------------------------

Err type_contiguous(dt::Binding binding, Count count, const dt::Datatype& old,
                    MPI_Datatype* out) {
  return finish(dt::make_contiguous(count, old, binding), out);
}
Err type_vector(dt::Binding binding, Count count, Count length, Count stride,
                const dt::Datatype& old, MPI_Datatype* out) {
  return finish(dt::make_vector(count, length, stride, old, binding), out);
}
Err type_create_hvector(dt::Binding binding, Count count, Count length, Count stride,
                        const dt::Datatype& old, MPI_Datatype* out) {
  return finish(dt::make_hvector(count, length, stride, old, binding), out);
}
Err type_create_hvector(dt::Binding binding, int count, int length, Count stride,
                        const dt::Datatype& old, MPI_Datatype* out) {
  return type_create_hvector(binding, Count{count}, Count{length}, stride, old, out);
}
Err type_indexed(dt::Binding binding, Count, CountView lengths, CountView displacements,
                 const dt::Datatype& old, MPI_Datatype* out) {
  return finish(dt::make_indexed(lengths, displacements, old, binding), out);
}
Err type_create_hindexed(dt::Binding binding, Count, CountView lengths,
                         CountView displacements, const dt::Datatype& old,
                         MPI_Datatype* out) {
  return finish(dt::make_hindexed(lengths, displacements, old, binding), out);
}
Err type_create_hindexed(dt::Binding binding, int count, CountView lengths,
                         CountView displacements, const dt::Datatype& old,
                         MPI_Datatype* out) {
  return type_create_hindexed(binding, Count{count}, lengths, displacements, old, out);
}
Err type_create_indexed_block(dt::Binding binding, Count, Count length,
                              CountView displacements, const dt::Datatype& old,
                              MPI_Datatype* out) {
  return finish(dt::make_indexed_block(length, displacements, old, binding), out);
}
Err type_create_hindexed_block(dt::Binding binding, Count, Count length,
                               CountView displacements, const dt::Datatype& old,
                               MPI_Datatype* out) {
  return finish(dt::make_hindexed_block(length, displacements, old, binding), out);
}
Err type_create_struct(dt::Binding binding, Count, CountView lengths,
                       CountView displacements, TypeView types, MPI_Datatype* out) {
  std::vector<const dt::Datatype*> parts(types.size());
  for (size_t i = 0; i < types.size(); ++i) parts[i] = &types[i];
  return finish(dt::make_struct(lengths, displacements, parts, binding), out);
}
Err type_create_struct(dt::Binding binding, int count, CountView lengths,
                       CountView displacements, TypeView types, MPI_Datatype* out) {
  return type_create_struct(binding, Count{count}, lengths, displacements, types, out);
}
Err type_create_subarray(dt::Binding binding, int, CountView sizes, CountView subsizes,
                         CountView starts, int order, const dt::Datatype& old,
                         MPI_Datatype* out) {
  return finish(dt::make_subarray(sizes, subsizes, starts, order, old, binding), out);
}
Err type_create_darray(dt::Binding binding, int size, int rank, int, CountView gsizes,
                       std::span<const int> distribs, std::span<const int> dargs,
                       std::span<const int> psizes, int order, const dt::Datatype& old,
                       MPI_Datatype* out) {
  return finish(
      dt::make_darray(size, rank, gsizes, distribs, dargs, psizes, order, old, binding),
      out);
}
Err type_create_resized(dt::Binding binding, const dt::Datatype& old, Count lb,
                        Count extent, MPI_Datatype* out) {
  return finish(dt::make_resized(old, lb, extent, binding), out);
}

Err type_create_f90_real(int p, int r, MPI_Datatype* out) {
  return finish(dt::f90_real(p, r), out,
                fmt::format("no REAL has precision {} and range {}", p, r));
}
Err type_create_f90_complex(int p, int r, MPI_Datatype* out) {
  return finish(dt::f90_complex(p, r), out,
                fmt::format("no COMPLEX has precision {} and range {}", p, r));
}
Err type_create_f90_integer(int r, MPI_Datatype* out) {
  return finish(dt::f90_integer(r), out, fmt::format("no INTEGER has range {}", r));
}

Err type_get_value_index(const dt::Datatype& value, const dt::Datatype& index,
                         MPI_Datatype* out) {
  const dt::Datatype* pair = dt::value_index_pair(value, index);
  *out = pair == nullptr ? MPI_DATATYPE_NULL : create_type_handle(dt::TypeRef(pair));
  return kSuccess;
}

Err type_match_size(int type_class, int size, MPI_Datatype* out) {
  using namespace dt::abi;
  struct Match {
    int type_class, size;
    uint32_t code;
  };
  constexpr Match kMatches[] = {
      {MPI_TYPECLASS_INTEGER, 1, kInteger1},   {MPI_TYPECLASS_INTEGER, 2, kInteger2},
      {MPI_TYPECLASS_INTEGER, 4, kInteger4},   {MPI_TYPECLASS_INTEGER, 8, kInteger8},
      {MPI_TYPECLASS_INTEGER, 16, kInteger16}, {MPI_TYPECLASS_REAL, 2, kReal2},
      {MPI_TYPECLASS_REAL, 4, kReal4},         {MPI_TYPECLASS_REAL, 8, kReal8},
      {MPI_TYPECLASS_REAL, 16, kReal16},       {MPI_TYPECLASS_COMPLEX, 4, kComplex4},
      {MPI_TYPECLASS_COMPLEX, 8, kComplex8},   {MPI_TYPECLASS_COMPLEX, 16, kComplex16},
      {MPI_TYPECLASS_COMPLEX, 32, kComplex32}};
  if (type_class != MPI_TYPECLASS_INTEGER && type_class != MPI_TYPECLASS_REAL &&
      type_class != MPI_TYPECLASS_COMPLEX)
    return fail(MPI_ERR_ARG, fmt::format("type class {} does not exist", type_class));
  for (const Match& m : kMatches)
    if (m.type_class == type_class && m.size == size)
      return finish(dt::predefined(m.code), out, "the type is not supported here");
  return fail(MPI_ERR_ARG, fmt::format("no type of that class has {} bytes", size));
}

Err type_dup(DatatypeObject& old, MPI_Datatype* out) {
  Result<dt::TypeRef> made = dt::make_dup(old.type());
  if (!made.ok()) return fail(made.error());
  auto* copy = new DatatypeObject(this_world_rank(), std::move(made).value());
  Err e;
  try {
    e = old.attributes.copy_to(copy->attributes, old.handle());
  } catch (...) {  // an exception of a copy function
    drop_type_object(copy);
    throw;
  }
  if (e) {
    drop_type_object(copy);
    *out = MPI_DATATYPE_NULL;
    return e;
  }
  *out = copy->handle();
  return kSuccess;
}

Err type_commit(HandleRef<DatatypeObject, MPI_Datatype> ref) {
  ref->type().commit();
  return kSuccess;
}

Err type_free(HandleRef<DatatypeObject, MPI_Datatype> ref) {
  DatatypeObject* object = ref.object;
  if (object->is_predefined())
    return fail(MPI_ERR_TYPE, "a predefined datatype cannot be freed");
  if (object->is_given_up) return fail(MPI_ERR_TYPE, "the datatype was freed before");
  MPC_MPI_TRY(object->attributes.remove_all(object->handle()));
  *ref.handle = MPI_DATATYPE_NULL;
  object->is_given_up = true;
  drop_type_object(
      object);  // the last reference ends it: a user's reduction may hold one
  return kSuccess;
}

// --- inquiry --------------------------------------------------------------------------------

Err type_size(const dt::Datatype& type, Count* size) {
  *size = type.size();
  return kSuccess;
}
Err type_get_extent(const dt::Datatype& type, Count* lb, Count* extent) {
  *lb = type.lb();
  *extent = type.extent();
  return kSuccess;
}
Err type_get_true_extent(const dt::Datatype& type, Count* lb, Count* extent) {
  *lb = type.true_lb();
  *extent = type.true_extent();
  return kSuccess;
}
Err type_extent(const dt::Datatype& type, Count* extent) {
  *extent = type.extent();
  return kSuccess;
}
Err type_lb(const dt::Datatype& type, Count* lb) {
  *lb = type.lb();
  return kSuccess;
}
Err type_ub(const dt::Datatype& type, Count* ub) {
  *ub = type.ub();
  return kSuccess;
}

Err type_set_name(DatatypeObject& type, const char* name) {
  type.name.assign(name, ::strnlen(name, MPI_MAX_OBJECT_NAME - 1));
  type.has_name = true;
  return kSuccess;
}

Err type_get_name(DatatypeObject* type, char* name, int* length) {
  const uint32_t code = type != nullptr ? type->type().abi_code() : abi::kDatatypeNull;
  const char* text = type != nullptr && type->has_name ? type->name.c_str()
                                                       : predefined_type_name(code);
  const size_t n = std::strlen(text);
  std::memcpy(name, text, n + 1);
  *length = static_cast<int>(n);
  return kSuccess;
}

Err type_get_envelope(DatatypeObject& object, int* integers, int* addresses, int* types,
                      int* combiner) {
  MPC_MPI_TRY(check_not_large(object.type()));
  const dt::Contents& c = object.type().contents();
  *integers = static_cast<int>(c.integers.size());
  *addresses = static_cast<int>(c.addresses.size());
  *types = static_cast<int>(c.types.size());
  *combiner = c.combiner;
  return kSuccess;
}

Err type_get_envelope_c(const dt::Datatype& type, Count* integers, Count* addresses,
                        Count* large_counts, Count* types, int* combiner) {
  const dt::Contents& c = type.contents();
  *integers = static_cast<Count>(c.integers.size());
  *addresses = static_cast<Count>(c.addresses.size());
  *large_counts = static_cast<Count>(c.large_counts.size());
  *types = static_cast<Count>(c.types.size());
  *combiner = c.combiner;
  return kSuccess;
}

Err type_get_contents_c(const dt::Datatype& type, Count max_integers,
                        Count max_addresses, Count max_large_counts, Count max_types,
                        std::span<int> integers, MPI_Aint* addresses,
                        MPI_Count* large_counts, MPI_Datatype* types) {
  MPC_MPI_TRY(check_not_named(type));
  const dt::Contents& c = type.contents();
  MPC_MPI_TRY(check_room(max_integers, c.integers.size(), "max_integers"));
  MPC_MPI_TRY(check_room(max_addresses, c.addresses.size(), "max_addresses"));
  MPC_MPI_TRY(check_room(max_large_counts, c.large_counts.size(), "max_large_counts"));
  MPC_MPI_TRY(check_room(max_types, c.types.size(), "max_datatypes"));
  std::copy(c.integers.begin(), c.integers.end(), integers.begin());
  std::copy(c.addresses.begin(), c.addresses.end(), addresses);
  std::copy(c.large_counts.begin(), c.large_counts.end(), large_counts);
  std::transform(c.types.begin(), c.types.end(), types, part_handle);
  return kSuccess;
}

Err type_get_contents(DatatypeObject& object, int max_integers, int max_addresses,
                      int max_types, std::span<int> integers, MPI_Aint* addresses,
                      MPI_Datatype* types) {
  MPC_MPI_TRY(check_not_large(object.type()));
  return type_get_contents_c(object.type(), max_integers, max_addresses, 0, max_types,
                             integers, addresses, nullptr, types);
}

// --- addresses ------------------------------------------------------------------------------

Err get_address(const void* location, Count* address) {
  *address = reinterpret_cast<Count>(location);
  return kSuccess;
}
Err get_address(void* location, Count* address) {
  return get_address(static_cast<const void*>(location), address);
}
// Unsigned arithmetic: addresses of the upper half must not overflow.
MPI_Aint aint_add(MPI_Aint base, MPI_Aint displacement) {
  return static_cast<MPI_Aint>(static_cast<uintptr_t>(base) +
                               static_cast<uintptr_t>(displacement));
}
MPI_Aint aint_diff(MPI_Aint a, MPI_Aint b) {
  return static_cast<MPI_Aint>(static_cast<uintptr_t>(a) - static_cast<uintptr_t>(b));
}

}  // namespace mpc::mpi::impl

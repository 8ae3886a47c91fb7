// Datatypes in the layout of a file whose data representation is not that of memory.

#include <fmt/format.h>

#include <span>

#include "mpi/io/datarep.h"

namespace mpc::mpi {
namespace {

namespace abi = dt::abi;

// The arguments of a constructor, in MPI's order for each kind, and its datatypes in their layout
// in the file. Displacements in bytes stay as they are (MPI-4.1 section 14.5): only those that
// count in extents change with these.
struct Arguments {
  std::span<const int> i;
  std::span<const Count> a;
  std::span<const dt::TypeRef> types;

  dt::CountArray ints(int from, int n) const {
    return {i.data() + from, static_cast<size_t>(n)};
  }
  dt::CountArray bytes(int n) const { return {a.data(), static_cast<size_t>(n)}; }
  const dt::Datatype& old() const { return *types[0]; }
};

Result<dt::TypeRef> make_darray(const Arguments& x) {
  const auto n = static_cast<size_t>(x.i[2]);
  const auto part = [&](size_t k) { return x.i.subspan(3 + k * n, n); };
  return dt::make_darray(x.i[0], x.i[1], x.ints(3, x.i[2]), part(1), part(2), part(3),
                         x.i[3 + 4 * n], x.old());
}

Result<dt::TypeRef> make_struct(const Arguments& x) {
  std::vector<const dt::Datatype*> types;
  for (const dt::TypeRef& type : x.types) types.push_back(type.get());
  return dt::make_struct(x.ints(1, x.i[0]), x.bytes(x.i[0]), types);
}

Result<dt::TypeRef> make_again(int combiner, const Arguments& x) {
  const dt::Datatype& old = x.old();
  switch (combiner) {
    case abi::kCombinerDup:
      return dt::TypeRef(&old);
    case abi::kCombinerContiguous:
      return dt::make_contiguous(x.i[0], old);
    case abi::kCombinerVector:
      return dt::make_vector(x.i[0], x.i[1], x.i[2], old);
    case abi::kCombinerHvector:
      return dt::make_hvector(x.i[0], x.i[1], x.a[0], old);
    case abi::kCombinerIndexed:
      return dt::make_indexed(x.ints(1, x.i[0]), x.ints(1 + x.i[0], x.i[0]), old);
    case abi::kCombinerHindexed:
      return dt::make_hindexed(x.ints(1, x.i[0]), x.bytes(x.i[0]), old);
    case abi::kCombinerIndexedBlock:
      return dt::make_indexed_block(x.i[1], x.ints(2, x.i[0]), old);
    case abi::kCombinerHindexedBlock:
      return dt::make_hindexed_block(x.i[1], x.bytes(x.i[0]), old);
    case abi::kCombinerStruct:
      return make_struct(x);
    case abi::kCombinerSubarray: {
      const int n = x.i[0];
      return dt::make_subarray(x.ints(1, n), x.ints(1 + n, n), x.ints(1 + 2 * n, n),
                               x.i[1 + 3 * static_cast<size_t>(n)], old);
    }
    case abi::kCombinerDarray:
      return make_darray(x);
    case abi::kCombinerResized:
      return dt::make_resized(old, x.a[0], x.a[1]);
    default:
      return {Errc::kUnsupported, "this kind of datatype has no form in the file"};
  }
}

Err make_basic(const Datarep& datarep, const dt::Datatype& type, dt::TypeRef* out) {
  Count extent = 0;
  MPC_MPI_TRY(basic_extent(datarep, type, &extent));
  auto made = dt::make_contiguous(extent, *dt::predefined(abi::kByte));
  if (!made) return fail(made.error());
  *out = std::move(*made);
  return kSuccess;
}

}  // namespace

Err file_type(const Datarep* datarep, const dt::Datatype& type, dt::TypeRef* out) {
  if (datarep == nullptr) {
    *out = dt::TypeRef(&type);
    return kSuccess;
  }
  if (type.is_predefined()) return make_basic(*datarep, type, out);
  const dt::Contents& contents = type.contents();
  if (contents.large)
    return fail(MPI_ERR_UNSUPPORTED_DATAREP,
                fmt::format("a datatype that was made with large counts has no form in "
                            "the representation \"{}\"",
                            datarep->name));
  std::vector<dt::TypeRef> types(contents.types.size());
  for (size_t i = 0; i < types.size(); ++i)
    MPC_MPI_TRY(file_type(datarep, *contents.types[i], &types[i]));
  if (types.empty()) {  // without data
    *out = dt::TypeRef(&type);
    return kSuccess;
  }
  auto made =
      make_again(contents.combiner, {contents.integers, contents.addresses, types});
  if (!made) return fail(made.error());
  *out = std::move(*made);
  return kSuccess;
}

}  // namespace mpc::mpi

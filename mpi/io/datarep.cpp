#include "mpi/io/datarep.h"

#include <fmt/format.h>

#include <climits>
#include <cstring>

#include "mpi/objects/rank_state.h"
#include "mpi/objects/type_object.h"
#include "runtime/datatype/external32.h"

namespace mpc::mpi {
namespace {

const Datarep& external32() {
  static const auto* const the_only_one = [] {
    auto* made = new Datarep;
    made->kind = Datarep::Kind::kExternal32;
    made->name = "external32";
    return made;
  }();
  return *the_only_one;
}

// A handle of the type, which the user's functions get.
class TypeHandle {
 public:
  explicit TypeHandle(const dt::Datatype& type)
      : handle_(create_type_handle(dt::TypeRef(&type))) {}
  ~TypeHandle() {
    DatatypeObject* object = nullptr;
    if (is_predefined(handle_) || lookup(handle_, &object)) return;
    if (!object->is_predefined()) drop_type_object(object);
  }
  TypeHandle(const TypeHandle&) = delete;
  TypeHandle& operator=(const TypeHandle&) = delete;
  MPI_Datatype get() const noexcept { return handle_; }

 private:
  const MPI_Datatype handle_;
};

Err call_user(const Datarep& datarep, const ConversionFunction& function,
              const io::Buffer& user, Count count, char* file) {
  const TypeHandle type(*user.type);
  int code = MPI_SUCCESS;
  if (function.large != nullptr) {
    code = function.large(user.base, type.get(), count, file, 0, datarep.extra_state);
  } else if (count > INT_MAX) {
    return fail(MPI_ERR_COUNT,
                fmt::format("{} elements are too many for the conversion function of "
                            "\"{}\"",
                            count, datarep.name));
  } else {
    code = function.classic(user.base, type.get(), static_cast<int>(count), file, 0,
                            datarep.extra_state);
  }
  if (code == MPI_SUCCESS) return kSuccess;
  return fail(MPI_ERR_CONVERSION, fmt::format("the conversion function of \"{}\" "
                                              "returned {}",
                                              datarep.name, code));
}

bool is_null(const ConversionFunction& function) noexcept {
  return function.classic == nullptr && function.large == nullptr;
}

Err in_external32(const Result<size_t>& result) {
  return result ? kSuccess : fail(MPI_ERR_CONVERSION, result.error().message);
}

}  // namespace

Err find_datarep(const char* name, const Datarep** out) {
  const std::string_view wanted(name);
  *out = nullptr;
  if (wanted == "native" || wanted == "internal") return kSuccess;
  if (wanted == "external32") {
    *out = &external32();
    return kSuccess;
  }
  RankState& state = this_rank();
  const std::lock_guard lock(state.mutex);
  if (state.types != nullptr && state.types->datareps != nullptr)
    for (const auto& datarep : state.types->datareps->registered)
      if (datarep->name == wanted) {
        *out = datarep.get();
        return kSuccess;
      }
  return fail(MPI_ERR_UNSUPPORTED_DATAREP,
              fmt::format("there is no data representation \"{}\"", wanted));
}

Err basic_extent(const Datarep& datarep, const dt::Datatype& type, Count* out) {
  if (datarep.kind == Datarep::Kind::kExternal32) {
    const auto size = dt::external32_size(type, 1);
    if (!size) return fail(size.error());
    *out = *size;
    return kSuccess;
  }
  const TypeHandle handle(type);
  MPI_Aint extent = 0;
  const int code = datarep.extent(handle.get(), &extent, datarep.extra_state);
  if (code != MPI_SUCCESS || extent < 0)
    return fail(MPI_ERR_CONVERSION, fmt::format("the extent function of \"{}\" "
                                                "returned {} and {}",
                                                datarep.name, code, extent));
  *out = extent;
  return kSuccess;
}

Err file_bytes(const Datarep* datarep, const dt::Datatype& type, Count count,
               Count* out) {
  if (datarep == nullptr) {
    *out = type.size() * count;
    return kSuccess;
  }
  if (datarep->kind == Datarep::Kind::kExternal32) {
    const auto size = dt::external32_size(type, count);
    if (!size) return fail(size.error());
    *out = *size;
    return kSuccess;
  }
  dt::TypeRef in_file;
  MPC_MPI_TRY(file_type(datarep, type, &in_file));
  if (!__builtin_mul_overflow(in_file->size(), count, out)) return kSuccess;
  return fail(MPI_ERR_COUNT, "the data do not fit in 63 bits");
}

Err to_file(const Datarep& datarep, const io::Buffer& user, char* out, Count bytes) {
  const auto room = static_cast<size_t>(bytes);
  if (datarep.kind == Datarep::Kind::kExternal32)
    return in_external32(
        dt::external32_pack(user.base, *user.type, user.count, out, room));
  if (!is_null(datarep.write))
    return call_user(datarep, datarep.write, user, user.count, out);
  dt::pack(user.base, *user.type, user.count, 0, out, room);
  return kSuccess;
}

Err from_file(const Datarep& datarep, const io::Buffer& user, const char* in,
              Count bytes, Count* user_bytes) {
  *user_bytes = 0;
  Count one = 0;
  MPC_MPI_TRY(file_bytes(&datarep, *user.type, 1, &one));
  if (one == 0) return kSuccess;
  const Count whole = bytes / one;  // the file may end within an element
  *user_bytes = whole * user.type->size();
  const auto there = static_cast<size_t>(whole * one);
  if (datarep.kind == Datarep::Kind::kExternal32)
    return in_external32(
        dt::external32_unpack(user.base, *user.type, whole, in, there));
  if (!is_null(datarep.read))
    return call_user(datarep, datarep.read, user, whole, const_cast<char*>(in));
  dt::unpack(user.base, *user.type, user.count, 0, in, there);
  return kSuccess;
}

}  // namespace mpc::mpi

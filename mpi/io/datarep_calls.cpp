// Body of MPI-4.1 section 14.5.3: data representations of the user.

#include <fmt/format.h>

#include "mpi/impl/io.h"
#include "mpi/io/datarep.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/type_object.h"

namespace mpc::mpi::impl {

Err register_datarep(const char* name, ConversionFunction read,
                     ConversionFunction write, MPI_Datarep_extent_function* extent,
                     void* extra_state) {
  const std::string_view text(name);
  if (text.empty() || text.size() >= MPI_MAX_DATAREP_STRING)
    return fail(MPI_ERR_ARG,
                fmt::format("a data representation's name has 1 to {} characters",
                            MPI_MAX_DATAREP_STRING - 1));
  if (extent == nullptr) return fail(MPI_ERR_ARG, "dtype_file_extent_fn is null");
  const bool is_predefined =
      text == "native" || text == "internal" || text == "external32";
  RankState& state = this_rank();
  const std::lock_guard lock(state.mutex);
  if (!state.types) state.types = std::make_shared<TypeTable>();
  auto& table = state.types->datareps;
  if (!table) table = std::make_shared<DatarepTable>();
  bool is_there = is_predefined;
  for (const auto& other : table->registered)
    is_there = is_there || other->name == text;
  if (is_there)
    return fail(MPI_ERR_DUP_DATAREP,
                fmt::format("there is a data representation \"{}\" already", text));
  auto made = std::make_unique<Datarep>();
  made->name = text;
  made->read = read;
  made->write = write;
  made->extent = extent;
  made->extra_state = extra_state;
  table->registered.push_back(std::move(made));
  return kSuccess;
}

}  // namespace mpc::mpi::impl

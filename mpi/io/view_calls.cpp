// Bodies of MPI-4.1 section 14.3: views, and the pointers in them.

#include <fmt/format.h>

#include <cstring>

#include "mpi/impl/io.h"
#include "mpi/io/agreement.h"
#include "mpi/io/datarep.h"
#include "mpi/io/file_errors.h"
#include "mpi/io/file_hints.h"
#include "mpi/io/file_position.h"
#include "mpi/io/shared_pointer.h"
#include "mpi/objects/type_object.h"

namespace mpc::mpi {

Err take_pointer(File& file, const Data& data, Count* offset) {
  MPC_MPI_TRY(check_not_sequential(file, "individual file pointers"));
  Count bytes = 0;
  MPC_MPI_TRY(file_bytes(file.view.datarep, data.type, data.count, &bytes));
  const Count etype = file.view.stream->etype_bytes();
  *offset =
      file.position.fetch_add(etype > 0 ? bytes / etype : 0, std::memory_order_relaxed);
  return kSuccess;
}

Err place_at_pointer(Access& access, File& file, Direction direction,
                     const Data& data) {
  MPC_MPI_TRY(check_not_sequential(file, "individual file pointers"));
  Count etypes = 0;
  MPC_MPI_TRY(access.prepare(file, direction, data, &etypes));
  return access.place(file.position.fetch_add(etypes, std::memory_order_relaxed));
}

int end_in_etypes(File& file, Count* etypes) noexcept {
  Count size = 0;
  const int error = file.share().descriptor().size(&size);
  if (error != 0) return error;
  const io::View& view = *file.view.stream;
  const Count etype = view.etype_bytes();
  *etypes = etype == 0 || view.is_empty() || !view.is_ordered()
                ? 0
                : (view.stream_before(size) + etype - 1) / etype;
  return 0;
}

Err seek_base(File& file, int whence, Count* base) {
  *base = 0;
  if (whence == MPI_SEEK_SET) return kSuccess;
  if (whence != MPI_SEEK_END)
    return fail(MPI_ERR_ARG, fmt::format("whence {} is none of MPI_SEEK_SET, "
                                         "MPI_SEEK_CUR and MPI_SEEK_END",
                                         whence));
  return file_error(end_in_etypes(file, base), "ask for the size of",
                    file.display_name());
}

namespace {

Err check_types(const dt::Datatype& etype, const dt::Datatype& filetype) {
  if (!etype.is_committed() || !filetype.is_committed())
    return fail(MPI_ERR_TYPE, "the etype or the filetype is not committed");
  const bool is_multiple =
      etype.size() == 0 ? filetype.size() == 0 : filetype.size() % etype.size() == 0;
  if (!is_multiple)
    return fail(
        MPI_ERR_ARG,
        fmt::format("the filetype has {} bytes, no whole number of etypes of {}",
                    filetype.size(), etype.size()));
  if (filetype.size() == 0) return kSuccess;
  if (filetype.true_lb() < 0)
    return fail(MPI_ERR_IO, "the filetype has a negative displacement");
  if (filetype.extent() <= 0)
    return fail(MPI_ERR_ARG, fmt::format("the filetype has data and an extent of {}",
                                         filetype.extent()));
  return kSuccess;
}

// All members pass MPI_DISPLACEMENT_CURRENT, or none; it stands for the same displacement at all.
Err find_displacement(File& file, Count given, Count* out) {
  *out = given;
  if (given == MPI_DISPLACEMENT_CURRENT) {
    if (!file.is(MPI_MODE_SEQUENTIAL))
      return fail(MPI_ERR_ARG,
                  "MPI_DISPLACEMENT_CURRENT is for files that were opened "
                  "with MPI_MODE_SEQUENTIAL");
    const io::View& view = *file.view.stream;
    *out =
        view.end_of(file.shared_pointer->move_by(file.self(), 0) * view.etype_bytes());
    return kSuccess;
  }
  if (file.is(MPI_MODE_SEQUENTIAL))
    return fail(MPI_ERR_DISP,
                "files of MPI_MODE_SEQUENTIAL take "
                "MPI_DISPLACEMENT_CURRENT only");
  if (given < 0)
    return fail(MPI_ERR_ARG, fmt::format("displacement {} is negative", given));
  return kSuccess;
}

// In files that are only read, parts may overlap, but not begin before earlier ones. Within one
// tile.
bool goes_back(const io::View& view, Count tile_bytes) {
  io::FileRuns runs(view, 0, tile_bytes);
  Count before = view.displacement();
  for (io::FileRuns::Run run; runs.next(&run); before = run.offset)
    if (run.offset < before) return true;
  return false;
}

Err make_view(File& file, Count displacement, const dt::Datatype& etype,
              const dt::Datatype& filetype, const char* datarep, FileView* out) {
  MPC_MPI_TRY(check_types(etype, filetype));
  MPC_MPI_TRY(find_datarep(datarep, &out->datarep));
  dt::TypeRef in_file;
  Count etype_bytes = 0;
  MPC_MPI_TRY(file_type(out->datarep, filetype, &in_file));
  MPC_MPI_TRY(file_bytes(out->datarep, etype, 1, &etype_bytes));
  out->stream = std::make_shared<const io::View>(displacement, etype_bytes, in_file);
  if (!out->stream->has_ordered_tiles() &&
      (!file.is(MPI_MODE_RDONLY) || goes_back(*out->stream, in_file->size())))
    return fail(MPI_ERR_IO,
                "the displacements of the filetype decrease, or its parts overlap");
  out->etype = dt::TypeRef(&etype);
  out->filetype = dt::TypeRef(&filetype);
  out->datarep_name = datarep;
  return kSuccess;
}

}  // namespace

namespace impl {

Err file_set_view(File& fh, Count disp, const dt::Datatype& etype,
                  const dt::Datatype& filetype, const char* datarep, Info* info) {
  if (fh.split != nullptr)
    return fail(MPI_ERR_OTHER, "a split collective access has begun and not ended");
  Count displacement = 0;
  MPC_MPI_TRY(find_displacement(fh, disp, &displacement));
  FileView made;
  MPC_MPI_TRY(make_view(fh, displacement, etype, filetype, datarep, &made));
  const Finding finding =
      do_together("MPI_File_set_view", fh.comm(), made.stream->etype_bytes(), [&] {
        fh.shared_pointer->set_at_home(0);
        return 0;
      });
  if (finding.mpi_class != 0)
    return fail(MPI_ERR_NOT_SAME, "the members' etypes differ");
  fh.view = std::move(made);
  fh.position.store(0, std::memory_order_relaxed);
  if (info != nullptr) keep_hints(fh, info->hints);
  return kSuccess;
}

Err file_get_view(File& fh, Count* disp, MPI_Datatype* etype, MPI_Datatype* filetype,
                  char* datarep) {
  *disp = fh.view.stream->displacement();
  *etype = create_type_handle(fh.view.etype);
  *filetype = create_type_handle(fh.view.filetype);
  const std::string& name = fh.view.datarep_name;
  std::memcpy(datarep, name.c_str(), name.size() + 1);
  return kSuccess;
}

Err file_get_type_extent(File& fh, const dt::Datatype& type, Count* extent) {
  dt::TypeRef in_file;
  MPC_MPI_TRY(file_type(fh.view.datarep, type, &in_file));
  *extent = in_file->extent();
  return kSuccess;
}

}  // namespace impl
}  // namespace mpc::mpi

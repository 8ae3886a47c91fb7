// Bodies of MPI-4.1 sections 14.2.4 to 14.2.8, 14.6: attributes of a file: size, group, hints,
// atomicity; sync.

#include <fmt/format.h>

#include "mpi/impl/io.h"
#include "mpi/io/access.h"
#include "mpi/io/agreement.h"
#include "mpi/io/file_errors.h"
#include "mpi/io/file_hints.h"
#include "mpi/objects/group.h"

namespace mpc::mpi::impl {
namespace {

Err outcome_of(const Finding& finding, File& file, const char* what) {
  if (finding.mpi_class == MPI_ERR_NOT_SAME)
    return fail(MPI_ERR_NOT_SAME, "the members' arguments differ");
  return file_error(finding.system_error, what, file.display_name());
}

Err check_size_call(File& file, Count size) {
  if (size < 0) return fail(MPI_ERR_ARG, fmt::format("size {} is negative", size));
  if (file.is(MPI_MODE_RDONLY))
    return fail(MPI_ERR_READ_ONLY,
                fmt::format("{} was opened with MPI_MODE_RDONLY", file.display_name()));
  return check_not_sequential(file, "size that could be set");
}

}  // namespace

Err file_get_amode(File& fh, int* amode) {
  *amode = fh.amode();
  return kSuccess;
}

Err file_get_group(File& fh, MPI_Group* group) {
  *group = create_group(fh.comm().group());
  return kSuccess;
}

Err file_set_info(File& fh, Info* info) {
  if (info != nullptr) keep_hints(fh, info->hints);
  return kSuccess;
}

Err file_get_info(File& fh, MPI_Info* info_used) {
  *info_used = create_info(fh.hints)->handle();
  return kSuccess;
}

Err file_get_size(File& fh, Count* size) {
  return file_error(fh.share().descriptor().size(size), "ask for the size of",
                    fh.display_name());
}

Err file_set_size(File& fh, Count size) {
  MPC_MPI_TRY(check_size_call(fh, size));
  return outcome_of(do_together("MPI_File_set_size", fh.comm(), size,
                                [&] { return fh.share().descriptor().set_size(size); }),
                    fh, "set the size of");
}

Err file_preallocate(File& fh, Count size) {
  MPC_MPI_TRY(check_size_call(fh, size));
  return outcome_of(
      do_together("MPI_File_preallocate", fh.comm(), size,
                  [&] { return fh.share().descriptor().preallocate(size); }),
      fh, "allocate room for");
}

// When one member of each process synchronises the file, all members have written their data.
Err file_sync(File& fh) {
  return outcome_of(do_together("MPI_File_sync", fh.comm(), 0,
                                [&] { return fh.share().descriptor().sync(); }),
                    fh, "synchronise");
}

Err file_set_atomicity(File& fh, bool flag) {
  const Finding finding =
      do_together("MPI_File_set_atomicity", fh.comm(), flag ? 1 : 0, [] { return 0; });
  MPC_MPI_TRY(outcome_of(finding, fh, "set the atomicity of"));
  fh.is_atomic = flag;
  return kSuccess;
}

Err file_get_atomicity(File& fh, int* flag) {
  *flag = fh.is_atomic ? 1 : 0;
  return kSuccess;
}

}  // namespace mpc::mpi::impl

#include "mpi/io/file_errors.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "mpi.h"

namespace mpc::mpi {

int file_error_class(int system_error) noexcept {
  switch (system_error) {
    case ENOENT:
      return MPI_ERR_NO_SUCH_FILE;
    case EEXIST:
      return MPI_ERR_FILE_EXISTS;
    case EACCES:
    case EPERM:
      return MPI_ERR_ACCESS;
    case EROFS:
      return MPI_ERR_READ_ONLY;
    case ENOSPC:
      return MPI_ERR_NO_SPACE;
    case EDQUOT:
      return MPI_ERR_QUOTA;
    case ETXTBSY:
    case EBUSY:
      return MPI_ERR_FILE_IN_USE;
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENXIO:
    case ENODEV:
      return MPI_ERR_BAD_FILE;
    case EBADF:
    case ESTALE:
      return MPI_ERR_FILE;
    case ENOMEM:
      return MPI_ERR_NO_MEM;
    case EOPNOTSUPP:
    case ENOSYS:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    default:
      return MPI_ERR_IO;
  }
}

Err file_error(int system_error, std::string_view what, std::string_view path) {
  if (system_error == 0) return kSuccess;
  char buffer[256];
  const char* const text = ::strerror_r(system_error, buffer, sizeof buffer);
  return fail(file_error_class(system_error),
              fmt::format("cannot {} {}: {}", what, path, text));
}

}  // namespace mpc::mpi

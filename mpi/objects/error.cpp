#include "mpi/objects/error.h"

#include "mpi.h"

namespace mpc::mpi {
namespace {

thread_local std::string t_message;
thread_local constinit int t_code = 0;
thread_local constinit unsigned t_number = 0;
thread_local constinit unsigned t_number_of_function = 0;  // made by fail_in_function()

struct ClassName {
  int mpi_class;
  const char* name;
  const char* text;
};
#define CLASS(name, text) \
  { MPI_##name, "MPI_" #name, text }
// In the order of their numbers.
constexpr ClassName kClasses[] = {
    CLASS(SUCCESS, "no error"),
    CLASS(ERR_BUFFER, "invalid buffer pointer"),
    CLASS(ERR_COUNT, "invalid count"),
    CLASS(ERR_TYPE, "invalid datatype"),
    CLASS(ERR_TAG, "invalid tag"),
    CLASS(ERR_COMM, "invalid communicator"),
    CLASS(ERR_RANK, "invalid rank"),
    CLASS(ERR_REQUEST, "invalid request"),
    CLASS(ERR_ROOT, "invalid root"),
    CLASS(ERR_GROUP, "invalid group"),
    CLASS(ERR_OP, "invalid operation"),
    CLASS(ERR_TOPOLOGY, "invalid topology"),
    CLASS(ERR_DIMS, "invalid dimension"),
    CLASS(ERR_ARG, "invalid argument"),
    CLASS(ERR_UNKNOWN, "unknown error"),
    CLASS(ERR_TRUNCATE, "message longer than the receive buffer"),
    CLASS(ERR_OTHER, "error"),
    CLASS(ERR_INTERN, "internal error of the MPI library"),
    CLASS(ERR_PENDING, "operation not complete"),
    CLASS(ERR_IN_STATUS, "the error codes are in the statuses"),
    CLASS(ERR_ACCESS, "permission denied"),
    CLASS(ERR_AMODE, "invalid mode of opening"),
    CLASS(ERR_ASSERT, "invalid assertion"),
    CLASS(ERR_BAD_FILE, "invalid file name"),
    CLASS(ERR_BASE, "invalid base address"),
    CLASS(ERR_CONVERSION, "error in a data conversion function"),
    CLASS(ERR_DISP, "invalid displacement"),
    CLASS(ERR_DUP_DATAREP, "data representation already defined"),
    CLASS(ERR_FILE_EXISTS, "file exists"),
    CLASS(ERR_FILE_IN_USE, "file is open"),
    CLASS(ERR_FILE, "invalid file handle"),
    CLASS(ERR_INFO_KEY, "info key too long or empty"),
    CLASS(ERR_INFO_NOKEY, "no such info key"),
    CLASS(ERR_INFO_VALUE, "info value too long or empty"),
    CLASS(ERR_INFO, "invalid info object"),
    CLASS(ERR_IO, "input or output error"),
    CLASS(ERR_KEYVAL, "invalid attribute key"),
    CLASS(ERR_LOCKTYPE, "invalid lock type"),
    CLASS(ERR_NAME, "no such service name"),
    CLASS(ERR_NO_MEM, "out of memory"),
    CLASS(ERR_NOT_SAME, "argument or order differs between the processes"),
    CLASS(ERR_NO_SPACE, "no space on the device"),
    CLASS(ERR_NO_SUCH_FILE, "no such file"),
    CLASS(ERR_PORT, "invalid port name"),
    CLASS(ERR_QUOTA, "quota exceeded"),
    CLASS(ERR_READ_ONLY, "file or file system is read-only"),
    CLASS(ERR_RMA_ATTACH, "memory cannot be attached"),
    CLASS(ERR_RMA_CONFLICT, "conflicting accesses to a window"),
    CLASS(ERR_RMA_RANGE, "target memory is not part of the window"),
    CLASS(ERR_RMA_SHARED, "memory cannot be shared"),
    CLASS(ERR_RMA_SYNC, "wrong synchronisation of a window"),
    CLASS(ERR_SERVICE, "invalid service name"),
    CLASS(ERR_SIZE, "invalid size"),
    CLASS(ERR_SPAWN, "processes could not be started"),
    CLASS(ERR_UNSUPPORTED_DATAREP, "data representation not supported"),
    CLASS(ERR_UNSUPPORTED_OPERATION, "operation not supported"),
    CLASS(ERR_WIN, "invalid window"),
    CLASS(ERR_RMA_FLAVOR, "wrong flavor of window"),
    CLASS(ERR_PROC_ABORTED, "a process has aborted"),
    CLASS(ERR_VALUE_TOO_LARGE, "value does not fit in the argument's type"),
    CLASS(ERR_SESSION, "invalid session"),
    CLASS(ERR_ERRHANDLER, "invalid error handler"),
    CLASS(ERR_ABI, "wrong use of the ABI functions"),
};
// What MPI_T_* return are error classes as well (MPI-4.1 section 15.3.10).
constexpr ClassName kToolClasses[] = {
    CLASS(T_ERR_CANNOT_INIT, "MPI_T cannot be initialised"),
    CLASS(T_ERR_NOT_ACCESSIBLE, "not accessible"),
    CLASS(T_ERR_NOT_INITIALIZED, "MPI_T is not initialised"),
    CLASS(T_ERR_NOT_SUPPORTED, "not supported"),
    CLASS(T_ERR_MEMORY, "out of memory"),
    CLASS(T_ERR_INVALID, "invalid use of MPI_T, or invalid argument"),
    CLASS(T_ERR_INVALID_INDEX,
          "invalid index of a variable, event, source or category"),
    CLASS(T_ERR_INVALID_ITEM, "invalid index of an item"),
    CLASS(T_ERR_INVALID_SESSION, "invalid session of performance variables"),
    CLASS(T_ERR_INVALID_HANDLE, "invalid handle"),
    CLASS(T_ERR_INVALID_NAME, "no variable, event or category of this name"),
    CLASS(T_ERR_OUT_OF_HANDLES, "no more handles"),
    CLASS(T_ERR_OUT_OF_SESSIONS, "no more sessions of performance variables"),
    CLASS(T_ERR_CVAR_SET_NOT_NOW, "the control variable cannot be set now"),
    CLASS(T_ERR_CVAR_SET_NEVER, "the control variable can never be set"),
    CLASS(T_ERR_PVAR_NO_WRITE, "the performance variable cannot be written"),
    CLASS(T_ERR_PVAR_NO_STARTSTOP,
          "the performance variable cannot be started or stopped"),
    CLASS(T_ERR_PVAR_NO_ATOMIC,
          "the performance variable cannot be read and reset at once"),
};
#undef CLASS

template <size_t N>
constexpr bool is_in_order(const ClassName (&classes)[N]) {
  for (size_t i = 0; i < N; ++i)
    if (classes[i].mpi_class != classes[0].mpi_class + static_cast<int>(i))
      return false;
  return true;
}
static_assert(kClasses[0].mpi_class == 0 && is_in_order(kClasses));
static_assert(is_in_order(kToolClasses));

// Null: not a class of MPI's own.
const ClassName* find_class(int mpi_class) noexcept {
  if (mpi_class >= 0 && mpi_class < static_cast<int>(std::size(kClasses)))
    return &kClasses[mpi_class];
  const int tool = mpi_class - kToolClasses[0].mpi_class;
  if (tool >= 0 && tool < static_cast<int>(std::size(kToolClasses)))
    return &kToolClasses[tool];
  return nullptr;
}

}  // namespace

void remember_error(int code, std::string message) {
  t_message = std::move(message);
  t_code = code;
  ++t_number;
}

Err fail_in_function(int code, std::string what) {
  const Err error = fail(code, std::move(what));
  t_number_of_function = t_number;
  return error;
}

bool is_last_error_of_function() noexcept { return t_number_of_function == t_number; }

Err fail(const Error& error) { return fail(error_class_of(error.code), error.message); }

Err fail_with_code(int code) {
  t_message.clear();
  t_code = code;
  ++t_number;
  return Err{code};
}

int error_class_of(Errc code) noexcept {
  switch (code) {
    case Errc::kBuffer:
      return MPI_ERR_BUFFER;
    case Errc::kCount:
      return MPI_ERR_COUNT;
    case Errc::kType:
      return MPI_ERR_TYPE;
    case Errc::kTag:
      return MPI_ERR_TAG;
    case Errc::kComm:
      return MPI_ERR_COMM;
    case Errc::kRank:
      return MPI_ERR_RANK;
    case Errc::kRequest:
      return MPI_ERR_REQUEST;
    case Errc::kRoot:
      return MPI_ERR_ROOT;
    case Errc::kGroup:
      return MPI_ERR_GROUP;
    case Errc::kOp:
      return MPI_ERR_OP;
    case Errc::kTopology:
      return MPI_ERR_TOPOLOGY;
    case Errc::kDims:
      return MPI_ERR_DIMS;
    case Errc::kArg:
      return MPI_ERR_ARG;
    case Errc::kLost:
      return MPI_ERR_PROC_ABORTED;
    case Errc::kTruncate:
      return MPI_ERR_TRUNCATE;
    case Errc::kPending:
      return MPI_ERR_PENDING;
    case Errc::kNoMem:
      return MPI_ERR_NO_MEM;
    case Errc::kUnsupported:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    case Errc::kPermission:
      return MPI_ERR_ACCESS;
    case Errc::kInternal:
      return MPI_ERR_INTERN;
    case Errc::kNotFound:
    case Errc::kImage:
    case Errc::kSystem:
    case Errc::kOther:
      return MPI_ERR_OTHER;
  }
  return MPI_ERR_OTHER;
}

const std::string& last_error_message() noexcept { return t_message; }
int last_error_code() noexcept { return t_code; }
unsigned last_error_number() noexcept { return t_number; }

const char* error_class_name(int mpi_class) noexcept {
  const ClassName* found = find_class(mpi_class);
  return found == nullptr ? nullptr : found->name;
}
const char* error_class_text(int mpi_class) noexcept {
  const ClassName* found = find_class(mpi_class);
  return found == nullptr ? nullptr : found->text;
}

}  // namespace mpc::mpi

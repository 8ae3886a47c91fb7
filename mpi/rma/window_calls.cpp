// Bodies of MPI's windows: so far what can be said without one.

#include <cstring>

#include "base/mpi_constants.h"
#include "base/mpi_handle_names.h"
#include "mpi/impl/rma.h"

namespace mpc::mpi::impl {

// There is no window yet, so the handle is the null one: any other was refused.
Err win_get_name(Win*, char* name, int* length) {
  const char* text = abi::handle_name(abi::kWinNull);
  *length = static_cast<int>(std::strlen(text));
  std::memcpy(name, text, static_cast<size_t>(*length) + 1);
  return kSuccess;
}

}  // namespace mpc::mpi::impl

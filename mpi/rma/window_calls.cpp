// Bodies of MPI-4.1 section 12.2 and 12.6: queries of a window, attached memory.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/mpi_constants.h"
#include "base/mpi_handle_names.h"
#include "mpi/impl/rma.h"
#include "mpi/objects/group.h"
#include "mpi/objects/info.h"
#include "mpi/rma/window.h"
#include "mpi/rma/window_hints.h"

namespace mpc::mpi::impl {

Err win_get_name(Win* win, char* name, int* length) {
  const std::string& text =
      win != nullptr ? win->name : abi::handle_name(abi::kWinNull);
  std::memcpy(name, text.c_str(), text.size() + 1);
  *length = static_cast<int>(text.size());
  return kSuccess;
}

Err win_set_name(Win& win, const char* name) {
  win.name.assign(name, ::strnlen(name, MPI_MAX_OBJECT_NAME - 1));
  return kSuccess;
}

Err win_get_group(Win& win, MPI_Group* group) {
  *group = create_group(win.comm().group());
  return kSuccess;
}

Err win_set_info(Win& win, Info* info) {
  if (info != nullptr) keep_hints(win, info->hints);
  return kSuccess;
}

Err win_get_info(Win& win, MPI_Info* info_used) {
  *info_used = create_info(win.hints)->handle();
  return kSuccess;
}

namespace {

Err check_dynamic(const Win& win) {
  if (win.flavor() == MPI_WIN_FLAVOR_DYNAMIC) return kSuccess;
  return fail(MPI_ERR_RMA_FLAVOR,
              "memory is attached to windows of MPI_Win_create_dynamic only");
}

}  // namespace

Err win_attach(Win& win, void* base, Count size) {
  MPC_MPI_TRY(check_dynamic(win));
  if (size < 0) return fail(MPI_ERR_SIZE, fmt::format("size {} is negative", size));
  if (base == nullptr && size > 0) return fail(MPI_ERR_BASE, "base is a null pointer");
  if (win.target(win.rank())
          .regions.attach(reinterpret_cast<uintptr_t>(base),
                          static_cast<uintptr_t>(size)))
    return kSuccess;
  return fail(MPI_ERR_RMA_ATTACH,
              fmt::format("{} bytes at {} overlap memory that is attached already",
                          size, base));
}

Err win_detach(Win& win, const void* base) {
  MPC_MPI_TRY(check_dynamic(win));
  if (win.target(win.rank()).regions.detach(reinterpret_cast<uintptr_t>(base)))
    return kSuccess;
  return fail(MPI_ERR_RMA_ATTACH,
              fmt::format("nothing is attached that begins at {}", base));
}

Err win_shared_query(Win& win, int rank, Count* size, Count* disp_unit, void* baseptr) {
  if (win.flavor() == MPI_WIN_FLAVOR_DYNAMIC)
    return fail(
        MPI_ERR_RMA_FLAVOR,
        "the window is one of MPI_Win_create_dynamic, without memory of its own");
  if (rank == MPI_PROC_NULL) {  // the first rank that has memory
    const auto has_none = [&](int r) {
      const rma::Memory& memory = win.target(r).memory;
      return memory.is_far() || memory.bytes == 0;
    };
    rank = 0;
    while (rank + 1 < win.size() && has_none(rank)) ++rank;
    if (has_none(rank)) rank = 0;
  }
  MPC_MPI_TRY(check_target(rank, win));
  const rma::Memory& memory = win.target(rank).memory;
  // Memory that another process has not shared cannot be loaded from here (MPI-4.1 section 12.2.3).
  *size = memory.is_far() ? 0 : memory.bytes;
  *disp_unit = memory.unit;
  *static_cast<void**>(baseptr) = memory.base;
  return kSuccess;
}

}  // namespace mpc::mpi::impl

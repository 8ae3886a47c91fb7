// signal(): the handlers with which the Fortran runtime reports a crash stay out of a job,
// where they would take the place of its own report (runtime/job/crash.h) in all ranks.

#include <csignal>
#include <cstring>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/loader/image.h"

namespace {

bool is_of_fortran_runtime(sighandler_t handler) noexcept {
  if (handler == SIG_DFL || handler == SIG_IGN) return false;
  const auto info =
      mpc::loader::describe_address(reinterpret_cast<const void*>(handler));
  return info.path != nullptr && std::strstr(info.path, "/libgfortran.so") != nullptr;
}

}  // namespace

MPC_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  if (mpc::interpose::own_copy() != nullptr && is_of_fortran_runtime(handler))
    return SIG_DFL;
  return MPC_NEXT(signal, decltype(&::signal))(number, handler);
}

#include "runtime/interpose/descriptors.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/signals.h"

namespace mpc::interpose {

int meant_fd(int fd, const void* return_address) noexcept {
  const bool is_standard = fd >= STDIN_FILENO && fd <= STDERR_FILENO;
  return is_standard && !is_own_call(return_address) ? real_fd(fd) : fd;
}

ChildDescriptors::ChildDescriptors() noexcept {
  const int in = real_fd(STDIN_FILENO);
  const int out = real_fd(STDOUT_FILENO);
  const int err = real_fd(STDERR_FILENO);
  if (in != STDIN_FILENO) add(in, STDIN_FILENO);
  // 1 and 2 may be each other's sources: who is one comes before its number is another's.
  const bool err_first = err == STDOUT_FILENO && out != STDERR_FILENO;
  if (err == STDOUT_FILENO && out == STDERR_FILENO)
    spare_ = static_cast<int>(::syscall(SYS_fcntl, STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (err_first) add(err, STDERR_FILENO);
  if (out != STDOUT_FILENO) add(out, STDOUT_FILENO);
  if (!err_first && err != STDERR_FILENO)
    add(spare_ >= 0 ? spare_ : err, STDERR_FILENO);
}

ChildDescriptors::~ChildDescriptors() {
  if (spare_ >= 0) ::syscall(SYS_close, spare_);
}

void ChildDescriptors::apply() const noexcept {
  for (const Move& move : *this) {
    if (move.from >= 0)
      ::syscall(SYS_dup3, move.from, move.to, 0);
    else
      ::syscall(SYS_close, move.to);
  }
}

}  // namespace mpc::interpose

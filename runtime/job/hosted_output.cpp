#include "runtime/job/hosted_output.h"

#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace mpc::job {

void write_lines_at_once() noexcept {
  // Source: glibc, libio.h: the program has given it a buffer, or has none.
  constexpr int kUserBuffer = 1, kUnbuffered = 2;
  struct stat file;
  if (::fstat(STDOUT_FILENO, &file) != 0 || !S_ISFIFO(file.st_mode)) return;
  if (::fileno(stdout) != STDOUT_FILENO || ::__flbf(stdout) != 0 ||
      (stdout->_flags & (kUserBuffer | kUnbuffered)) != 0)
    return;
  // In this order: what is there is written, and the next line ends where it ends.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::fflush(stdout);
}

}  // namespace mpc::job

#pragma once
// poll_files: poll(2) for loops that come back whatever happens.
//
// Role:      a loop that calls poll() again after each failure would never rest if the kernel has no
//            memory, or if the limit of open files has become lower than the number of those polled.
// Users:     runtime/wireup, tools/mpclaunch.
// Threads:   any kernel thread.
// See also:  poll(2): EINVAL, ENOMEM.

#include <poll.h>

#include <cerrno>
#include <vector>

namespace mpc {

// As poll(), but it takes 10 ms to fail, except by a signal.
inline int poll_files(std::vector<pollfd>& files, int timeout_ms) noexcept {
  const int ready = ::poll(files.data(), files.size(), timeout_ms);
  if (ready < 0 && errno != EINTR) ::poll(nullptr, 0, 10);
  return ready;
}

}  // namespace mpc

// How a daemon finds the head of its job, and how the two prove their identity to each other.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/wireup/tcp.h"
#include "tools/mpclaunch/daemon.h"
#include "tools/mpclaunch/first_line.h"

namespace mpc::launch {

Result<int> connect_to_head() {
  FirstLine line;
  std::string text;
  char c = 0;
  while (text.size() < kMostFirstLineBytes && ::read(STDIN_FILENO, &c, 1) == 1 &&
         c != '\n')
    text += c;
  if (!read_first_line(text, &line))
    return {Errc::kSystem, "mpclaunch --daemon: mpcrun --hosts starts it"};
  // The address from which ssh came is tried first.
  if (const char* from = std::getenv("SSH_CONNECTION"))
    line.addresses.insert(line.addresses.begin(),
                          std::string(from, std::strcspn(from, " ")));
  std::string tried;
  for (const std::string& address : line.addresses) {
    const int fd = wireup::connect_with(line.secret, address, line.port,
                                        static_cast<uint64_t>(line.host));
    if (fd >= 0) return fd;
    tried += (tried.empty() ? "" : ", ") + address + ": " + std::strerror(errno);
  }
  return {Errc::kSystem, "cannot connect back to mpcrun, port " +
                             std::to_string(line.port) + " (" + tried + ")"};
}

}  // namespace mpc::launch

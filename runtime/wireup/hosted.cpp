#include "runtime/wireup/hosted.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/wireup/backends.h"
#include "runtime/wireup/record.h"

namespace mpc::wireup {
namespace {

// The name of a process: /proc/PID/comm without its newline.
std::string name_of_process(int pid) {
  std::string name(64, '\0');
  const std::string path = "/proc/" + std::to_string(pid) + "/comm";
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return "";
  name.resize(std::fread(name.data(), 1, name.size(), file));
  std::fclose(file);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

std::string taken_by(int pid) {
  const std::string name = name_of_process(pid);
  return "process " + std::to_string(pid) + (name.empty() ? "" : " (" + name + ")") +
         (::kill(pid, 0) == 0 ? " is" : " was") +
         " this rank already: only one of the processes that a rank's command starts "
         "can "
         "call MPI_Init; for a job of its own start it by mpcrun";
}

Result<int> take_seat(const std::string& name) {
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const ShimAddress address(name);
  RecordHead answer;
  ssize_t bytes = -1;
  if (socket >= 0 && ::connect(socket, reinterpret_cast<const sockaddr*>(address.bytes),
                               address.size) == 0)
    do {
      bytes = ::recv(socket, &answer, sizeof answer, 0);
    } while (bytes < 0 && errno == EINTR);
  const auto order = static_cast<Order>(answer.kind);
  if (bytes == sizeof answer && order == Order::kSeat) return socket;
  if (socket >= 0) ::close(socket);
  if (bytes == sizeof answer && order == Order::kTaken)
    return {Errc::kOther, taken_by(answer.status)};
  return {Errc::kSystem, std::string(kShimVariable) +
                             " is set, but the mpcrun that has set it is gone, or "
                             "another user's: unset it"};
}

}  // namespace

ShimAddress::ShimAddress(const std::string& name) noexcept {
  sockaddr_un address{};
  static_assert(sizeof address <= sizeof bytes);
  address.sun_family = AF_UNIX;
  const size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  std::memcpy(bytes, &address, sizeof address);
  size = static_cast<unsigned>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

bool has_shim() noexcept { return std::getenv(kShimVariable) != nullptr; }

int program_number() {
  const char* number = std::getenv(kProgramVariable);
  return number != nullptr ? std::atoi(number) : 0;
}

void hide_shim() {
  ::unsetenv(kShimVariable);
  ::unsetenv(kInterfacesVariable);
  ::unsetenv(kRanksVariable);
  ::unsetenv(kHostedVariable);
  ::unsetenv(kGoesOnVariable);
  ::unsetenv(kProgramVariable);
  hide_pmix();
}

Result<std::unique_ptr<Wireup>> connect_hosted() {
  const char* name = std::getenv(kShimVariable);
  auto socket = take_seat(name != nullptr ? name : "");
  MPC_TRY(socket);
  const char* interfaces = std::getenv(kInterfacesVariable);
  auto wireup = several({*socket,
                         -1,
                         {},
                         interfaces != nullptr ? interfaces : "",
                         std::getenv(kGoesOnVariable) != nullptr});
  hide_shim();
  return wireup;
}

}  // namespace mpc::wireup

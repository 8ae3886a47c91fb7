#include "tools/mpclaunch/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mpc::launch {
namespace {

// In the new process, which has one thread; others of the old one may have held locks.
[[noreturn]] void become(const Child& child, const StartOfChild& how, int socket,
                         pid_t launcher, char** environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(1);  // it died before that
  ::fcntl(socket, F_SETFD, 0);
  if (child.index != 0) {  // standard input goes to the process of rank 0
    const int null = ::open("/dev/null", O_RDONLY);
    if (null >= 0) ::dup2(null, STDIN_FILENO);
    if (null > STDIN_FILENO) ::close(null);
  }
  ::sigprocmask(SIG_SETMASK, &how.signals, nullptr);
  ::execve(how.program.c_str(), how.arguments.data(), environment);
  ::_exit(127);
}

}  // namespace

std::string Child::name() const {
  const std::string first = std::to_string(first_rank),
                    last = std::to_string(last_rank);
  return "process " + std::to_string(index) +
         (first_rank == last_rank ? " (rank " + first
                                  : " (ranks " + first + "-" + last) +
         ")";
}

void Child::order(wireup::Order order) const noexcept {
  const wireup::RecordHead head{static_cast<int32_t>(order), 0, 0};
  if (is_running) ::send(socket, &head, sizeof head, MSG_NOSIGNAL | MSG_DONTWAIT);
}

Result<> start(Child& child, const StartOfChild& how,
               const std::vector<std::string>& environment) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return {Errc::kSystem, std::string("socketpair: ") + std::strerror(errno)};
  std::string launcher = std::string(wireup::kLauncherVariable) + "=" +
                         std::to_string(ends[1]) + "," +
                         std::to_string(how.console_memory);
  std::vector<char*> words;
  for (char** word = environ; *word != nullptr; ++word) words.push_back(*word);
  for (const std::string& word : environment)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(launcher.data());
  words.push_back(nullptr);
  const pid_t self = ::getpid();
  child.pid = ::fork();
  if (child.pid == 0) become(child, how, ends[1], self, words.data());
  const int error = errno;
  ::close(ends[1]);
  child.socket = ends[0];
  child.is_running = child.pid > 0;
  if (child.is_running) return {};
  return {Errc::kSystem,
          std::string("cannot start a process: ") + std::strerror(error)};
}

}  // namespace mpc::launch

#include "tools/mpclaunch/children.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace mpc::launch {
namespace {

using wireup::is_before_more;
using wireup::RecordHead;

int input_of(int process, const StartOfChildren& how) {
  if (process == 0) return how.input;
  return ::open("/dev/null", O_RDONLY);  // standard input goes to the process of rank 0
}

// Runs in the new process, which has one thread; threads of the old one may have held locks.
[[noreturn]] void become(int process, const StartOfChildren& how, int socket,
                         pid_t launcher, char** arguments, char** environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(1);  // it died before that
  ::fcntl(socket, F_SETFD, 0);
  const int streams[] = {input_of(process, how), how.output, how.error};
  for (int fd = 0; fd <= STDERR_FILENO; ++fd)
    if (streams[fd] >= 0 && streams[fd] != fd) ::dup2(streams[fd], fd);
  if (streams[0] > STDERR_FILENO) ::close(streams[0]);
  ::sigprocmask(SIG_SETMASK, &how.signals, nullptr);
  ::execve(how.program.c_str(), arguments, environment);
  ::_exit(127);
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

std::string variable_of(int socket, const StartOfChildren& how) {
  return std::string(wireup::kLauncherVariable) + "=" + std::to_string(socket) + "," +
         std::to_string(how.console_memory);
}

}  // namespace

Children::Children(Loop& loop, OnRecord on_record, OnEnd on_end)
    : loop_(loop), on_record_(std::move(on_record)), on_end_(std::move(on_end)) {}

Result<> Children::start(int process, const StartOfChildren& how,
                         const std::vector<std::string>& environment) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return {Errc::kSystem, std::string("socketpair: ") + std::strerror(errno)};
  std::vector<std::string> words;
  for (char** word = environ; *word != nullptr; ++word) words.emplace_back(*word);
  words.insert(words.end(), environment.begin(), environment.end());
  words.push_back(variable_of(ends[1], how));
  words.push_back(how.ranks_variable);
  std::vector<std::string> arguments = how.arguments;
  const std::vector<char*> argv = pointers_to(arguments), envp = pointers_to(words);
  const pid_t self = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0)
    become(process, how, ends[1], self, const_cast<char**>(argv.data()),
           const_cast<char**>(envp.data()));
  const int error = errno;
  ::close(ends[1]);
  if (pid < 0) {
    ::close(ends[0]);
    return {Errc::kSystem,
            std::string("cannot start a process: ") + std::strerror(error)};
  }
  running_[process] = {pid, ends[0]};
  loop_.watch(ends[0], [this, process] { take_records(process); });
  return {};
}

void Children::order(int process, wireup::Order order, int status) const noexcept {
  const auto found = running_.find(process);
  if (found == running_.end()) return;
  const RecordHead head{static_cast<int32_t>(order), status, 0};
  ::send(found->second.socket, &head, sizeof head, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Children::kill(int process, int spared) const noexcept {
  for (const auto& [index, child] : running_)
    if (process == index || (process < 0 && index != spared))
      ::kill(child.pid, SIGKILL);
}

void Children::signal(int process, int signal) const noexcept {
  if (const auto found = running_.find(process); found != running_.end())
    ::kill(found->second.pid, signal);
}

void Children::take_records(int process) {
  std::string buffer(sizeof(RecordHead) + wireup::kMostTextBytes, '\0');
  for (;;) {
    const auto found = running_.find(process);
    if (found == running_.end() || found->second.socket < 0) return;
    const ssize_t bytes =
        ::recv(found->second.socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (bytes < 0 && is_before_more(errno)) continue;
    if (bytes < static_cast<ssize_t>(sizeof(RecordHead))) {
      if (bytes == 0) close_socket(found->second);  // SIGCHLD tells how it ended
      return;
    }
    RecordHead head;
    std::memcpy(&head, buffer.data(), sizeof head);
    on_record_(process, head,
               buffer.substr(sizeof head, static_cast<size_t>(bytes) - sizeof head));
  }
}

void Children::close_socket(Running& child) {
  if (child.socket < 0) return;
  loop_.forget(child.socket);
  ::close(child.socket);
  child.socket = -1;
}

void Children::reap(const std::function<void(pid_t, int)>& other) {
  int wait_status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    const auto found =
        std::find_if(running_.begin(), running_.end(),
                     [pid](const auto& child) { return child.second.pid == pid; });
    if (found == running_.end()) {
      if (other) other(pid, wait_status);
      continue;
    }
    const int process = found->first;
    take_records(process);  // its last words
    close_socket(found->second);
    running_.erase(found);
    on_end_(process, wait_status);
  }
}

}  // namespace mpc::launch

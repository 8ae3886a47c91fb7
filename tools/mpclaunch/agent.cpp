#include "tools/mpclaunch/agent.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <vector>

namespace mpc::launch {
namespace {

constexpr size_t kMostSaidBytes = 4096;

std::vector<std::string> words_of(const std::string& command) {
  std::istringstream in(command);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// ssh hands the command to a shell, other agents do not. So quotes are used only where they are
// needed.
std::string quoted(const std::string& path) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,";
  if (path.find_first_not_of(kPlain) == std::string::npos) return path;
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

[[noreturn]] void become(const std::vector<std::string>& words, int input, int output,
                         pid_t head) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != head) ::_exit(1);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<char*> arguments;
  for (const std::string& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const char* const why = std::strerror(errno);
  for (const char* text : {static_cast<const char*>(arguments[0]), ": ", why, "\n"}) {
    [[maybe_unused]] const ssize_t written = ::write(output, text, std::strlen(text));
  }
  ::_exit(127);
}

}  // namespace

// BatchMode: ssh asks no question, because nobody could answer it.
const char kDefaultAgent[] = "ssh -x -o BatchMode=yes";

std::string own_program() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "mpclaunch";
}

Agent::~Agent() {
  if (output_ < 0) return;
  loop_.forget(output_);
  ::close(output_);
}

Result<> Agent::start(const std::string& command, const std::string& host,
                      const std::string& first_line) {
  std::vector<std::string> words = words_of(command);
  words.insert(words.end(), {host, quoted(own_program()), "--daemon"});
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
    return {Errc::kSystem, std::string("pipe: ") + std::strerror(errno)};
  // The pipe has room for a line, which stays there until the agent reads it.
  const bool is_told = ::write(in[1], first_line.data(), first_line.size()) ==
                       static_cast<ssize_t>(first_line.size());
  const pid_t head = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(words, in[0], out[1], head);
  ::close(in[0]);
  ::close(out[1]);
  ::close(in[1]);
  output_ = out[0];
  ::fcntl(output_, F_SETFL, O_NONBLOCK);
  loop_.watch(output_, [this] { hear(); });
  if (pid_ > 0 && is_told) return {};
  return {Errc::kSystem,
          std::string("cannot start ") + words[0] + ": " + std::strerror(errno)};
}

void Agent::hear() {
  char bytes[1024];
  ssize_t count = 0;
  while ((count = ::read(output_, bytes, sizeof bytes)) > 0) {
    said_.append(bytes, static_cast<size_t>(count));
    if (said_.size() > kMostSaidBytes) said_.erase(0, said_.size() - kMostSaidBytes);
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  loop_.forget(output_);
  ::close(output_);
  output_ = -1;
}

std::string Agent::said() {
  if (output_ >= 0) hear();
  std::string text = said_;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

}  // namespace mpc::launch

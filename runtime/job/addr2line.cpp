#include "runtime/job/addr2line.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "runtime/job/report_text.h"
#include "scheduler/annotate.h"

// glibc's name for clone() that no sanitizer replaces. ThreadSanitizer's version would treat the
// child, which runs on this thread's data until it has its own memory, as a continuation of this
// thread: from then on it would not see what the thread synchronises, and report races that are
// none.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument,
                       ...);  // NOLINT(readability-identifier-naming): glibc's

namespace mpc::job::addr2line {
namespace {

constexpr int kMostOffsets = 32;
char g_program[PATH_MAX];

struct Child {
  const char** arguments;
  int output;
};

// Runs in the memory of its parent, which waits: only system calls, and nothing is changed.
MPC_NO_SANITIZE int run_child(void* argument) {
  const auto& child = *static_cast<Child*>(argument);
  static constexpr const char* kEnvironment[] = {"LC_ALL=C", nullptr};
  const int null = static_cast<int>(::syscall(SYS_open, "/dev/null", O_RDWR, 0));
  ::syscall(SYS_dup2, null, STDIN_FILENO);
  ::syscall(SYS_dup2, child.output, STDOUT_FILENO);
  ::syscall(SYS_dup2, null, STDERR_FILENO);
  ::syscall(SYS_execve, g_program, child.arguments, kEnvironment);
  ::syscall(SYS_exit_group, 1);
  return 1;
}

// The lines of the child's output, one after the other, until the end or until the time is over.
class Lines {
 public:
  Lines(int fd, int64_t end_ms) noexcept : fd_(fd), end_ms_(end_ms) {}
  // False: there are no more. A line is cut to the size of the buffer.
  bool next(std::string_view& line) noexcept {
    for (;;) {
      const char* begin = buffer_ + from_;
      if (const void* newline = ::memchr(begin, '\n', size_ - from_)) {
        const auto length =
            static_cast<size_t>(static_cast<const char*>(newline) - begin);
        line = {begin, length};
        from_ += length + 1;
        return true;
      }
      if (!read_more()) return false;
    }
  }

 private:
  bool read_more() noexcept {
    ::memmove(buffer_, buffer_ + from_, size_ - from_);
    size_ -= from_;
    from_ = 0;
    const int64_t left = end_ms_ - now_ms();
    pollfd readable{fd_, POLLIN, 0};
    if (size_ == sizeof buffer_ || left <= 0) return false;
    if (::syscall(SYS_poll, &readable, 1, static_cast<int>(left)) <= 0) return false;
    const long n = ::syscall(SYS_read, fd_, buffer_ + size_, sizeof buffer_ - size_);
    if (n <= 0) return false;
    size_ += static_cast<size_t>(n);
    return true;
  }

  const int fd_;
  const int64_t end_ms_;
  char buffer_[4096];
  size_t from_ = 0, size_ = 0;
};

void store(std::string_view text, char* to, size_t bytes) noexcept {
  const size_t n = std::min(text.size(), bytes - 1);
  ::memcpy(to, text.data(), n);
  to[n] = '\0';
}

// "/home/me/prog.c:12 (discriminator 3)" in the working directory /home/me: "prog.c:12".
std::string_view shortened(std::string_view line) noexcept {
  line = line.substr(0, line.find(" (discriminator"));
  static char folder[PATH_MAX];
  static const long length = ::syscall(SYS_getcwd, folder, sizeof folder);
  if (length <= 1) return line;
  const std::string_view here(folder, static_cast<size_t>(length - 1));
  if (line.starts_with(here) && line.size() > here.size() && line[here.size()] == '/')
    line.remove_prefix(here.size() + 1);
  return line;
}

bool is_known(std::string_view answer) noexcept {
  return !answer.empty() && !answer.starts_with("??") && !answer.ends_with(":?") &&
         !answer.ends_with(":0");
}

void read_answers(int fd, Answer* answers, int count, int milliseconds) noexcept {
  Lines lines(fd, now_ms() + milliseconds);
  for (int i = 0; i < count; ++i) {
    std::string_view line;
    if (!lines.next(line)) return;
    if (is_known(line)) store(line, answers[i].function, answers[i].function_bytes);
    if (!lines.next(line)) return;
    if (is_known(line)) store(shortened(line), answers[i].line, answers[i].line_bytes);
  }
}

}  // namespace

int64_t now_ms() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void find_program() noexcept {
  const char* path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "/usr/bin:/bin" : path;
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folder.size() + 1, folders.size()));
    if (folder.empty() || folder[0] != '/')
      continue;  // a program in the user's folder is not used
    std::snprintf(g_program, sizeof g_program, "%.*s/addr2line",
                  static_cast<int>(folder.size()), folder.data());
    if (::access(g_program, X_OK) == 0) return;
  }
  g_program[0] = '\0';
}

void ask(const char* file, const size_t* offsets, Answer* answers, int count,
         int milliseconds) noexcept {
  if (g_program[0] == '\0' || count <= 0) return;
  count = std::min(count, kMostOffsets);
  char numbers[kMostOffsets][20];
  const char* arguments[kMostOffsets + 6] = {g_program, "-f", "-C", "-e", file};
  for (int i = 0; i < count; ++i) {
    ReportText text(numbers[i], sizeof numbers[i] - 1);
    text.add(FMT_STRING("{:#x}"), offsets[i]);
    numbers[i][text.view().size()] = '\0';
    arguments[5 + i] = numbers[i];
  }
  arguments[5 + count] = nullptr;
  int ends[2];
  if (::syscall(SYS_pipe2, ends, O_CLOEXEC) != 0) return;
  static char stack[16 * 1024] __attribute__((aligned(16)));
  Child child{arguments, ends[1]};
  // Until the child has its own memory no handler may run in it, so it has them all blocked.
  uint64_t all = ~uint64_t{0}, before = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
  const int pid = ::__clone(&run_child, stack + sizeof stack,
                            CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, sizeof before);
  ::syscall(SYS_close, ends[1]);
  if (pid > 0) {
    read_answers(ends[0], answers, count, milliseconds);
    ::syscall(SYS_kill, pid, SIGKILL);
    ::syscall(SYS_wait4, pid, nullptr, 0, nullptr);
  }
  ::syscall(SYS_close, ends[0]);
}

}  // namespace mpc::job::addr2line

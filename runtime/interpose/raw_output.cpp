// A rank's output to the job's standard output and error without stdio: write(1, ...), Fortran
// units, std::cout after sync_with_stdio(false). And dup2(), close(), by which a process redirects
// these to a file: for the rank, not for the job. See runtime/interpose/line_stream.h.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "runtime/interpose/descriptors.h"
#include "runtime/interpose/file_locks.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/interpose/streams.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

extern "C" char __ehdr_start[];
extern "C" char _end[];

namespace {

using mpc::interpose::ClosingLocks;
using mpc::interpose::line_stream_for;
using mpc::interpose::LineStream;
using mpc::interpose::real_fd;

// The runtime's own messages are no rank's output.
bool is_own_code(const void* return_address) noexcept {
  const auto* address = static_cast<const char*>(return_address);
  return address >= __ehdr_start && address < _end;
}

bool is_output(int fd) noexcept { return fd == STDOUT_FILENO || fd == STDERR_FILENO; }

// Descriptors that ranks created from the job's own two by dup(): which of the two, or 0.
constexpr int kMaxDuplicate = 1024;  // a higher one is not tracked
constinit std::atomic<unsigned char> g_duplicate_of[kMaxDuplicate] = {};

void set_duplicate(int fd, int of) noexcept {
  if (fd <= STDERR_FILENO || fd >= kMaxDuplicate) return;
  // A child of vfork() would write to its parent's table.
  if (g_duplicate_of[fd].load(std::memory_order_relaxed) != of &&
      !mpc::interpose::is_forked_child())
    g_duplicate_of[fd].store(static_cast<unsigned char>(of), std::memory_order_relaxed);
}

bool are_same_file(int a, int b) noexcept {
  struct stat one, other;
  return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// STDOUT_FILENO or STDERR_FILENO if `fd` is a duplicate of it; 0 if not.
int duplicate_of(int fd) noexcept {
  if (fd <= STDERR_FILENO || fd >= kMaxDuplicate) return 0;
  const int of = g_duplicate_of[fd].load(std::memory_order_relaxed);
  if (of == 0) return 0;
  if (are_same_file(fd, of)) return of;
  set_duplicate(fd,
                0);  // libc closed it itself (fclose), and the number is another file's
  return 0;
}

// The calling rank's output behind `fd`; null: it is none of ours. A duplicate leads to the job's
// output, not to what the rank has redirected it to since.
LineStream* output_at(int fd) noexcept {
  if (is_output(fd)) return line_stream_for(fd);
  const int of = duplicate_of(fd);
  LineStream* lines = of != 0 ? line_stream_for(of) : nullptr;
  return lines != nullptr && is_output(lines->fd()) ? lines : nullptr;
}

// Which of the job's own two that is; 0: neither.
int own_of(int real) noexcept { return is_output(real) ? real : duplicate_of(real); }

// The stream that a rank's call writes to: as output_at(), but null for the runtime's own calls.
LineStream* output_of_caller(int fd, const void* return_address) noexcept {
  if (!is_output(fd) && (fd < 0 || fd >= kMaxDuplicate ||
                         g_duplicate_of[fd].load(std::memory_order_relaxed) == 0))
    return nullptr;
  return is_own_code(return_address) ? nullptr : output_at(fd);
}

ssize_t append(LineStream& lines, const void* data, size_t size) noexcept {
  const int error = lines.append(static_cast<const char*>(data), size, true);
  if (error == 0) return static_cast<ssize_t>(size);
  errno = error;
  return -1;
}

int print(LineStream& lines, const char* format, va_list list) {
  char* text = nullptr;
  const int size = ::vasprintf(&text, format, list);
  if (size < 0) return size;
  const ssize_t result = append(lines, text, static_cast<size_t>(size));
  std::free(text);
  return static_cast<int>(result);
}

}  // namespace

MPC_EXPORT ssize_t write(int fd, const void* data, size_t size) {
  LineStream* lines = output_of_caller(fd, __builtin_return_address(0));
  if (lines == nullptr) return NEXT(write)(fd, data, size);
  return append(*lines, data, size);
}
MPC_EXPORT ssize_t writev(int fd, const iovec* parts, int count) {
  LineStream* lines = output_of_caller(fd, __builtin_return_address(0));
  if (lines == nullptr) return NEXT(writev)(fd, parts, count);
  ssize_t total = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t written = append(*lines, parts[i].iov_base, parts[i].iov_len);
    if (written < 0) return total > 0 ? total : -1;
    total += written;
  }
  return total;
}

MPC_EXPORT int vdprintf(int fd, const char* format, va_list list) {
  LineStream* lines = output_at(fd);
  return lines != nullptr ? print(*lines, format, list)
                          : NEXT(vdprintf)(fd, format, list);
}
MPC_EXPORT int dprintf(int fd, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = vdprintf(fd, format, list);
  va_end(list);
  return result;
}
extern "C" int __vdprintf_chk(int, int, const char*, va_list);
MPC_EXPORT int __vdprintf_chk(int fd, int flag, const char* format, va_list list) {
  LineStream* lines = output_at(fd);
  return lines != nullptr ? print(*lines, format, list)
                          : NEXT(__vdprintf_chk)(fd, flag, format, list);
}
extern "C" int __dprintf_chk(int, int, const char*, ...);
MPC_EXPORT int __dprintf_chk(int fd, int flag, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = __vdprintf_chk(fd, flag, format, list);
  va_end(list);
  return result;
}

// --- redirecting the rank's input and output ------------------------------------------------------------

namespace {

// The stream of the calling rank that `fd` (1 or 2) is; null in a child, also of vfork().
LineStream* redirectable(int fd) noexcept {
  static const pid_t process = ::getpid();
  LineStream* lines = is_output(fd) ? line_stream_for(fd) : nullptr;
  return lines != nullptr && ::getpid() == process ? lines : nullptr;
}

// dup2(from, to) for a rank's `to` of 1 or 2.
int redirect(LineStream& lines, int from, int to) noexcept {
  const int real = real_fd(from);
  int target =
      own_of(real);  // the job's own again (a copy that dup() had made), or 2>&1
  if (target == 0) {
    target = ::fcntl(real, F_DUPFD_CLOEXEC, kMaxDuplicate / 2);
    if (target < 0 && errno == EINVAL)
      target = ::fcntl(real, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  }
  if (target < 0) return -1;
  lines.redirect(target);
  return to;
}

// The caller's 0 is not the kernel's.
bool has_own_input(int fd) noexcept { return fd == STDIN_FILENO && real_fd(fd) != fd; }

// dup2(from, 0) for such a rank.
int redirect_input(int from) noexcept {
  const int target = ::fcntl(real_fd(from), F_DUPFD_CLOEXEC, kMaxDuplicate / 2);
  if (target < 0) return -1;
  mpc::interpose::redirect_input(target);
  return STDIN_FILENO;
}

// close(0) by one of several ranks.
int close_input(int fd) {
  const int real = real_fd(fd);
  if (real < 0) return errno = EBADF, -1;
  if (mpc::interpose::redirect_input(-1)) return 0;
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) return -1;
  NEXT(dup3)(null, fd, 0);
  return NEXT(close)(null);
}

}  // namespace

MPC_EXPORT int dup(int fd) noexcept {
  const int real = real_fd(fd);
  const int copy = NEXT(dup)(real);
  if (copy >= 0) set_duplicate(copy, own_of(real));
  return copy;
}
MPC_EXPORT int dup3(int from, int to, int flags) noexcept {
  const ClosingLocks closing(from != to ? to : -1);
  if (LineStream* lines = redirectable(to)) return redirect(*lines, from, to);
  if (has_own_input(to)) return redirect_input(from);
  const int real = real_fd(from);
  const int result = NEXT(dup3)(real, to, flags);
  if (result >= 0) set_duplicate(result, own_of(real));
  return result;
}
MPC_EXPORT int dup2(int from, int to) noexcept {
  return from == to ? NEXT(dup2)(from, to) : dup3(from, to, 0);
}
MPC_EXPORT int close(int fd) {
  const ClosingLocks closing(fd);
  // The other ranks continue to write there.
  if (LineStream* lines = redirectable(fd)) {
    if (lines->fd() < 0) return errno = EBADF, -1;
    lines->redirect(-1);
    return 0;
  }
  if (fd == STDIN_FILENO && mpc::interpose::shares_input()) return close_input(fd);
  set_duplicate(fd, 0);
  return NEXT(close)(fd);
}

// Descriptor 0 without stdio: read(0, ...) in C, Fortran and Python, poll() and select() for it.
// The job's standard input is rank 0's; another rank's 0 is an empty file (/dev/null), or what the
// rank has put there. Questions about 0, 1 and 2 (fstat, isatty ...) are answered for the rank, too.

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <vector>

#include "runtime/interpose/descriptors.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace {

using mpc::interpose::real_fd;

int real_input(int fd) noexcept { return fd == STDIN_FILENO ? real_fd(fd) : fd; }

#define MEANT(fd) mpc::interpose::meant_fd(fd, __builtin_return_address(0))

// --- poll, select ---------------------------------------------------------------------------------

// `wait` is called with the descriptors that the rank means.
template <typename Wait>
int poll_as_rank(pollfd* files, nfds_t count, Wait wait) {
  const auto is_other = [](const pollfd& file) {
    return file.fd == STDIN_FILENO && real_input(file.fd) != file.fd;
  };
  if (files == nullptr || std::none_of(files, files + count, is_other))
    return wait(files);
  std::vector<pollfd> meant(files, files + count);
  for (pollfd& file : meant) file.fd = real_input(file.fd);
  const int result = wait(meant.data());
  for (nfds_t i = 0; i < count; ++i) files[i].revents = meant[i].revents;
  return result;
}

// The same for select(): the bit of 0 stands for another descriptor during the call.
template <typename Wait>
int select_as_rank(int count, fd_set* readable, Wait wait) {
  const bool asks =
      readable != nullptr && count > 0 && FD_ISSET(STDIN_FILENO, readable);
  const int real = asks ? real_input(STDIN_FILENO) : STDIN_FILENO;
  if (real <= STDIN_FILENO || real >= FD_SETSIZE) return wait(count);
  const bool asks_real = real < count && FD_ISSET(real, readable);
  FD_CLR(STDIN_FILENO, readable);
  FD_SET(real, readable);
  const int result = wait(std::max(count, real + 1));
  const bool is_ready = result > 0 && FD_ISSET(real, readable);
  if (!asks_real) FD_CLR(real, readable);
  if (is_ready) FD_SET(STDIN_FILENO, readable);
  return result;
}

}  // namespace

MPC_EXPORT int poll(pollfd* files, nfds_t count, int timeout) {
  return poll_as_rank(files, count,
                      [&](pollfd* all) { return NEXT(poll)(all, count, timeout); });
}
MPC_EXPORT int ppoll(pollfd* files, nfds_t count, const timespec* timeout,
                     const sigset_t* mask) {
  return poll_as_rank(files, count, [&](pollfd* all) {
    return NEXT(ppoll)(all, count, timeout, mask);
  });
}
MPC_EXPORT int select(int count, fd_set* readable, fd_set* writable, fd_set* others,
                      timeval* timeout) {
  return select_as_rank(count, readable, [&](int all) {
    return NEXT(select)(all, readable, writable, others, timeout);
  });
}
MPC_EXPORT int pselect(int count, fd_set* readable, fd_set* writable, fd_set* others,
                       const timespec* timeout, const sigset_t* mask) {
  return select_as_rank(count, readable, [&](int all) {
    return NEXT(pselect)(all, readable, writable, others, timeout, mask);
  });
}
MPC_EXPORT int epoll_ctl(int set, int operation, int fd, epoll_event* event) noexcept {
  return NEXT(epoll_ctl)(set, operation, real_input(fd), event);
}

// --- reading --------------------------------------------------------------------------------------

MPC_EXPORT ssize_t read(int fd, void* data, size_t size) {
  return NEXT(read)(real_input(fd), data, size);
}
extern "C" ssize_t __read_chk(int, void*, size_t, size_t);
MPC_EXPORT ssize_t __read_chk(int fd, void* data, size_t size, size_t room) {
  return NEXT(__read_chk)(real_input(fd), data, size, room);
}
MPC_EXPORT ssize_t readv(int fd, const iovec* parts, int count) {
  return NEXT(readv)(real_input(fd), parts, count);
}
MPC_EXPORT ssize_t pread(int fd, void* data, size_t size, off_t at) {
  return NEXT(pread)(real_input(fd), data, size, at);
}
MPC_EXPORT ssize_t pread64(int fd, void* data, size_t size, off64_t at) {
  return NEXT(pread64)(real_input(fd), data, size, at);
}
MPC_EXPORT ssize_t preadv(int fd, const iovec* parts, int count, off_t at) {
  return NEXT(preadv)(real_input(fd), parts, count, at);
}
MPC_EXPORT ssize_t preadv64(int fd, const iovec* parts, int count, off64_t at) {
  return NEXT(preadv64)(real_input(fd), parts, count, at);
}

// --- questions about 0, 1 and 2 -------------------------------------------------------------------

MPC_EXPORT int fstat(int fd, struct stat* out) noexcept {
  return NEXT(fstat)(MEANT(fd), out);
}
MPC_EXPORT int fstat64(int fd, struct stat64* out) noexcept {
  return NEXT(fstat64)(MEANT(fd), out);
}
MPC_EXPORT off_t lseek(int fd, off_t offset, int origin) noexcept {
  return NEXT(lseek)(MEANT(fd), offset, origin);
}
MPC_EXPORT off64_t lseek64(int fd, off64_t offset, int origin) noexcept {
  return NEXT(lseek64)(MEANT(fd), offset, origin);
}
MPC_EXPORT int isatty(int fd) noexcept { return NEXT(isatty)(MEANT(fd)); }
MPC_EXPORT int tcgetattr(int fd, termios* out) noexcept {
  return NEXT(tcgetattr)(MEANT(fd), out);
}
MPC_EXPORT int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* argument = va_arg(list, void*);
  va_end(list);
  return NEXT(ioctl)(MEANT(fd), request, argument);
}
// A stream above another rank's 0 has a copy, which it may close.
MPC_EXPORT FILE* fdopen(int fd, const char* mode) noexcept {
  const int real = real_input(fd);
  const int copy = real != fd ? ::fcntl(real, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : fd;
  return NEXT(fdopen)(copy, mode);
}

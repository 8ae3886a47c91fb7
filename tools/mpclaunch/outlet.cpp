#include "tools/mpclaunch/outlet.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace mpc::launch {

Outlet::~Outlet() {
  close_inner();
  for (int& fd : outer_) {
    if (fd < 0) continue;
    loop_.forget(fd);
    ::close(fd);
  }
}

Result<> Outlet::open(bool is_one) {
  room_bytes_ = kRoomBytes;
  for (int i = 0; i < (is_one ? 1 : 2); ++i) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return {Errc::kSystem, std::string("pipe: ") + std::strerror(errno)};
    outer_[i] = ends[0];
    inner_[i] = ends[1];
    ::fcntl(outer_[i], F_SETFL, O_NONBLOCK);  // of this end only
  }
  watch();
  return {};
}

void Outlet::close_inner() {
  for (int& fd : inner_)
    if (fd >= 0) ::close(std::exchange(fd, -1));
}

void Outlet::watch() {
  for (int i = 0; i < 2; ++i) {
    if (outer_[i] < 0) continue;
    if (room_bytes_ == 0)
      loop_.forget(outer_[i]);
    else
      loop_.watch(outer_[i], [this, i] { read(i); });
  }
}

// Reads once; the loop calls again for the rest.
Outlet::State Outlet::read(int which) {
  char bytes[16 << 10];
  int& fd = outer_[which];
  if (fd < 0) return State::kEmpty;
  if (room_bytes_ == 0) return State::kFull;
  const ssize_t count = ::read(fd, bytes, std::min(sizeof bytes, room_bytes_));
  if (count < 0) return errno == EINTR ? State::kFull : State::kEmpty;
  if (count == 0) {  // no process can write any more
    loop_.forget(fd);
    ::close(std::exchange(fd, -1));
    return State::kEmpty;
  }
  room_bytes_ -= static_cast<size_t>(count);
  pass_(which == 0 ? STDOUT_FILENO : STDERR_FILENO,
        {bytes, static_cast<size_t>(count)});
  if (room_bytes_ == 0) watch();
  return State::kFull;
}

void Outlet::taken(size_t bytes) {
  const bool was_full = room_bytes_ == 0;
  room_bytes_ += bytes;
  if (was_full) watch();
}

bool Outlet::drain() {
  for (int i = 0; i < 2; ++i)
    while (read(i) == State::kFull)
      if (room_bytes_ == 0) return false;
  return true;
}

}  // namespace mpc::launch

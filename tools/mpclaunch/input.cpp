#include "tools/mpclaunch/input.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace mpc::launch {
namespace {

// A process that reads a terminal from the background is stopped.
bool is_in_foreground() {
  const pid_t group = ::tcgetpgrp(STDIN_FILENO);
  return group < 0 || group == ::getpgrp();  // < 0: no terminal
}

}  // namespace

void Input::start() {
  is_on_ = true;
  loop_.watch(STDIN_FILENO, [this] { read(); });
}

void Input::stop() {
  is_on_ = is_paused_ = false;
  loop_.forget(STDIN_FILENO);
}

void Input::look_again() {
  if (!is_paused_ || !is_in_foreground()) return;
  is_paused_ = false;
  start();
}

void Input::taken(size_t bytes) {
  const bool was_full = room_bytes_ == 0;
  room_bytes_ += bytes;
  if (was_full && is_on_ && !is_paused_) start();
}

void Input::read() {
  if (!is_in_foreground()) {
    is_paused_ = true;
    return loop_.forget(STDIN_FILENO);
  }
  char bytes[16 << 10];
  const ssize_t count =
      ::read(STDIN_FILENO, bytes, std::min(sizeof bytes, room_bytes_));
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) {
    stop();
    return pass_({});
  }
  room_bytes_ -= static_cast<size_t>(count);
  if (room_bytes_ == 0) loop_.forget(STDIN_FILENO);
  pass_({bytes, static_cast<size_t>(count)});
}

}  // namespace mpc::launch

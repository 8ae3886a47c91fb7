#include "tools/mpclaunch/loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/poll_files.h"

namespace mpc::launch {

Loop::Loop() : wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  watch(wake_, [this] { take_posted(); });
}

Loop::~Loop() { ::close(wake_); }

void Loop::watch(int fd, Call readable) {
  watched_[fd] = {std::move(readable), nullptr, 0};
}

void Loop::watch_last(int fd, Call readable) {
  watch(fd, std::move(readable));
  last_ = fd;
}

void Loop::want_room(int fd, Call writable) {
  const auto found = watched_.find(fd);
  if (found != watched_.end()) found->second.writable = std::move(writable);
}

void Loop::rest(int fd, Deadline until_ns) {
  const auto found = watched_.find(fd);
  if (found != watched_.end()) found->second.rests_until_ns = until_ns;
}

void Loop::forget(int fd) {
  watched_.erase(fd);
  if (fd == last_) last_ = -1;
}

void Loop::post(Call call) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(call));
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

void Loop::take_posted() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t bytes = ::read(wake_, &count, sizeof count);
  std::vector<Call> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(posted_);
  }
  for (const Call& call : calls) call();
}

void Loop::turn(int timeout_ms) {
  std::vector<pollfd> wanted;
  for (auto& [fd, watch] : watched_) {
    if (const int rest_ms = ms_to_first({watch.rests_until_ns}); rest_ms > 0) {
      timeout_ms = timeout_ms < 0 ? rest_ms : std::min(timeout_ms, rest_ms);
      continue;
    }
    watch.rests_until_ns = 0;
    const int room = watch.writable ? POLLOUT : 0;
    wanted.push_back({fd, static_cast<short>(POLLIN | room), 0});
  }
  const auto is_last = [this](const pollfd& file) { return file.fd == last_; };
  std::stable_partition(wanted.begin(), wanted.end(), std::not_fn(is_last));
  if (poll_files(wanted, timeout_ms) <= 0) return;
  // A function that is called may forget files and watch new ones. So each is looked up again, and
  // a copy of the function is called.
  for (const pollfd& file : wanted) {
    if ((file.revents & POLLOUT) != 0) {
      const auto found = watched_.find(file.fd);
      if (found != watched_.end() && found->second.writable)
        Call(found->second.writable)();
    }
    if ((file.revents & ~POLLOUT) != 0) {
      const auto found = watched_.find(file.fd);
      if (found != watched_.end()) Call(found->second.readable)();
    }
  }
}

}  // namespace mpc::launch

#include "tools/mpclaunch/channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/wireup/tcp.h"

namespace mpc::launch {
namespace {

constexpr size_t kReadBytes = 64 << 10;

}  // namespace

Channel::Channel(Loop& loop, int fd, OnFrame on_frame, OnLost on_lost)
    : loop_(loop),
      fd_(fd),
      on_frame_(std::move(on_frame)),
      on_lost_(std::move(on_lost)) {
  ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK);
  wireup::notice_silence(fd_);
  loop_.watch(fd_, [this] { take(); });
}

Channel::~Channel() {
  loop_.forget(fd_);
  ::close(fd_);
}

void Channel::send(Frame kind, std::string_view payload) {
  if (is_lost_) return;
  const uint32_t head[] = {static_cast<uint32_t>(kind),
                           static_cast<uint32_t>(payload.size())};
  out_.append(reinterpret_cast<const char*>(head), sizeof head);
  out_.append(payload);
  write();
}

void Channel::write() {
  size_t sent = 0;
  while (sent < out_.size()) {
    const ssize_t bytes =
        ::send(fd_, out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) break;
    sent += static_cast<size_t>(bytes);
  }
  // An error of the connection is found by reading, after the data that came before it.
  out_.erase(0, sent);
  if (out_.empty())
    loop_.want_room(fd_, nullptr);
  else
    loop_.want_room(fd_, [this] { write(); });
}

void Channel::take() {
  char bytes[kReadBytes];
  const ssize_t count = ::recv(fd_, bytes, sizeof bytes, 0);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) return lose(count == 0 ? 0 : errno);
  in_.append(bytes, static_cast<size_t>(count));
  take_frames();
}

void Channel::take_frames() {
  size_t used = 0;
  while (!is_lost_ && in_.size() - used >= kFrameHeadBytes) {
    uint32_t head[2];
    std::memcpy(head, in_.data() + used, sizeof head);
    if (head[1] > kMostFrameBytes) return lose(EPROTO);
    if (in_.size() - used - kFrameHeadBytes < head[1]) break;
    on_frame_(static_cast<Frame>(head[0]),
              std::string_view(in_).substr(used + kFrameHeadBytes, head[1]));
    used += kFrameHeadBytes + head[1];
  }
  in_.erase(0, used);
}

void Channel::lose(int error) {
  if (is_lost_) return;
  is_lost_ = true;
  loop_.forget(fd_);
  on_lost_(error);
}

}  // namespace mpc::launch

#pragma once
// Channel: one end of the connection between the head of a job and the daemon on a host.
//
// Role:      sends and receives frames without waiting; notices within seconds that the other host
//            does not answer any more.
// Users:     tools/mpclaunch.
// Threads:   that of the loop.
// See also:  tools/mpclaunch/frame.h, tcp(7).

#include <functional>
#include <string>
#include <string_view>

#include "tools/mpclaunch/frame.h"
#include "tools/mpclaunch/loop.h"

namespace mpc::launch {

class Channel {
 public:
  using OnFrame = std::function<void(Frame, std::string_view)>;
  // `error`: an errno; 0: the other end has closed it.
  using OnLost = std::function<void(int error)>;

  // A connection over TCP. Ownership: the channel owns the descriptor. The loop calls both
  // functions; neither may destroy a channel.
  Channel(Loop& loop, int fd, OnFrame on_frame, OnLost on_lost);
  ~Channel();
  Channel(const Channel&) = delete;

  void send(Frame kind, std::string_view payload);
  void send(Frame kind, const Packer& payload) { send(kind, payload.bytes()); }
  bool is_lost() const noexcept { return is_lost_; }
  // Everything that was sent has left this process.
  bool is_drained() const noexcept { return is_lost_ || out_.empty(); }
  int descriptor() const noexcept { return fd_; }

 private:
  void take();
  void take_frames();
  void write();
  void lose(int error);

  Loop& loop_;
  const int fd_;
  const OnFrame on_frame_;
  const OnLost on_lost_;
  std::string in_, out_;
  bool is_lost_ = false;
};

}  // namespace mpc::launch

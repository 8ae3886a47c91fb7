#pragma once
// Input: mpcrun's standard input, on its way to the process of rank 0 on another host.
//
// Role:      reads as long as there is room at the other end. If rank 0 is on mpcrun's own host,
//            its process has the file itself, and this class is not used.
// Users:     tools/mpclaunch/head.h.
// Threads:   that of the loop.
// See also:  tools/mpclaunch/daemon.h, the other end.

#include <cstddef>
#include <functional>
#include <string_view>

#include "tools/mpclaunch/loop.h"

namespace mpc::launch {

class Input {
 public:
  // Empty: the end.
  using Pass = std::function<void(std::string_view text)>;

  Input(Loop& loop, Pass pass) : loop_(loop), pass_(std::move(pass)) {}
  void start();
  void taken(size_t bytes);
  // The reader is gone.
  void stop();
  // The job is in the background of its terminal: check again later whether the keys are for it.
  bool is_paused() const noexcept { return is_paused_; }
  void look_again();

 private:
  void read();

  Loop& loop_;
  const Pass pass_;
  static constexpr size_t kRoomBytes = 32 << 10;
  size_t room_bytes_ = kRoomBytes;
  bool is_on_ = false, is_paused_ = false;
};

}  // namespace mpc::launch

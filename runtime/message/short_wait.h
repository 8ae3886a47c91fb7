#pragma once
// ShortWait: waiting for something that takes another thread some nanoseconds.
//
// Role:      the back-off of the locks and rings of this folder.
// Users:     runtime/message.
// Threads:   one object per wait.

namespace mpc::msg {

// One turn of waiting for something that another kernel thread does within nanoseconds,
// unless the system took its core away.
class ShortWait {
 public:
  void once() noexcept;

 private:
  unsigned turns_ = 0;
};

}  // namespace mpc::msg

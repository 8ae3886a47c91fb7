#pragma once
// Slots: the memory that holds the packed pieces of one message.
//
// Role:      acquired for one copy and released after it, cached for the next one on the same core;
//            so there is as much of it as there are cores, however many ranks and messages.
// Users:     runtime/message (scattered_copy.cpp).
// Threads:   any; an object belongs to its execution.
// See also:  runtime/message/pieces.h.

namespace mpc::msg {

class Slots {
 public:
  Slots() noexcept;
  ~Slots();
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  char* data() const noexcept { return data_; }  // null: there is no memory

 private:
  char* data_;
};

}  // namespace mpc::msg

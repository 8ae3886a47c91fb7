#pragma once
// Slots: the memory in which pieces of one message stand packed.
//
// Role:      taken for one copy and given back after it, kept for the next one on the same core; so
//            there is as much of it as there are cores, however many ranks and messages.
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

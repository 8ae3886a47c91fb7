#pragma once
// Completion: how a net says that it has finished with an operation's memory.
//
// Role:      a member of the operation whose data are sent or filled.
// Users:     runtime/transport/net.h; runtime/message embeds it.
// Threads:   see done.
// See also:  runtime/transport/net.h.

#include <cstdint>

namespace mpc::transport {

enum class Outcome : uint8_t {
  kDone,     // offer: fetched; fetch: the data have come
  kRefused,  // offer: the receiver does not want the data
  // Fetch: the sender has ended, its data are lost; offer: the receiver has ended.
  kGone,
};

struct Completion {
  // Caller: the net, once, without locks of its own; perhaps before the call that received it
  // has returned. Afterwards the net touches neither it nor the data. May post and fetch and
  // unpark; must not wait for the net.
  void (*done)(Completion& self, Outcome outcome) noexcept;
};

}  // namespace mpc::transport

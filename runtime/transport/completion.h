#pragma once
// Completion: how a net says that it is done with somebody's memory.
//
// Role:      stands in the operation whose data are sent or filled.
// Users:     runtime/transport/net.h; runtime/message embeds it.
// Threads:   see done.
// See also:  runtime/transport/net.h.

#include <cstdint>

namespace mpc::transport {

enum class Outcome : uint8_t {
  kDone,     // offer: fetched; fetch: the data are there
  kRefused,  // offer: the receiver does not want the data
  kGone,     // fetch: the sender has ended, its data are lost; offer: the receiver has
};

struct Completion {
  // Caller: the net, once, without locks of its own; perhaps before the call that was given it
  // has returned. Afterwards the net touches neither it nor the data. May post and fetch and
  // unpark; must not wait for the net.
  void (*done)(Completion& self, Outcome outcome) noexcept;
};

}  // namespace mpc::transport

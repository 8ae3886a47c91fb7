#pragma once
// ControlEnd: one process's end of the control channels.
//
// Role:      cuts messages into fragments that the net accepts, and joins those of other processes
//            again, in the order of sending.
// Users:     runtime/message/endpoint.
// Threads:   send() any; the others the net, one at a time.
// See also:  runtime/message/control.h.
//
// Messages are fragments, not offers that the receiver fetches: they are short, as a rule
// one fragment, and their sender does not wait. So nothing outlives the call, and nothing has to be
// withdrawn when a process ends. Long data of windows are offers, whose sender waits for their end.
//
// A fragment is a packet kControl: `context` is the channel, `bytes` the length of the whole
// message, `sequence` the number of the fragment among those of this channel from process to
// process. The fragments of a message have consecutive numbers, so the message ends where as many
// bytes have come in order. All go on lane 0.

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/message/control.h"
#include "runtime/transport/net.h"

namespace mpc::msg {

class ControlEnd {
 public:
  ControlEnd(int here, int processes, transport::Net& net);
  ~ControlEnd();

  void send(int to, ControlChannel channel, std::span<const std::byte> message);
  void offer(int to, ControlChannel channel, uint64_t id, bool flag,
             const transport::Source& source, transport::Completion& completion);
  // Accepts a fragment. The net may hold its locks.
  void take(int from, const transport::Envelope& envelope, const void* data,
            size_t bytes);
  void take_offer(int from, const transport::Envelope& envelope, transport::Bulk bulk);
  // Passes complete messages and offers to their handlers. The net holds no lock.
  void deliver() noexcept;
  // As Endpoint::begin_peer().
  void begin_peer(int peer) noexcept;
  // Numbers of messages except those of ControlChannel::kDeadlock, which
  // ask for these numbers: sent, modulo 2^32 (caller: any); and handled,
  // whose handler has returned (caller: the net's thread).
  uint32_t sent() const noexcept { return sent_.load(std::memory_order_relaxed); }
  uint32_t delivered() const noexcept { return delivered_; }

 private:
  using Bytes = std::vector<std::byte>;
  struct Early {
    uint64_t message_bytes;
    Bytes data;
  };
  // One channel to and from another process.
  struct Stream {
    std::atomic<uint32_t> sent{0};  // fragments
    uint32_t expected = 0;
    Bytes message;                    // what has arrived of it
    std::map<uint32_t, Early> early;  // fragments that have overtaken others
  };
  struct Ready {
    ControlChannel channel;
    int from;
    Bytes message;
  };
  struct ReadyOffer {
    ControlChannel channel;
    ControlOffer offer;
  };
  using Peer = std::array<Stream, kControlChannels>;

  Stream& stream_of(int peer, ControlChannel channel) noexcept;

  void append(int from, ControlChannel channel, uint64_t message_bytes,
              std::span<const std::byte> data);

  const int here_, processes_;
  transport::Net& net_;
  std::unique_ptr<Peer[]> peers_;
  std::vector<Ready> ready_;  // between take() and deliver()
  std::vector<ReadyOffer> offers_;
  std::atomic<uint32_t> sent_{0};
  uint32_t delivered_ = 0;
};

}  // namespace mpc::msg

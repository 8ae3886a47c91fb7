#pragma once
// Wire: the head of each packet between two jobs.
//
// Role:      a head of fixed size, followed by an envelope and data, or by data alone. Each packet
//            of the socket is exactly one of these, so none has to be put together.
// Users:     runtime/transport/bridge.
// Threads:   plain data.
// See also:  runtime/transport/bridge/bridge.h.

#include <cstddef>
#include <cstdint>

namespace mpc::transport::bridge {

enum class Wire : uint32_t {
  kMessage,  // followed by an envelope and data
  kOffer,    // followed by an envelope; `handle` names the data
  kFetch,    // `handle` of the offer, `fetch`: the receiver's number for it
  kData,     // `fetch`, followed by data from `offset` on
  kNoData,   // `fetch`: the offer does not exist any more
  kRefuse,   // `handle`
  kEnding,   // the sender starts no operation any more
  kLeave,    // the last packet
};

struct Head {
  Wire wire{};
  uint32_t unused = 0;
  uint64_t handle = 0, fetch = 0, offset = 0;
};
static_assert(sizeof(Head) == 32);

// The longest part of a message that is sent in one packet.
inline constexpr size_t kPieceBytes = 64 << 10;
inline constexpr size_t kMostPacketBytes = kPieceBytes + 256;

}  // namespace mpc::transport::bridge

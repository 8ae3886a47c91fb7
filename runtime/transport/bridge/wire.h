#pragma once
// Wire: what a packet between two jobs begins with.
//
// Role:      a head of fixed size; an envelope and data, or data alone, behind it. One packet of the
//            socket is one of these, so nothing has to be put together again.
// Users:     runtime/transport/bridge.
// Threads:   plain data.
// See also:  runtime/transport/bridge/bridge.h.

#include <cstddef>
#include <cstdint>

namespace mpc::transport::bridge {

enum class Wire : uint32_t {
  kMessage,  // envelope, data
  kOffer,    // envelope; `handle` names the data
  kFetch,    // `handle` of the offer, `fetch` of who wants it
  kData,     // `fetch`, data from `offset` on
  kNoData,   // `fetch`: the offer is gone
  kRefuse,   // `handle`
  kEnding,   // nothing is begun any more
  kLeave,    // nothing comes any more
};

struct Head {
  Wire wire{};
  uint32_t unused = 0;
  uint64_t handle = 0, fetch = 0, offset = 0;
};
static_assert(sizeof(Head) == 32);

// So much of a long message goes in one packet.
inline constexpr size_t kPieceBytes = 64 << 10;
inline constexpr size_t kMostPacketBytes = kPieceBytes + 256;

}  // namespace mpc::transport::bridge

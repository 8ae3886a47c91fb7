#pragma once
// Head: what this module puts before each of its messages.
//
// Role:      says what a message is and which process has sent it, in bytes.
// Users:     runtime/transport/ucx.
// Threads:   plain data.
// See also:  runtime/transport/envelope.h, docs/design/0021-ucx.md (who answers what).

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/transport/envelope.h"

namespace mpc::transport::ucx {

enum class HeadKind : uint8_t {
  kMessage,      // envelope; followed by data
  kOffer,        // number, envelope; a rendezvous
  kEmptyOffer,   // the same for no bytes: one byte replaces them
  kRefuse,       // the receiver does not want offer `number`
  kRefusalSeen,  // the sender has seen it: the receiver may let the rendezvous end
  kRecall,       // the sender's memory is freed: offer `number` must end
  kGreeting,     // the connection stands; `number`: of the round (make_connections)
};

struct Head {
  HeadKind kind{};
  uint32_t from = 0;    // the process that has sent it
  uint64_t number = 0;  // of an offer, among those of its sender
  Envelope envelope;
};

inline constexpr size_t kMessageHeadBytes = 8 + kEnvelopeBytes;
inline constexpr size_t kMostHeadBytes = 16 + kEnvelopeBytes;

// Returns its length.
inline size_t encode(const Head& head, char* out) noexcept {
  size_t n = 8;
  const uint32_t kind = static_cast<uint8_t>(head.kind);
  std::memcpy(out, &kind, 4);
  std::memcpy(out + 4, &head.from, 4);
  if (head.kind != HeadKind::kMessage) {
    std::memcpy(out + n, &head.number, 8);
    n += 8;
  }
  if (head.kind > HeadKind::kEmptyOffer) return n;
  transport::encode(head.envelope, out + n);
  return n + kEnvelopeBytes;
}

// Returns its length; 0: it is no head of ours.
inline size_t decode(const void* in, size_t bytes, Head* head) noexcept {
  const char* at = static_cast<const char*>(in);
  if (bytes < 8) return 0;
  uint32_t kind;
  std::memcpy(&kind, at, 4);
  std::memcpy(&head->from, at + 4, 4);
  if (kind > static_cast<uint32_t>(HeadKind::kGreeting)) return 0;
  head->kind = static_cast<HeadKind>(kind);
  size_t n = 8;
  if (head->kind != HeadKind::kMessage) {
    if (bytes < 16) return 0;
    std::memcpy(&head->number, at + n, 8);
    n += 8;
  }
  if (head->kind > HeadKind::kEmptyOffer) return n;
  return transport::decode(at + n, bytes - n, &head->envelope) ? n + kEnvelopeBytes : 0;
}

}  // namespace mpc::transport::ucx

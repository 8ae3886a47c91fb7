#pragma once
// Envelope: the head of a message that crosses processes, and its form in bytes.
//
// Role:      everything that the other process learns about a message: numbers, never an address.
// Users:     runtime/message fills and reads it; a net carries it.
// Threads:   plain data.
// See also:  runtime/transport/net.h, docs/design/0019-virtual-processes.md.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mpc::transport {

enum class PacketKind : uint8_t {
  // In the order of `sequence`:
  kEager,      // the message
  kEagerSync,  // the same, from a sender that waits for kAck
  kOffer,  // a message that stays with its sender until the receiver fetches or refuses it
  kWithdraw,  // take message `id` back if no receive has matched it; answered by kWithdrawn
  kForget,  // the same when the sender has ended: no answer
  // In any order, at once:
  kAck,        // message `id` has met its receive
  kWithdrawn,  // the answer: `flag` says that it was taken back
  kCredit,     // nothing but `credit`
  // For the process, not for a rank; with an order of its own: message/control_end.h.
  kControl,
  kControlOffer,  // likewise, and it stays with its sender: `context` is the channel
};
inline constexpr PacketKind kLastKindInOrder = PacketKind::kForget;
inline constexpr uint8_t kLastPacketKind =
    static_cast<uint8_t>(PacketKind::kControlOffer);

struct Envelope {
  uint32_t dest_world = 0;  // the rank whose messages it is among, or that has sent it
  uint32_t context = 0;
  int32_t source = 0;  // the sender's rank in the communicator
  int32_t tag = 0;
  uint32_t sequence = 0;  // numbers the messages from this process to that one
  PacketKind kind{};
  bool flag = false;
  uint16_t lane = 0;   // several lanes are ordered independently; only 0 is in use
  uint64_t id = 0;     // of the message: the sender's process never uses it again
  uint64_t bytes = 0;  // length of the message
  // How much of its memory the rank `from_world` gives back to the process that receives this; see
  // runtime/message/credit.h.
  uint32_t credit = 0;
  uint32_t from_world = 0;  // the rank that has sent this, or whose answer it is
};

inline constexpr size_t kEnvelopeBytes = 48;

// Little-endian, without gaps.
inline void encode(const Envelope& e, char* out) noexcept {
  const auto put = [&out](auto value) {
    std::memcpy(out, &value, sizeof value);
    out += sizeof value;
  };
  put(e.dest_world), put(e.context), put(e.source), put(e.tag), put(e.sequence);
  put(static_cast<uint8_t>(e.kind)), put(static_cast<uint8_t>(e.flag)), put(e.lane);
  put(e.id), put(e.bytes), put(e.credit), put(e.from_world);
}

// False: it is no envelope of ours.
inline bool decode(const char* in, size_t bytes, Envelope* e) noexcept {
  if (bytes < kEnvelopeBytes) return false;
  const auto get = [&in](auto& value) {
    std::memcpy(&value, in, sizeof value);
    in += sizeof value;
  };
  uint8_t kind, flag;
  get(e->dest_world), get(e->context), get(e->source), get(e->tag), get(e->sequence);
  get(kind), get(flag), get(e->lane), get(e->id), get(e->bytes);
  get(e->credit), get(e->from_world);
  e->kind = static_cast<PacketKind>(kind);
  e->flag = flag != 0;
  return kind <= kLastPacketKind && flag <= 1;
}

}  // namespace mpc::transport

#pragma once
// Packet: a message between processes about the windows that they share.
//
// Role:      the head of a message on ControlChannel::kWindow; what follows it depends on the verb.
// Users:     runtime/rma.
// Threads:   plain data.
// See also:  runtime/message/control.h; docs/design/0031-windows-between-processes.md, "Messages".

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "runtime/rma/target.h"
#include "runtime/rma/target_lock.h"

namespace mpc::rma {

enum class Verb : uint8_t {
  // From an origin to a target:                                          answered by
  kPut,         // packed data: bytes [offset, offset + n) of all      -
  kGet,         // the same bytes are wanted                           kData
  kAccumulate,  // elements from number `offset` on, in their extents  -
  kFetch,       // the same; none for MPI_NO_OP                        kData
  // Long ones: the data follow as an offer, with the ticket as its number (runtime/rma/transfers.cpp).
  kLongPut,         // packed data: all `bytes`                            kAnswer
  kLongGet,         // likewise                                            the offer
  kCompareAndSwap,  // the element to write, then the expected one         kData
  kFlush,           // has everything sent before been done?               kAnswer
  kLock,            //                                                     kAnswer
  kUnlock,          //                                                     -
  kPost,            // of the member `origin`, to the member `target`      -
  kComplete,        //                                                     -
  kType,            // dt::to_bytes(): what the number `type` stands for   -
  kDropType,        //                                                     -
  // Back:
  kData,    // of the operation `ticket`; `fit` says whether there are any
  kAnswer,  // the operation `ticket` is over
  kFailed,  // of a kPut, a long one, or a kAccumulate, to the member `origin`
  kRoom,    // `bytes` of what has come from there have been worked off
};

// Operations that can come as fast as an origin likes, and are bounded by room.
inline bool takes_room(Verb verb) noexcept {
  return verb <= Verb::kCompareAndSwap || verb == Verb::kType;
}

inline bool is_transfer(Verb verb) noexcept {
  return verb == Verb::kLongPut || verb == Verb::kLongGet;
}

// The data behind it begin 16 bytes aligned if the head does.
struct alignas(16) Packet {
  uint64_t window = 0;
  uint64_t ticket = 0;
  int64_t disp = 0;
  int64_t count = 0;               // of `type`
  uint64_t type = 0;               // an ABI code, or a number of the origin's process
  uint64_t offset = 0;             // of the whole operation, where this part begins
  uint64_t bytes = 0;              // of data that are wanted, or that follow; kRoom
  uint32_t op = 0, element = 0;    // ABI codes
  int32_t target = 0, origin = 0;  // members of the window
  Verb verb{};
  LockType lock{};
  Fit fit = Fit::kFits;
  uint8_t unused[5] = {};
};
static_assert(sizeof(Packet) == 80);

inline constexpr uint64_t kFirstTypeNumber = uint64_t{1} << 32;  // ABI codes are less

// False: the message is no packet.
inline bool decode(std::span<const std::byte> message, Packet* packet,
                   std::span<const std::byte>* data) noexcept {
  if (message.size() < sizeof *packet) return false;
  std::memcpy(static_cast<void*>(packet), message.data(), sizeof *packet);
  *data = message.subspan(sizeof *packet);
  return packet->verb <= Verb::kRoom;
}

}  // namespace mpc::rma

#pragma once
// Parcel: a message of another process that has met no receive yet.
//
// Role:      a Block of the receiver's own pool, whose kind is kParcel: a head that says where it
//            is from, then the data, or none if they stay with the sender until they are fetched.
// Users:     runtime/message.
// Threads:   as every Entry.
// See also:  runtime/message/endpoint.h.

#include <cstring>

#include "runtime/message/eager_pool.h"
#include "runtime/transport/net.h"

namespace mpc::msg {

struct ParcelHead {
  transport::Bulk bulk;  // 0: the data are here
  uint64_t id;           // of the message, in the process it is from
  int32_t from;
  bool is_awaited;  // its sender waits until it is matched
  // Somebody is told what becomes of it.
  bool expects_answer() const noexcept { return is_awaited || bulk != 0; }
};
inline constexpr size_t kParcelHeadBytes = 32;
static_assert(sizeof(ParcelHead) <= kParcelHeadBytes);
inline constexpr size_t kMostParcelData = EagerPool::kMaxBytes - kParcelHeadBytes;

inline ParcelHead& head_of(Block& parcel) noexcept {
  return *reinterpret_cast<ParcelHead*>(parcel.data());
}
inline char* data_of(Block& parcel) noexcept {
  return parcel.data() + kParcelHeadBytes;
}

inline Block* make_parcel(EagerPool& pool, const transport::Envelope& envelope,
                          const ParcelHead& head, const void* data, size_t bytes) {
  Block* parcel = pool.take(kParcelHeadBytes + bytes);
  parcel->key = {envelope.context, envelope.source, envelope.tag};
  parcel->kind = Entry::kParcel;
  parcel->bytes = static_cast<int64_t>(envelope.bytes);
  parcel->ticket = 0;
  head_of(*parcel) = head;
  if (bytes != 0) std::memcpy(data_of(*parcel), data, bytes);
  return parcel;
}

}  // namespace mpc::msg

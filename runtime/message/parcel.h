#pragma once
// Parcel: a message of another process that has met no receive yet.
//
// Role:      a Block of the receiver's own pool, whose kind is kParcel. Its
//            head says where it comes from; it holds the data, or none if
//            they stay with the sender until they are fetched.
// Users:     runtime/message.
// Threads:   as every Entry.
// See also:  runtime/message/endpoint.h.

#include <cstring>

#include "runtime/message/eager_pool.h"
#include "runtime/transport/net.h"

namespace mpc::msg {

inline Block* make_parcel(EagerPool& pool, const transport::Envelope& envelope,
                          const ParcelHead& head, const void* data, size_t bytes) {
  Block* parcel = pool.take(bytes);
  parcel->key = {envelope.context, envelope.source, envelope.tag};
  parcel->kind = Entry::kParcel;
  parcel->bytes = static_cast<int64_t>(envelope.bytes);
  parcel->ticket = 0;
  parcel->head = head;
  if (bytes != 0) std::memcpy(parcel->data(), data, bytes);
  return parcel;
}

}  // namespace mpc::msg

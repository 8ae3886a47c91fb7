#pragma once
// Copies inside the process: the whole data path of this transport.
//
// Role:      moves a message's bytes from the sender's buffer to the receiver's. The one place
//            to change this; at present it is the C library's memcpy for every length.
// Users:     runtime/message.
// Threads:   any; each call is independent.
// See also:  bench/micro/message.cpp (memcpy floor), docs/messages.md.

#include <cstddef>

#include "runtime/datatype/datatype.h"

namespace mpc::transport {

// Copies n bytes that do not overlap. Cost: one memcpy.
void copy_bytes(void* dst, const void* src, size_t n) noexcept;

// Copies from layout to layout; returns the bytes copied, the smaller of both sides.
// Buffers may be null for types with absolute addresses, or if there are no bytes.
size_t copy_layout(void* dst, const dt::Datatype& dst_type, dt::Count dst_count,
                   const void* src, const dt::Datatype& src_type,
                   dt::Count src_count) noexcept;

}  // namespace mpc::transport

#pragma once
// Blocks: packs and unpacks the blocks of direct exchanges.
//
// Role:      copies between a block of a user's buffer and packed bytes.
// Users:     nbc/direct.
// Threads:   pure.
// See also:  nbc/direct/call.h (Block).

#include <cstring>

#include "nbc/direct/call.h"

namespace mpc::nbc::direct {

// Blocks are often a number or two: a call of memcpy costs more than the copy.
inline void copy_bytes(void* to, const void* from, size_t bytes) noexcept {
  if (bytes == 8) {
    std::memcpy(to, from, 8);
  } else if (bytes == 4) {
    std::memcpy(to, from, 4);
  } else if (bytes != 0 && to != from) {  // equal: MPI_IN_PLACE
    std::memcpy(to, from, bytes);
  }
}

inline Block bytes_at(const unsigned char* data, size_t bytes) noexcept {
  return {const_cast<unsigned char*>(data), static_cast<Count>(bytes),
          dt::predefined(dt::abi::kByte)};
}

// Block `i` of a series of equal blocks that begins with `first`. The base may be null
// (MPI_BOTTOM).
inline Block block_at(const Block& first, int i) noexcept {
  const Count step = first.count * first.type->extent() * i;
  return {reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(first.data) +
                                  static_cast<uintptr_t>(step)),
          first.count, first.type};
}

inline void pack(const Block& from, unsigned char* to) {
  const size_t bytes = from.bytes();
  if (from.type->is_contiguous()) {
    copy_bytes(to, from.data, bytes);
  } else {
    const Block packed = bytes_at(to, bytes);
    dt::copy(packed.data, *packed.type, packed.count, from.data, *from.type,
             from.count);
  }
}

// The block has room for `bytes` or more.
inline void unpack(const unsigned char* from, size_t bytes, const Block& to) {
  if (to.type->is_contiguous()) {
    copy_bytes(to.data, from, bytes);
  } else if (bytes != 0) {
    const Block packed = bytes_at(from, bytes);
    dt::copy(to.data, *to.type, to.count, packed.data, *packed.type, packed.count);
  }
}

}  // namespace mpc::nbc::direct

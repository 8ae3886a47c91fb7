#pragma once
// Packing: copies a small message's data between layouts and a contiguous piece of memory.
//
// Role:      for eager messages; large ones are copied from layout to layout.
// Users:     runtime/message.
// Threads:   none of its own.
// See also:  runtime/transport/memory/copy.h.

#include "runtime/message/eager_pool.h"
#include "runtime/message/small_copy.h"
#include "runtime/transport/memory/copy.h"

namespace mpc::msg {

// Longer copies use memcpy. Chosen (a few cache lines), not tuned.
inline constexpr size_t kSmallCopyBytes = 256;

inline void copy_packed(void* dst, const void* src, size_t bytes) noexcept {
  if (bytes <= kSmallCopyBytes) {
    small_copy(dst, src, bytes);
  } else {
    transport::copy_bytes(dst, src, bytes);
  }
}

// Packs all of `count` elements; `out` has room for them.
inline void pack_all(void* out, const void* src, Count count, const dt::Datatype& type,
                     size_t bytes) noexcept {
  if (type.is_contiguous()) {
    copy_packed(out, src, bytes);
  } else {
    dt::pack(src, type, count, 0, out, bytes);
  }
}

// An eager message from `pool` with the data in it.
inline Block* make_block(EagerPool& pool, const Key& key, const void* src, Count count,
                         const dt::Datatype& type) {
  const auto bytes = static_cast<size_t>(type.size() * count);
  Block* block = pool.take(bytes);
  block->key = key;
  block->kind = Entry::kBlock;
  block->bytes = static_cast<int64_t>(bytes);
  pack_all(block->data(), src, count, type, bytes);
  return block;
}

}  // namespace mpc::msg

#include "runtime/transport/memory/copy.h"

#include <algorithm>
#include <cstring>

namespace mpc::transport {

void copy_bytes(void* dst, const void* src, size_t n) noexcept {
  std::memcpy(dst, src, n);
}

size_t copy_layout(void* dst, const dt::Datatype& dst_type, dt::Count dst_count,
                   const void* src, const dt::Datatype& src_type,
                   dt::Count src_count) noexcept {
  if (dst_type.is_contiguous() && src_type.is_contiguous()) {
    const auto n = static_cast<size_t>(
        std::min(dst_type.size() * dst_count, src_type.size() * src_count));
    if (n != 0) copy_bytes(dst, src, n);
    return n;
  }
  return dt::copy(dst, dst_type, dst_count, src, src_type, src_count);
}

}  // namespace mpc::transport

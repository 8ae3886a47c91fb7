#include "runtime/transport/memory/copy.h"

#include <cpuid.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace mpc::transport {
namespace {

// The C library (glibc 2.36) moves strings by one instruction up to the size of the level 2 cache, and more by a loop. On
// these processors the loop takes 17.5 us for 1 MiB where the instruction takes 14.7, or 16.3
// if the target is not aligned to a line; from 4 MiB on both wait for memory
// (Zen 5, level 2 of 1 MiB; docs/design/0015-shared-copies.md). Others were not measured.
constexpr size_t kPiece = 256 << 10;
constexpr size_t kLeastInPieces = 512 << 10;
constexpr size_t kMostInPieces = 2 << 20;
constexpr size_t kLine = 64;

bool pieces_are_faster() noexcept {
  unsigned leaf = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &leaf, &b, &c, &d) == 0 || b != signature_AMD_ebx) return false;
  if (__get_cpuid(1, &leaf, &b, &c, &d) == 0) return false;
  const unsigned family = ((leaf >> 8) & 0xf) + ((leaf >> 20) & 0xff);
  return family == 0x1a;
}
const bool kInPieces = pieces_are_faster();

// As if by one memcpy(). Pieces begin at lines of the target.
void copy_in_pieces(char* dst, const char* src, size_t n) noexcept {
  size_t piece = kPiece - reinterpret_cast<uintptr_t>(dst) % kLine;
  for (; n > piece; piece = kPiece) {
    std::memcpy(dst, src, piece);
    dst += piece;
    src += piece;
    n -= piece;
  }
  std::memcpy(dst, src, n);
}

}  // namespace

void copy_bytes(void* dst, const void* src, size_t n) noexcept {
  if (n >= kLeastInPieces && n <= kMostInPieces && kInPieces) [[unlikely]]
    return copy_in_pieces(static_cast<char*>(dst), static_cast<const char*>(src), n);
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

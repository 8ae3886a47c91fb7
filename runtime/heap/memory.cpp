#include "runtime/heap/memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdint>

#include "base/futex.h"

namespace mpc::heap {
namespace {

long number(const void* pointer) noexcept { return reinterpret_cast<long>(pointer); }
long number(size_t value) noexcept { return static_cast<long>(value); }

// The kernel's answer as an address, null for an error.
char* address(long result) noexcept {
  constexpr long kGreatestErrno = 4095;
  if (result < 0 && result >= -kGreatestErrno) return nullptr;
  return reinterpret_cast<char*>(result);  // NOLINT(performance-no-int-to-ptr)
}

char* map_anywhere(size_t bytes, int protection, int flags) noexcept {
  return address(raw_syscall(SYS_mmap, 0, number(bytes), protection,
                             MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0));
}

char* map_aligned(size_t bytes, size_t alignment, int protection, int flags) noexcept {
  char* begin = map_anywhere(bytes, protection, flags);
  if (begin == nullptr) return nullptr;
  if (reinterpret_cast<uintptr_t>(begin) % alignment == 0) return begin;
  unmap(begin, bytes);
  const size_t room = bytes + alignment - kPageBytes;
  if (room < bytes) return nullptr;
  begin = map_anywhere(room, protection, flags);
  if (begin == nullptr) return nullptr;
  const auto at = reinterpret_cast<uintptr_t>(begin);
  const size_t before = round_up(at, alignment) - at;
  if (before > 0) unmap(begin, before);
  if (room - before > bytes) unmap(begin + before + bytes, room - before - bytes);
  return begin + before;
}

}  // namespace

char* map(size_t bytes, size_t alignment, Commit commit) noexcept {
  return map_aligned(bytes, alignment, PROT_READ | PROT_WRITE,
                     commit == Commit::kUncounted ? MAP_NORESERVE : 0);
}

void unmap(char* begin, size_t bytes) noexcept {
  raw_syscall(SYS_munmap, number(begin), number(bytes));
}

char* remap(char* begin, size_t old_bytes, size_t new_bytes) noexcept {
  if (char* same = address(raw_syscall(SYS_mremap, number(begin), number(old_bytes),
                                       number(new_bytes), 0)))
    return same;
  char* target = map_aligned(new_bytes, kSlotBytes, PROT_NONE, MAP_NORESERVE);
  if (target == nullptr) return nullptr;
  char* moved = address(raw_syscall(SYS_mremap, number(begin), number(old_bytes),
                                    number(new_bytes), MREMAP_MAYMOVE | MREMAP_FIXED,
                                    number(target)));
  if (moved == nullptr) unmap(target, new_bytes);
  return moved;
}

void allow_huge_pages(char* begin, size_t bytes) noexcept {
  raw_syscall(SYS_madvise, number(begin), number(bytes), MADV_HUGEPAGE);
}

void refuse_huge_pages(char* begin, size_t bytes) noexcept {
  raw_syscall(SYS_madvise, number(begin), number(bytes), MADV_NOHUGEPAGE);
}

bool forget(char* begin, size_t bytes, size_t unit) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t first = round_up(at, unit);
  const uintptr_t end = (at + bytes) / unit * unit;
  return first >= end ||
         raw_syscall(SYS_madvise, static_cast<long>(first),
                     static_cast<long>(end - first), MADV_DONTNEED) == 0;
}

size_t resident_bytes(char* begin, size_t bytes) noexcept {
  constexpr size_t kPages = 512;
  unsigned char is_resident[kPages];  // bit 0; a page each
  size_t pages = 0;
  for (size_t at = 0; at < bytes; at += kPages * kPageBytes) {
    const size_t part = std::min(bytes - at, kPages * kPageBytes);
    if (raw_syscall(SYS_mincore, number(begin + at), number(part),
                    number(is_resident)) != 0)
      return 0;
    for (size_t i = 0; i < part / kPageBytes; ++i) pages += is_resident[i] & 1u;
  }
  return pages * kPageBytes;
}

void prefer_node(char* begin, size_t bytes, int node) noexcept {
  constexpr int kMaskBits = 1024;
  constexpr int kPreferred = 1;  // MPOL_PREFERRED
  if (node < 0 || node >= kMaskBits) return;
  unsigned long mask[kMaskBits / 64] = {};
  mask[node / 64] = 1ul << (node % 64);
  raw_syscall(SYS_mbind, number(begin), number(bytes), kPreferred, number(mask),
              kMaskBits, 0);
}

}  // namespace mpc::heap

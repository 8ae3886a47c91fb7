#pragma once
// Memory: address space and pages from the kernel, in slots of one huge page.
//
// Role:      maps, unmaps and advises; the only place of the heaps that makes system calls.
//            None of these functions touches errno, because free() must not.
// Users:     runtime/heap.
// Threads:   any.
// See also:  mmap(2), madvise(2), mbind(2); docs/design/0017-heaps.md.

#include <cstddef>

namespace mpc::heap {

constexpr size_t kPageBytes = 4096;
constexpr size_t kSlotBytes = size_t{2} << 20;  // a huge page of x86-64

constexpr size_t round_up(size_t value, size_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

enum class Commit {
  // Refused if the system would not have so much memory: for a program's requests.
  kCounted,
  kUncounted,  // only address space at first: for what a heap takes in advance
};

// Maps zeroed, readable and writable memory at a multiple of `alignment` (a power of two, a
// page or more). Null if the kernel refuses.
char* map(size_t bytes, size_t alignment, Commit commit) noexcept;
void unmap(char* begin, size_t bytes) noexcept;

// Changes the length of a mapping, in place or at another multiple of kSlotBytes; its content
// stays. Null if that is not possible: nothing has changed then.
char* remap(char* begin, size_t old_bytes, size_t new_bytes) noexcept;

// Pages of this range may be huge ones, or must not be: the first touch of a huge page takes
// all of its memory.
void allow_huge_pages(char* begin, size_t bytes) noexcept;
void refuse_huge_pages(char* begin, size_t bytes) noexcept;

// Releases the memory of the whole pages (of `unit` bytes) in the range; they read as zero. False: the
// kernel refuses, as it does for memory that is locked.
bool forget(char* begin, size_t bytes, size_t unit) noexcept;

// How much of the range the kernel has given memory for. Cost: about 3 us for 1 MiB.
size_t resident_bytes(char* begin, size_t bytes) noexcept;

// Pages come from this node as long as it has some; a negative node has no effect.
void prefer_node(char* begin, size_t bytes, int node) noexcept;

}  // namespace mpc::heap

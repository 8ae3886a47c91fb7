#include "runtime/heap/heap.h"

#include <algorithm>
#include <new>

#include "runtime/heap/first_chunk.h"
#include "runtime/heap/large.h"
#include "runtime/heap/owner.h"

namespace mpc::heap {
namespace {

// A class's first span is small, for ranks that allocate little; each further one is twice as
// long, up to 64 KiB.
constexpr int kSpanGrowth = 6;
constexpr size_t kMaxSpanGranules = 64;
constexpr size_t kFirstSpanBlocks = 3;
// So much memory is put onto the free list at a time, so that a span's pages are touched
// only when they are needed.
constexpr size_t kExtendBytes = 1024;
// Blocks of at least so many bytes may be touched in small parts only: see Heap::add_chunk(). Here glibc begins to ask
// the kernel for fresh pages.
constexpr size_t kArrayBytes = 128 << 10;
// Smaller amounts are not worth a system call.
constexpr size_t kTrimBytes = 256 << 10;

// A block that is allocated here may have been a small block that was freed at the same address.
void* unmarked(char* pointer) noexcept {
  reinterpret_cast<Block*>(pointer)->clear_mark();
  return pointer;
}

size_t first_span_granules(size_t block_bytes) noexcept {
  const size_t blocks =
      std::max<size_t>(kFirstSpanBlocks, kGranuleBytes / block_bytes / 2);
  return round_up(sizeof(Span) + blocks * block_bytes, kGranuleBytes) / kGranuleBytes;
}

}  // namespace

constinit Span Heap::no_span_ = {};

Heap::Heap(Owner& owner) noexcept : owner_(&owner) {
  std::fill_n(spans_, kClassCount, &no_span_);
}

Heap* Heap::make(Owner& owner) noexcept {
  Chunk* chunk = nullptr;
  if (char* memory = take_first_chunk()) {
    prefer_node(memory, kFirstChunkBytes, owner.node());
    chunk = Chunk::make_at(memory, nullptr, kFirstChunkBytes, sizeof(Heap));
  }
  if (chunk == nullptr) return nullptr;
  Heap* heap = ::new (chunk->reserved()) Heap(owner);
  chunk->heap = heap;
  heap->chunks_ = chunk;
  heap->mapped_bytes_.store(kFirstChunkBytes, std::memory_order_relaxed);
  heap->list_run(chunk->only_run());
  return heap;
}

// ---- small blocks ----

void* Heap::allocate_slowly(int size_class) noexcept {
  Span* span = span_with_room(size_class);
  if (span == nullptr) return nullptr;
  Block* block = span->free;
  span->free = block->next;
  ++span->used;
  block->clear_mark();
  return block;
}

Span* Heap::span_with_room(int size_class) noexcept {
  collect_remote();
  while (spans_[size_class] != &no_span_) {
    Span* span = spans_[size_class];
    if (span->free != nullptr || extend(*span)) return span;
    unlist_span(*span);  // until one of its blocks is freed
  }
  return add_span(size_class);
}

Span* Heap::add_span(int size_class) noexcept {
  const size_t block_bytes = bytes_of_class(size_class);
  const size_t least = first_span_granules(block_bytes);
  const size_t wanted = std::clamp(least << span_count_[size_class], least,
                                   std::max(least, kMaxSpanGranules));
  Span* span = take_run(wanted, false);
  if (span == nullptr) span = take_run(least, false);
  if (span == nullptr) return nullptr;
  if (span_count_[size_class] < kSpanGrowth) ++span_count_[size_class];
  span->unused = span->blocks();
  span->block_bytes = static_cast<uint32_t>(block_bytes);
  span->capacity = static_cast<uint32_t>(
      (span->granules * kGranuleBytes - sizeof(Span)) / block_bytes);
  span->size_class = static_cast<uint8_t>(size_class);
  list_span(*span);
  extend(*span);
  return span;
}

// Puts blocks that were never used onto the free list. False: there are none.
bool Heap::extend(Span& span) noexcept {
  const auto given = static_cast<uint32_t>(
      static_cast<size_t>(span.unused - span.blocks()) / span.block_bytes);
  const uint32_t left = span.capacity - given;
  if (left == 0) return false;
  const auto count = std::min(left, static_cast<uint32_t>(std::max<size_t>(
                                        1, kExtendBytes / span.block_bytes)));
  char* begin = span.unused;
  span.unused += size_t{count} * span.block_bytes;
  for (char* at = span.unused; at > begin;) {
    at -= span.block_bytes;
    auto* block = reinterpret_cast<Block*>(at);
    block->next = span.free;
    span.free = block;
  }
  return true;
}

void Heap::list_span(Span& span) noexcept {
  // After the first one, which blocks are allocated from.
  Span** link = &spans_[span.size_class];
  if (*link != &no_span_) link = &(*link)->next;
  span.next = *link;
  span.link = link;
  if (span.next != &no_span_) span.next->link = &span.next;
  *link = &span;
  span.is_plain = !span.has_inner;
}

void Heap::unlist_span(Span& span) noexcept {
  *span.link = span.next;
  if (span.next != &no_span_) span.next->link = span.link;
  span.link = nullptr;
  span.is_plain = false;
}

// ---- medium blocks, and small ones with an alignment ----

void* Heap::allocate_medium(size_t bytes, size_t alignment, bool* is_zero) noexcept {
  collect_remote();
  const size_t slack = alignment > kAlignment ? alignment : 0;
  const size_t granules =
      round_up(sizeof(Span) + bytes + slack, kGranuleBytes) / kGranuleBytes;
  Span* span = take_run(granules, bytes >= kArrayBytes);
  if (span == nullptr) return nullptr;
  *is_zero = span->is_clean;
  span->is_medium = true;
  span->used = 1;
  span->block_bytes = static_cast<uint32_t>(granules * kGranuleBytes - sizeof(Span));
  const auto begin = reinterpret_cast<uintptr_t>(span->blocks());
  return unmarked(span->blocks() + (round_up(begin, alignment) - begin));
}

void* Heap::allocate_aligned(size_t bytes, size_t alignment) noexcept {
  const size_t room = bytes + alignment - kAlignment;
  bool is_zero;
  if (room > kSmallBytes) return allocate_medium(bytes, alignment, &is_zero);
  auto* block = static_cast<char*>(allocate(room));
  if (block == nullptr) return nullptr;
  const auto at = reinterpret_cast<uintptr_t>(block);
  char* inner = block + (round_up(at, alignment) - at);
  if (inner != block) {
    auto* span = reinterpret_cast<Span*>(
        static_cast<Chunk*>(AddressMap::find(block))->run_of(block));
    span->has_inner = true;
    span->is_plain = false;
  }
  return unmarked(inner);
}

// ---- freeing ----

void Heap::free_with_care(Chunk& chunk, Span* in_use, char* pointer) noexcept {
  auto* block = reinterpret_cast<Block*>(pointer);
  if (in_use == nullptr || in_use->used == 0 || block->is_misaligned())
    die_of_bad_free(block);
  Span& span = *in_use;
  if (span.is_medium) {
    free_span(chunk, span);
    return;
  }
  block = reinterpret_cast<Block*>(span.block_of(pointer));
  if (block->is_marked()) die_of_bad_free(block);
  block->next = span.free;
  block->set_mark();
  span.free = block;
  if (span.link == nullptr) list_span(span);
  // The first span of a class is retained, so that a program that allocates and frees one block
  // does not create and destroy spans.
  if (--span.used == 0 && spans_[span.size_class] != &span) {
    unlist_span(span);
    free_span(chunk, span);
  }
}

void Heap::die_of_bad_free(const Block* block) noexcept {
  die(block->is_misaligned() ? "free(): not the beginning of an allocation"
                             : "free(): the memory is free already",
      block);
}

void Heap::free_span(Chunk& chunk, Span& span) noexcept {
  const uint32_t granules = span.granules;
  span.used = 0;
  used_bytes_.store(
      used_bytes_.load(std::memory_order_relaxed) - granules * kGranuleBytes,
      std::memory_order_relaxed);
  dirty_bytes_ += granules * kGranuleBytes;
  FreeRun* run = chunk.join(reinterpret_cast<char*>(&span), granules,
                            [this](FreeRun* neighbour) { unlist_run(neighbour); });
  list_run(run);
  if (dirty_bytes_ <= kKeptBytes) return;
  if (chunk.is_empty()) {
    drop_chunk(chunk);
  } else {
    forget_free_runs();
  }
}

void Heap::collect_remote() noexcept {
  if (remote_.is_empty()) [[likely]]
    return;
  Block* block = remote_.take_newest_first();
  while (block != nullptr) {
    Block* next = block->next;
    block->clear_mark();
    free_own(*static_cast<Chunk*>(AddressMap::find(block)), block);
    block = next;
  }
}

// ---- large blocks ----

Large* Heap::take_kept(size_t bytes) noexcept {
  Large** best = nullptr;
  for (Large*& large : kept_) {
    if (large == nullptr || large->usable_bytes() < bytes) continue;
    if (large->usable_bytes() > bytes + bytes / 4) continue;  // waste
    if (best == nullptr || large->usable_bytes() < (*best)->usable_bytes())
      best = &large;
  }
  if (best == nullptr) return nullptr;
  Large* large = *best;
  *best = nullptr;
  kept_bytes_ -= large->usable_bytes();
  return large;
}

bool Heap::keep(Large* large) noexcept {
  if (kept_bytes_ + large->usable_bytes() > kKeptBytes) return false;
  for (Large*& place : kept_) {
    if (place != nullptr) continue;
    place = large;
    kept_bytes_ += large->usable_bytes();
    return true;
  }
  return false;
}

void Heap::drop_kept() noexcept {
  for (Large*& large : kept_) {
    if (large != nullptr) large->destroy();
    large = nullptr;
  }
  kept_bytes_ = 0;
}

// ---- the whole heap ----

void Heap::trim() noexcept {
  collect_remote();
  drop_kept();
  for (Span*& first : spans_) {
    Span* span = first;
    if (span == &no_span_ || span->used > 0) continue;
    unlist_span(*span);
    free_span(*static_cast<Chunk*>(AddressMap::find(span)), *span);
  }
  for (Chunk* chunk = chunks_; chunk != nullptr;) {
    Chunk* next = chunk->next;
    if (chunk->is_empty()) drop_chunk(*chunk);
    chunk = next;
  }
  if (dirty_bytes_ > kTrimBytes) forget_free_runs();
}

Usage Heap::usage() const noexcept {
  return {mapped_bytes_.load(std::memory_order_relaxed),
          used_bytes_.load(std::memory_order_relaxed)};
}

}  // namespace mpc::heap

#pragma once
// Heap: the memory that one thread at a time allocates from.
//
// Role:      small blocks (spans of one size class), medium ones (a run each) and large ones (a
//            mapping each). A block always belongs to its heap, whichever thread frees it, and a
//            heap belongs to one owner (a rank) forever: memory of different ranks never mixes.
// Users:     runtime/heap/malloc.cpp, runtime/heap/thread_heap.cpp.
// Threads:   allocate(), free_own() and those that say so: the thread that has the heap;
//            free_remote(): any other. No function waits for another thread.
// See also:  docs/design/0017-heaps.md.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/mpsc_stack.h"
#include "runtime/heap/chunk.h"
#include "runtime/heap/size_class.h"

namespace mpc::heap {

struct Owner;
struct Large;

constexpr size_t kMediumBytes = size_t{4}
                                << 20;  // larger blocks have a mapping of their own

// A free block. Its mark depends on its address, so that no copy of freed memory has it by accident;
// an allocated block has none.
struct Block {
  Block* next;
  uintptr_t mark;

  bool is_marked() const noexcept { return mark == mark_here(); }
  // True for a pointer that no allocation has returned.
  bool is_misaligned() const noexcept {
    return reinterpret_cast<uintptr_t>(this) % kAlignment != 0;
  }
  void set_mark() noexcept { mark = mark_here(); }
  void clear_mark() noexcept { mark = 0; }

 private:
  uintptr_t mark_here() const noexcept {
    return reinterpret_cast<uintptr_t>(this) ^ uintptr_t { 0x9E3779B97F4A7C15 };
  }
};
static_assert(sizeof(Block) <= kAlignment);

// At the beginning of a run in use.
struct alignas(64) Span {
  Block* free;   // freed blocks
  char* unused;  // after the last block that was ever allocated
  Span* next;    // spans of this class with room
  Span** link;   // the pointer that points here; null: not in that list
  uint32_t granules;
  uint32_t block_bytes;  // of a medium block: all of the run after this struct
  uint32_t used;         // allocated blocks
  uint32_t capacity;     // blocks that there is room for
  bool
      is_plain;  // freeing a block is only a push: small, in its list, no inner pointers
  bool is_medium;
  bool has_inner;  // pointers other than the beginning of a block were returned
  bool is_clean;   // all behind this struct was zero when the run was taken
  uint8_t size_class;

  char* blocks() noexcept { return reinterpret_cast<char*>(this + 1); }
  // The beginning of the block that contains this address.
  char* block_of(char* address) noexcept {
    if (!has_inner) return address;
    const auto offset = static_cast<size_t>(address - blocks());
    return blocks() + offset / block_bytes * block_bytes;
  }
};
static_assert(sizeof(Span) == 64);

struct Usage {
  size_t mapped_bytes;  // chunks
  size_t used_bytes;    // runs in use
};

class Heap {
 public:
  // Creates a heap in a chunk of its own. Null: no memory.
  static Heap* make(Owner& owner) noexcept;

  Owner& owner() const noexcept { return *owner_; }

  // Up to kMediumBytes. Null: no memory.
  void* allocate(size_t bytes) noexcept {
    bool is_zero;
    if (bytes > kSmallBytes) [[unlikely]]
      return allocate_medium(bytes, kAlignment, &is_zero);
    const int c = class_of(bytes);
    Span* span = spans_[c];
    Block* block = span->free;
    if (block == nullptr) [[unlikely]]
      return allocate_slowly(c);
    span->free = block->next;
    ++span->used;
    block->clear_mark();
    return block;
  }
  // More than kSmallBytes. `is_zero`: the memory is fresh.
  void* allocate_medium(size_t bytes, size_t alignment, bool* is_zero) noexcept;
  // At a multiple of `alignment`, a power of two above kAlignment.
  void* allocate_aligned(size_t bytes, size_t alignment) noexcept;
  void free_own(Chunk& chunk, void* pointer) noexcept {
    auto* span = reinterpret_cast<Span*>(chunk.run_of(pointer));
    auto* block = static_cast<Block*>(pointer);
    if (span == nullptr || !span->is_plain || span->used <= 1 ||
        block->is_misaligned() || block->is_marked()) [[unlikely]] {
      free_with_care(chunk, span, static_cast<char*>(pointer));
      return;
    }
    block->next = span->free;
    block->set_mark();
    span->free = block;
    --span->used;
  }
  // Caller: a thread that has another heap, or none.
  void free_remote(void* pointer) noexcept {
    auto* block = static_cast<Block*>(pointer);
    if (block->is_misaligned() || block->is_marked()) [[unlikely]]
      die_of_bad_free(block);
    block->set_mark();  // until collect_remote()
    remote_.push(*block);
  }

  // A retained large block of at least so many bytes, for reuse, or null.
  Large* take_kept(size_t bytes) noexcept;
  // False: enough is retained already.
  bool keep(Large* large) noexcept;

  // Releases free memory. Caller: the thread that has the heap, or leaves it.
  void trim() noexcept;
  // Caller: any; a snapshot.
  Usage usage() const noexcept;

  // For runtime/heap/thread_heap.cpp.
  std::atomic<Heap*> next_idle{
      nullptr};  // a pop that is overtaken reads it, too: relaxed
  Heap* next_of_owner = nullptr;

 private:
  explicit Heap(Owner& owner) noexcept;

  void* allocate_slowly(int size_class) noexcept;
  Span* span_with_room(int size_class) noexcept;
  Span* add_span(int size_class) noexcept;
  bool extend(Span& span) noexcept;
  void free_with_care(Chunk& chunk, Span* span, char* pointer) noexcept;
  void free_span(Chunk& chunk, Span& span) noexcept;
  [[noreturn, gnu::cold]] static void die_of_bad_free(const Block* block) noexcept;
  void collect_remote() noexcept;

  Span* take_run(size_t granules, bool is_array) noexcept;
  bool add_chunk(size_t granules, bool is_array) noexcept;
  bool is_last_chunk_used() const noexcept;
  void list_run(FreeRun* run) noexcept;
  void unlist_run(FreeRun* run) noexcept;
  FreeRun* find_run(uint32_t granules) noexcept;
  void drop_chunk(Chunk& chunk) noexcept;
  void forget_free_runs() noexcept;
  void drop_kept() noexcept;

  void list_span(Span& span) noexcept;
  void unlist_span(Span& span) noexcept;

  static constexpr int kBins = 16;  // free runs by the logarithm of their length
  static constexpr int kKeptCount = 8;
  // How much freed memory a heap retains; glibc also retains up to 64 MiB once blocks are large.
  static constexpr size_t kKeptBytes = size_t{64} << 20;

  static constinit Span no_span_;  // never has room

  // Spans with room; blocks are allocated from the first one.
  Span* spans_[kClassCount];
  FreeRun* bins_[kBins] = {};
  uint32_t filled_bins_ = 0;              // bit b: bins_[b] is not empty
  uint8_t span_count_[kClassCount] = {};  // spans ever created, up to kSpanGrowth
  Large* kept_[kKeptCount] = {};
  size_t kept_bytes_ = 0;
  size_t dirty_bytes_ = 0;  // in free runs, about
  Chunk* chunks_ = nullptr;
  Owner* owner_;
  std::atomic<size_t> mapped_bytes_{0};  // written by the heap's thread only
  std::atomic<size_t> used_bytes_{0};
  // Blocks that other threads have freed. On a line of its own.
  alignas(64) MpscStack<Block, &Block::next> remote_;
};

// Prints on standard error what is wrong with a pointer, and aborts.
[[noreturn, gnu::cold]] void die(const char* what, const void* pointer) noexcept;

}  // namespace mpc::heap

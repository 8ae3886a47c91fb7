// The runs of a heap and the chunks that they are cut from.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <new>

#include "runtime/heap/heap.h"
#include "runtime/heap/owner.h"

namespace mpc::heap {
namespace {

// Chunks of at least this size have huge pages: the heap is no idle rank's. But programs allocate more than they
// use: a chunk that is created for an array has them only if the heap's last chunk is in use, not only allocated.
constexpr size_t kHugeChunkBytes = size_t{8} << 20;
constexpr size_t kForgetBytes = 64 << 10;  // shorter free runs keep their memory

int bin_of(size_t granules) noexcept { return log2_of(granules); }

// What forget() leaves of a range: the parts of pages at both ends.
void clear_ends(char* begin, size_t bytes) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(begin);
  const size_t before = round_up(at, kPageBytes) - at,
               behind = (at + bytes) % kPageBytes;
  std::memset(begin, 0, before);
  std::memset(begin + bytes - behind, 0, behind);
}

}  // namespace

void Heap::list_run(FreeRun* run) noexcept {
  const int bin = bin_of(run->granules);
  run->next = bins_[bin];
  run->link = &bins_[bin];
  if (run->next != nullptr) run->next->link = &run->next;
  bins_[bin] = run;
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): no run is empty
  filled_bins_ |= 1u << bin;
}

void Heap::unlist_run(FreeRun* run) noexcept {
  *run->link = run->next;
  if (run->next != nullptr) run->next->link = run->link;
  const int bin = bin_of(run->granules);
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): no run is empty
  if (bins_[bin] == nullptr) filled_bins_ &= ~(1u << bin);
}

// The first of its own bin that is long enough, else one of the next bin that has any.
FreeRun* Heap::find_run(uint32_t granules) noexcept {
  constexpr int kProbes = 16;
  const int bin = bin_of(granules);
  int probes = 0;
  for (FreeRun* run = bins_[bin]; run != nullptr && probes < kProbes;
       run = run->next, ++probes)
    if (run->granules >= granules) return run;
  const uint32_t longer = bin + 1 < kBins ? filled_bins_ >> (bin + 1) << (bin + 1) : 0;
  return longer != 0 ? bins_[std::countr_zero(longer)] : nullptr;
}

// A run as a span, zeroed except for its length and whether it is clean. Null: no memory.
Span* Heap::take_run(size_t granules, bool is_array) noexcept {
  const auto count = static_cast<uint32_t>(granules);
  FreeRun* run = find_run(count);
  if (run == nullptr) {
    if (!add_chunk(granules, is_array)) return nullptr;
    run = find_run(count);
  }
  unlist_run(run);
  const bool is_clean = run->is_clean;
  if (!is_clean) dirty_bytes_ -= std::min(dirty_bytes_, granules * kGranuleBytes);
  auto* chunk = static_cast<Chunk*>(AddressMap::find(run));
  if (FreeRun* rest = chunk->cut(run, count)) list_run(rest);
  used_bytes_.store(
      used_bytes_.load(std::memory_order_relaxed) + granules * kGranuleBytes,
      std::memory_order_relaxed);
  Span* span = ::new (static_cast<void*>(run)) Span{};
  span->granules = count;
  span->is_clean = is_clean;
  return span;
}

// Memory that is only allocated costs little while its pages are small: the kernel clears those that are touched.
// What the arrays before are used for says what the next ones are for.
bool Heap::is_last_chunk_used() const noexcept {
  return 2 * resident_bytes(reinterpret_cast<char*>(chunks_), chunks_->bytes) >=
         chunks_->bytes;
}

// Doubles the memory, within bounds, or adds as little as is needed.
bool Heap::add_chunk(size_t granules, bool is_array) noexcept {
  const size_t total = mapped_bytes_.load(std::memory_order_relaxed);
  const size_t tables =
      round_up(sizeof(Chunk) + kMaxChunkBytes / kGranuleBytes * 2, kPageBytes);
  const size_t least = round_up(granules * kGranuleBytes + tables, kSlotBytes);
  const size_t wanted = std::clamp(round_up(total, kSlotBytes), least, kMaxChunkBytes);
  const bool may_be_huge =
      wanted >= kHugeChunkBytes && (!is_array || is_last_chunk_used());
  for (const size_t bytes : {wanted, least}) {
    Chunk* chunk = Chunk::make(this, bytes, 0, may_be_huge && bytes >= kHugeChunkBytes,
                               owner_->node());
    if (chunk == nullptr) continue;
    chunk->next = chunks_;
    chunks_ = chunk;
    mapped_bytes_.store(total + bytes, std::memory_order_relaxed);
    list_run(chunk->only_run());
    return true;
  }
  return false;
}

void Heap::drop_chunk(Chunk& chunk) noexcept {
  FreeRun* run = chunk.only_run();
  dirty_bytes_ -= std::min(dirty_bytes_, run->granules * kGranuleBytes);
  if (chunk.reserved() == reinterpret_cast<char*>(this)) return;
  unlist_run(run);
  Chunk** link = &chunks_;
  while (*link != &chunk) link = &(*link)->next;
  *link = chunk.next;
  mapped_bytes_.store(mapped_bytes_.load(std::memory_order_relaxed) - chunk.bytes,
                      std::memory_order_relaxed);
  chunk.destroy();
}

void Heap::forget_free_runs() noexcept {
  for (int bin = bin_of(kForgetBytes / kGranuleBytes); bin < kBins; ++bin) {
    for (FreeRun* run = bins_[bin]; run != nullptr; run = run->next) {
      if (run->is_clean) continue;
      const bool is_huge = static_cast<Chunk*>(AddressMap::find(run))->is_huge();
      char* const begin = reinterpret_cast<char*>(run + 1);
      const size_t bytes = run->granules * kGranuleBytes - sizeof *run;
      const bool is_forgotten = forget(begin, bytes, is_huge ? kSlotBytes : kPageBytes);
      if (is_huge || !is_forgotten) continue;
      clear_ends(begin, bytes);
      run->is_clean = true;
    }
  }
  dirty_bytes_ = 0;
}

}  // namespace mpc::heap

#pragma once
// Claims: which parts of a long message are copied by its receiver's process, which by its sender's.
//
// Role:      a line in memory that both have mapped. The receiver's process claims chunks from the front and
//            reads them, the sender's claims chunks from the back and writes them.
// Users:     runtime/transport/host (fetches, offers).
// Threads:   open() and close() by the receiver's process, one at a time for each slot; the rest any.
// See also:  docs/design/0047-host-segment.md (why no chunk is copied twice, forgotten, or written late).
//
//   word     | generation: odd while a message is open | by the receiver | by the sender |
//             63                                      32                16               0

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mpc::transport::host {

// What one claim gets: as long as some 40 changes of a line take, or ten system calls that copy nothing.
inline constexpr size_t kLeastChunkBytes = 128 << 10;
inline constexpr size_t kMostChunks = 0xffff;
inline constexpr int kSlots =
    4;  // long messages of a pair at the same time; others get no help

struct Chunks {
  explicit constexpr Chunks(uint64_t all) noexcept
      : bytes(all),
        chunk(std::max<uint64_t>(kLeastChunkBytes,
                                 (all / kMostChunks / 4096 + 1) * 4096)),
        count((all + chunk - 1) / chunk) {}
  constexpr uint64_t at(uint64_t index) const noexcept { return index * chunk; }
  constexpr uint64_t length(uint64_t index) const noexcept {
    return std::min(chunk, bytes - at(index));
  }
  uint64_t bytes, chunk, count;
};

struct alignas(64) Slot {
  std::atomic<uint64_t> word;
  std::atomic<uint64_t> number, target, bytes;  // written before `word` opens it
  std::atomic<uint32_t> helped;      // chunks that the sender's process has finished
  std::atomic<uint32_t> is_refused;  // some of them only by giving up
};

struct Claimed {
  uint64_t front = 0, back = 0;
  static Claimed of(uint64_t word) noexcept {
    return {word >> 16 & 0xffff, word & 0xffff};
  }
};
inline constexpr uint64_t kGenerationShift = 32, kFrontClaim = 1 << 16, kBackClaim = 1;
inline bool is_open(uint64_t word) noexcept { return word >> kGenerationShift & 1; }

// --- the receiver's process --------------------------------------------------------------------

// Order: all release, pairs with the acquire of whoever reads them in help_of().
inline void open(Slot& slot, uint64_t number, uint64_t target,
                 uint64_t bytes) noexcept {
  const uint64_t generation =
      slot.word.load(std::memory_order_relaxed) >> kGenerationShift;
  slot.number.store(number, std::memory_order_release);
  slot.target.store(target, std::memory_order_release);
  slot.bytes.store(bytes, std::memory_order_release);
  slot.helped.store(0, std::memory_order_release);
  slot.is_refused.store(0, std::memory_order_release);
  slot.word.store((generation + 1) << kGenerationShift, std::memory_order_release);
}

// False: there is none left.
inline bool claim_front(Slot& slot, const Chunks& chunks, uint64_t* index) noexcept {
  uint64_t word = slot.word.load(std::memory_order_relaxed);
  for (;;) {
    const Claimed claimed = Claimed::of(word);
    if (claimed.front + claimed.back >= chunks.count) return false;
    *index = claimed.front;
    if (slot.word.compare_exchange_weak(word, word + kFrontClaim,
                                        std::memory_order_relaxed))
      return true;
  }
}

// From now on nobody claims a chunk of this message.
inline Claimed close(Slot& slot) noexcept {
  uint64_t word = slot.word.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t next = ((word >> kGenerationShift) + 1) << kGenerationShift;
    if (slot.word.compare_exchange_weak(word, next, std::memory_order_acq_rel))
      return Claimed::of(word);
  }
}

// --- the sender's process ----------------------------------------------------------------------

struct Help {
  uint64_t word = 0;  // as claim_back() must find it
  uint64_t number = 0, target = 0, bytes = 0;
};
// False: nothing is left to help with. What it says holds only if claim_back() succeeds.
inline bool help_of(const Slot& slot, Help* help) noexcept {
  help->word = slot.word.load(std::memory_order_acquire);
  if (!is_open(help->word)) return false;
  help->number = slot.number.load(std::memory_order_acquire);
  help->target = slot.target.load(std::memory_order_acquire);
  help->bytes = slot.bytes.load(std::memory_order_acquire);
  const Claimed claimed = Claimed::of(help->word);
  return claimed.front + claimed.back < Chunks(help->bytes).count;
}
inline bool claim_back(Slot& slot, const Help& help, uint64_t* index) noexcept {
  uint64_t word = help.word;
  *index = Chunks(help.bytes).count - 1 - Claimed::of(word).back;
  return slot.word.compare_exchange_strong(word, word + kBackClaim,
                                           std::memory_order_acq_rel);
}
// seq_cst: the caller asks afterwards whether the receiver's process sleeps.
inline void finish_back(Slot& slot, bool is_copied) noexcept {
  if (!is_copied) slot.is_refused.store(1, std::memory_order_relaxed);
  slot.helped.fetch_add(1, std::memory_order_seq_cst);
}

}  // namespace mpc::transport::host

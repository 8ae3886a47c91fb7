#include "scheduler/stacks.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/futex.h"
#include "scheduler/limits.h"

namespace mpc::sched {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kMinStackBytes = size_t{64} * 1024;
constexpr size_t kMostPieceSlots = 4096;
constexpr size_t kFirstPieceSlots = 64;               // doubled for each further piece
constexpr size_t kFirstPieceSlotsLimited = 8;         // where address space is limited
constexpr size_t kMostPieceBytes = size_t{16} << 40;  // of 128 TiB
constexpr int kMadvGuardInstall = 102;                // MADV_GUARD_INSTALL, Linux 6.13

// Each page of a marked guard writes one entry of the page table. These mostly share a page of
// the table with the top of the stack below, which a rank touches anyway.
constexpr size_t kMarkedGuardBytes =
    size_t{256} * 1024 + kPageBytes;  // see kWidestGuardBytes

// A 64th of all mappings that a process may have is for wide guards, and as many for their stacks.
constexpr size_t kMapShare = 64;

// A preference, not a rule: a full node must not end the job. A failure costs only locality.
void prefer_node(void* base, size_t bytes, int node) {
  constexpr int kMaskBits = 1024;
  constexpr int kPreferred = 1;  // MPOL_PREFERRED
  if (node < 0 || node >= kMaskBits) return;
  unsigned long mask[kMaskBits / 64] = {};
  mask[node / 64] = 1ul << (node % 64);
  raw_syscall(SYS_mbind, reinterpret_cast<long>(base), static_cast<long>(bytes),
              kPreferred, reinterpret_cast<long>(mask), kMaskBits, 0);
}

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

bool has_guard_marks() {
  void* page = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  const bool has = madvise(page, kPageBytes, kMadvGuardInstall) == 0;
  munmap(page, kPageBytes);
  return has;
}

// Under `ulimit -v` the guards of a hundred stacks must
// take only a small part of the address space.
size_t widest_guard() {
  const size_t limit = address_space_limit();
  if (limit == 0) return StackArena::kWidestGuardBytes;
  const size_t share = limit / 2048;
  return std::clamp(share / StackArena::kLeastGuardBytes * StackArena::kLeastGuardBytes,
                    StackArena::kLeastGuardBytes, StackArena::kWidestGuardBytes);
}

size_t slots_of_piece(size_t number) {
  const size_t first =
      address_space_limit() == 0 ? kFirstPieceSlots : kFirstPieceSlotsLimited;
  return std::min(first << std::min<size_t>(number, 16), kMostPieceSlots);
}

// The arenas of the process, for is_stack_guard(). Stored with release when complete, loaded with
// acquire there.
constexpr size_t kMostArenas = 16;
constinit std::atomic<const StackArena*> g_arenas[kMostArenas]{};

}  // namespace

StackArena::StackArena(size_t stack_bytes) noexcept
    : stack_bytes_(round_up(std::max(stack_bytes, kMinStackBytes), kPageBytes)),
      wide_guard_bytes_(widest_guard()),
      can_mark_(has_guard_marks()),
      wide_left_(can_mark_ ? most_mappings() / kMapShare : SIZE_MAX) {
  for (auto& entry : g_arenas) {
    const StackArena* none = nullptr;
    if (entry.compare_exchange_strong(none, this, std::memory_order_release)) return;
  }
}

StackArena::~StackArena() {
  for (auto& entry : g_arenas) {
    const StackArena* self = this;
    entry.compare_exchange_strong(self, nullptr, std::memory_order_relaxed);
  }
  for (size_t i = 0; i < piece_count_.load(std::memory_order_relaxed); ++i)
    munmap(pieces_[i].base, pieces_[i].slot_count * slot_bytes(pieces_[i]));
}

bool StackArena::map_piece(Piece& piece) const noexcept {
  const size_t bytes = piece.slot_count * slot_bytes(piece);
  void* base = mmap(nullptr, bytes, piece.is_wide ? PROT_NONE : PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (base == MAP_FAILED) return false;
  // A huge page would commit 2 MiB at the first touch of each stack.
  madvise(base, bytes, MADV_NOHUGEPAGE);
  prefer_node(base, bytes, piece.node);
  piece.base = static_cast<char*>(base);
  return true;
}

Result<> StackArena::add_piece(int node, bool is_wide) {
  const size_t count = piece_count_.load(std::memory_order_relaxed);
  if (count == kMaxPieces)
    return {Errc::kNoMem, "too many stacks: the limit is 64 pieces of address space"};
  Piece piece{};
  piece.is_wide = is_wide;
  piece.guard_bytes = is_wide ? wide_guard_bytes_ : kMarkedGuardBytes;
  piece.node = node;
  // Address space may be limited (ulimit -v, vm.overcommit_memory=2): try smaller pieces.
  piece.slot_count =
      std::clamp(kMostPieceBytes / slot_bytes(piece), size_t{1}, slots_of_piece(count));
  for (; piece.slot_count > 0; piece.slot_count /= 2) {
    if (!map_piece(piece)) continue;
    pieces_[count] = piece;
    // Pairs with the acquire in piece_of().
    piece_count_.store(count + 1, std::memory_order_release);
    return {};
  }
  return {Errc::kNoMem,
          fmt::format(
              "no address space for a stack of {} bytes ({}): lower the stack size, "
              "raise `ulimit -v`, or set vm.overcommit_memory to 0 or 1",
              stack_bytes_, std::strerror(errno))};
}

StackArena::Piece* StackArena::piece_with_room(int node, bool is_wide) {
  for (size_t i = piece_count_.load(std::memory_order_relaxed); i-- > 0;)
    if (pieces_[i].node == node && pieces_[i].is_wide == is_wide &&
        pieces_[i].used < pieces_[i].slot_count)
      return &pieces_[i];
  return nullptr;
}

Result<char*> StackArena::take_slot(int node, bool is_wide) {
  if (piece_with_room(node, is_wide) == nullptr) MPC_TRY(add_piece(node, is_wide));
  Piece& piece = *piece_with_room(node, is_wide);
  char* guard = piece.base + piece.used * slot_bytes(piece);
  char* stack = guard + piece.guard_bytes;
  const bool done = is_wide ? mprotect(stack, stack_bytes_, PROT_READ | PROT_WRITE) == 0
                            : madvise(guard, piece.guard_bytes, kMadvGuardInstall) == 0;
  if (!done) {
    return {
        Errc::kNoMem,
        fmt::format(
            "cannot make a stack of {} bytes and its guard ({}); each stack needs two "
            "memory mappings on kernels before 6.13: raise vm.max_map_count "
            "(sysctl -w vm.max_map_count=262144)",
            stack_bytes_, std::strerror(errno))};
  }
  ++piece.used;
  return stack;
}

Result<char*> StackArena::allocate(int node) {
  const Locked lock(lock_);
  for (size_t i = free_.size(); i-- > 0;) {
    if (free_[i].node != node) continue;
    char* stack = free_[i].stack;
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
    return stack;
  }
  if (wide_left_ > 0) {
    auto stack = take_slot(node, true);
    if (stack || !can_mark_) {
      --wide_left_;
      return stack;
    }
    wide_left_ = 0;  // no mappings or no address space left for wide guards
  }
  return take_slot(node, false);
}

void StackArena::release(char* stack) noexcept {
  madvise(stack, stack_bytes_, MADV_DONTNEED);
  const Locked lock(lock_);
  free_.push_back({stack, piece_of(stack)->node});
}

const StackArena::Piece* StackArena::piece_of(const void* address) const noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const size_t count = piece_count_.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) {
    const auto base = reinterpret_cast<uintptr_t>(pieces_[i].base);
    if (at >= base && at < base + pieces_[i].slot_count * slot_bytes(pieces_[i]))
      return &pieces_[i];
  }
  return nullptr;
}

bool StackArena::is_guard(const void* address) const noexcept {
  const Piece* piece = piece_of(address);
  if (piece == nullptr) return false;
  const auto offset =
      static_cast<size_t>(static_cast<const char*>(address) - piece->base);
  return offset % slot_bytes(*piece) < piece->guard_bytes;
}

bool is_stack_guard(const void* address) noexcept {
  for (const auto& entry : g_arenas) {
    const StackArena* arena = entry.load(std::memory_order_acquire);
    if (arena != nullptr && arena->is_guard(address)) return true;
  }
  return false;
}

size_t StackArena::guard_bytes(const char* stack) const noexcept {
  const Piece* piece = piece_of(stack);
  return piece == nullptr ? 0 : piece->guard_bytes;
}

}  // namespace mpc::sched

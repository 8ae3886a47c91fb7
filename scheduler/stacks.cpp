#include "scheduler/stacks.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/futex.h"

namespace mpc::sched {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kMinStackBytes = 64 * 1024;
constexpr size_t kFirstPieceSlots = 4096;
constexpr int kMadvGuardInstall = 102;  // MADV_GUARD_INSTALL, Linux 6.13

// A preference, not a rule: a full node must not end the job. A failure costs only locality.
void prefer_node(void* base, size_t bytes, int node) {
  constexpr int kMaskBits = 1024;
  constexpr int kPreferred = 1;  // MPOL_PREFERRED
  if (node < 0 || node >= kMaskBits) return;
  unsigned long mask[kMaskBits / 64] = {};
  mask[node / 64] = 1ul << (node % 64);
  raw_syscall(SYS_mbind, reinterpret_cast<long>(base), static_cast<long>(bytes), kPreferred,
              reinterpret_cast<long>(mask), kMaskBits, 0);
}

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

StackArena::StackArena(size_t stack_bytes) noexcept
    : stack_bytes_(round_up(std::max(stack_bytes, kMinStackBytes), kPageBytes)) {}

StackArena::~StackArena() {
  for (size_t i = 0; i < piece_count_.load(std::memory_order_relaxed); ++i)
    munmap(pieces_[i].base, pieces_[i].slot_count * slot_bytes());
}

size_t StackArena::slot_bytes() const noexcept { return stack_bytes_ + kGuardBytes; }

Result<> StackArena::add_piece(int node) {
  const size_t count = piece_count_.load(std::memory_order_relaxed);
  if (count == kMaxPieces)
    return {Errc::kNoMem, "too many stacks: the limit is 64 pieces of address space"};
  // Address space may be limited (ulimit -v, vm.overcommit_memory=2): try smaller pieces.
  for (size_t slots = kFirstPieceSlots; slots > 0; slots /= 2) {
    void* base = mmap(nullptr, slots * slot_bytes(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED) continue;
    // A huge page would commit 2 MiB at the first touch of each stack.
    madvise(base, slots * slot_bytes(), MADV_NOHUGEPAGE);
    prefer_node(base, slots * slot_bytes(), node);
    pieces_[count] = {static_cast<char*>(base), slots, 0, node};
    // Pairs with the acquire in is_guard().
    piece_count_.store(count + 1, std::memory_order_release);
    return {};
  }
  return {Errc::kNoMem,
          fmt::format("no address space for a stack of {} bytes ({}): lower the stack size, "
                      "raise `ulimit -v`, or set vm.overcommit_memory to 0 or 1",
                      stack_bytes_, std::strerror(errno))};
}

Result<> StackArena::protect(char* guard) {
  if (madvise(guard, kGuardBytes, kMadvGuardInstall) == 0) return {};
  if (mprotect(guard, kGuardBytes, PROT_NONE) == 0) return {};
  return {Errc::kNoMem,
          fmt::format("cannot protect a stack's guard pages ({}); each stack needs two memory "
                      "mappings on kernels before 6.13: raise vm.max_map_count "
                      "(sysctl -w vm.max_map_count=262144)",
                      std::strerror(errno))};
}

StackArena::Piece* StackArena::piece_with_room(int node) {
  for (size_t i = piece_count_.load(std::memory_order_relaxed); i-- > 0;)
    if (pieces_[i].node == node && pieces_[i].used < pieces_[i].slot_count)
      return &pieces_[i];
  return nullptr;
}

Result<char*> StackArena::allocate(int node) {
  std::lock_guard lock(lock_);
  for (size_t i = free_.size(); i-- > 0;) {
    if (free_[i].node != node) continue;
    char* stack = free_[i].stack;
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
    return stack;
  }
  if (piece_with_room(node) == nullptr) MPC_TRY(add_piece(node));
  Piece& piece = *piece_with_room(node);
  char* guard = piece.base + piece.used * slot_bytes();
  MPC_TRY(protect(guard));
  ++piece.used;
  return guard + kGuardBytes;
}

void StackArena::release(char* stack) noexcept {
  madvise(stack, stack_bytes_, MADV_DONTNEED);
  std::lock_guard lock(lock_);
  free_.push_back({stack, piece_of(stack)->node});
}

const StackArena::Piece* StackArena::piece_of(const void* address) const noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const size_t count = piece_count_.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) {
    const auto base = reinterpret_cast<uintptr_t>(pieces_[i].base);
    if (at >= base && at < base + pieces_[i].slot_count * slot_bytes()) return &pieces_[i];
  }
  return nullptr;
}

bool StackArena::is_guard(const void* address) const noexcept {
  const Piece* piece = piece_of(address);
  if (piece == nullptr) return false;
  const auto offset = static_cast<size_t>(static_cast<const char*>(address) - piece->base);
  return offset % slot_bytes() < kGuardBytes;
}

}  // namespace mpc::sched

#include "runtime/io/scratch.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/mutex.h"

namespace mpc::io {
namespace {

struct Piece {
  char* data = nullptr;
  size_t bytes = 0;
};

// How many unused pieces are kept. More than there are cores would be of no use.
constexpr size_t kKept = 8;
constexpr size_t kLargestKept = size_t{16} << 20;
struct Shelf {
  Mutex lock;
  std::array<Piece, kKept> pieces MPC_GUARDED_BY(lock);
};
Shelf& shelf() noexcept {
  static Shelf* const the_only_one = new Shelf;  // threads may outlive main()
  return *the_only_one;
}

// Pieces fit for any kind of access, as windows have different sizes; what is not touched costs nothing.
constexpr size_t kUnit = size_t{1} << 20;

}  // namespace

Scratch::Scratch(size_t bytes) noexcept {
  if (bytes == 0) return;
  {
    Shelf& kept = shelf();
    const Locked lock(kept.lock);
    for (Piece& piece : kept.pieces) {
      if (piece.data == nullptr || piece.bytes < bytes) continue;
      data_ = std::exchange(piece.data, nullptr);
      bytes_ = std::exchange(piece.bytes, 0);
      return;
    }
  }
  bytes_ = (bytes + kUnit - 1) & ~(kUnit - 1);
  void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) data_ = static_cast<char*>(memory);
}

// If the shelf is full the smallest piece goes: it would be there for ever, and fit for less.
Scratch::~Scratch() {
  if (data_ == nullptr) return;
  Piece left{data_, bytes_};
  if (bytes_ <= kLargestKept) {
    Shelf& kept = shelf();
    const Locked lock(kept.lock);
    Piece& smallest = *std::ranges::min_element(kept.pieces, {}, &Piece::bytes);
    if (smallest.bytes < bytes_) std::swap(smallest, left);
  }
  if (left.data != nullptr) ::munmap(left.data, left.bytes);
}

}  // namespace mpc::io

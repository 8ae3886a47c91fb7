#include "runtime/rma/window_share.h"

#include <sys/mman.h>

namespace mpc::rma {
namespace {

constexpr Count kPageBytes = 4096;

}  // namespace

SharedPages::SharedPages(size_t bytes) noexcept : bytes_(bytes) {
  if (bytes == 0) return;
  // Each member's part becomes memory of its own node when the member touches it.
  void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages != MAP_FAILED) base_ = static_cast<char*>(pages);
}

SharedPages::~SharedPages() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

WindowShare::WindowShare(int members) {
  targets_.reserve(static_cast<size_t>(members));
  for (int m = 0; m < members; ++m)
    targets_.push_back(std::make_unique<Target>(members));
}

bool WindowShare::allocate(bool is_apart) {
  Count all = 0;
  for (const auto& target : targets_) {
    Count bytes = target->memory.bytes;
    if (is_apart && bytes <= INT64_MAX - kPageBytes)
      bytes = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    if (__builtin_add_overflow(all, bytes, &all)) return false;
  }
  auto pages = std::make_unique<SharedPages>(static_cast<size_t>(all));
  if (!pages->is_there()) return false;
  char* at = pages->base();
  for (const auto& target : targets_) {
    // Who has no memory has no address either, as programs expect.
    target->memory.base = target->memory.bytes > 0 ? at : nullptr;
    at += target->memory.bytes;
    if (!is_apart) continue;
    const auto address = reinterpret_cast<uintptr_t>(at);
    at += (kPageBytes - static_cast<Count>(address % kPageBytes)) % kPageBytes;
  }
  pages_ = std::move(pages);
  return true;
}

}  // namespace mpc::rma

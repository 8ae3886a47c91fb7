#include "runtime/rma/window_share.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "scheduler/as_nobody.h"

namespace mpc::rma {
namespace {

constexpr Count kPageBytes = 4096;

}  // namespace

SharedPages::SharedPages(size_t bytes) noexcept : bytes_(bytes) {
  if (bytes == 0) return;
  // Each member's part is allocated on the member's own node when the member touches it.
  void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages != MAP_FAILED) base_ = static_cast<char*>(pages);
}

SharedPages::SharedPages(size_t bytes, SharedFile::Name file) noexcept : bytes_(bytes) {
  if (bytes == 0) return;
  const sched::AsNobody nobody;  // a rank's files have names and numbers of its own
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", file.process, file.descriptor);
  const int descriptor = ::open(path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return;
  // All processes give the same length.
  void* pages = MAP_FAILED;
  if (::ftruncate(descriptor, static_cast<off_t>(bytes)) == 0)
    pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                   descriptor, 0);
  ::close(descriptor);
  if (pages != MAP_FAILED) base_ = static_cast<char*>(pages);
}

SharedPages::~SharedPages() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

bool SharedFile::make() noexcept {
  const sched::AsNobody nobody;
  descriptor_ = ::memfd_create("mpc-window", MFD_CLOEXEC);
  return descriptor_ >= 0;
}

void SharedFile::close() noexcept {
  if (descriptor_ < 0) return;
  const sched::AsNobody nobody;
  ::close(std::exchange(descriptor_, -1));
}

SharedFile::Name SharedFile::name() const noexcept { return {::getpid(), descriptor_}; }

WindowShare::WindowShare(int members) : gate_(members) {
  targets_.reserve(static_cast<size_t>(members));
  for (int m = 0; m < members; ++m)
    targets_.push_back(std::make_unique<Target>(members));
}

WindowShare::~WindowShare() {
  if (span_ != nullptr) at_end_(*span_);
}

void WindowShare::set_span(Span extent, AtEnd at_end) {
  at_end_ = at_end;
  for (int m = 0; m < size(); ++m) {
    if (extent.process[static_cast<size_t>(m)] == extent.here) continue;
    Memory& memory = target(m).memory;
    memory.base = nullptr;
    memory.addressing =
        memory.is_dynamic() ? Addressing::kFarDynamic : Addressing::kFar;
  }
  span_ = std::make_unique<const Span>(std::move(extent));
}

bool WindowShare::allocate(bool is_apart, const SharedFile::Name* file) {
  Count all = 0;
  for (const auto& target : targets_) {
    Count bytes = target->memory.bytes;
    if (is_apart && bytes <= INT64_MAX - kPageBytes)
      bytes = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    if (__builtin_add_overflow(all, bytes, &all)) return false;
  }
  const auto bytes = static_cast<size_t>(all);
  auto pages = file == nullptr ? std::make_unique<SharedPages>(bytes)
                               : std::make_unique<SharedPages>(bytes, *file);
  if (!pages->is_there()) return false;
  char* at = pages->base();
  for (const auto& target : targets_) {
    // A member without memory has no address either, as programs expect.
    target->memory.base = target->memory.bytes > 0 ? at : nullptr;
    target->memory.addressing = Addressing::kHere;  // mapped, whichever process owns it
    at += target->memory.bytes;
    if (!is_apart) continue;
    const auto address = reinterpret_cast<uintptr_t>(at);
    at += (kPageBytes - static_cast<Count>(address % kPageBytes)) % kPageBytes;
  }
  if (file != nullptr) gate_.keep_open();
  pages_ = std::move(pages);
  return true;
}

}  // namespace mpc::rma

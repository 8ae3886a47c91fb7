#include "runtime/job/shared_parts.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace mpc::job {
namespace {

// After the console's memory, which is shorter. Pages that are not written take no memory.
constexpr size_t kFirstByte = size_t{1} << 20;
constexpr size_t kPartBytes = size_t{8} << 20;
constexpr size_t kHeadBytes = 4096;

// A file that grows beyond the limit would end the process.
bool may_grow_to(size_t bytes) noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

// All processes do this, and none makes the file shorter.
bool grow(int memory, size_t bytes) noexcept {
  struct stat now {};
  if (::fstat(memory, &now) != 0) return false;
  if (static_cast<size_t>(now.st_size) >= bytes) return true;
  return may_grow_to(bytes) && ::ftruncate(memory, static_cast<off_t>(bytes)) == 0;
}

}  // namespace

struct SharedParts::Part {
  std::atomic<uint64_t> length;  // release: the text is complete
  char text[kPartBytes - sizeof(uint64_t)];
};

void SharedParts::open(int memory, int processes) noexcept {
  const size_t bytes =
      kHeadBytes + static_cast<size_t>(processes) * kKinds * kPartBytes;
  if (memory < 0 || !grow(memory, kFirstByte + bytes)) return;
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE, memory, kFirstByte);
  if (mapped != MAP_FAILED) first_ = static_cast<std::byte*>(mapped);
}

uint64_t SharedParts::common_ns(uint64_t now_ns) noexcept {
  if (!is_open()) return now_ns;
  auto& common = *reinterpret_cast<std::atomic<uint64_t>*>(first_);
  uint64_t expected = 0;
  return common.compare_exchange_strong(expected, now_ns, std::memory_order_relaxed)
             ? now_ns
             : expected;
}

SharedParts::Part& SharedParts::part(int process, Kind kind) const noexcept {
  static_assert(sizeof(Part) == kPartBytes);
  const size_t index =
      static_cast<size_t>(process) * kKinds + static_cast<size_t>(kind);
  return *reinterpret_cast<Part*>(first_ + kHeadBytes + index * kPartBytes);
}

bool SharedParts::put(int process, Kind kind, std::string_view text) noexcept {
  Part& own = part(process, kind);
  if (!is_open() || text.size() > sizeof own.text) return false;
  std::memcpy(own.text, text.data(), text.size());
  own.length.store(text.size(), std::memory_order_release);  // pairs with get()
  return true;
}

std::string SharedParts::get(int process, Kind kind) const {
  const Part& its = part(process, kind);
  return {its.text, its.length.load(std::memory_order_acquire)};
}

}  // namespace mpc::job

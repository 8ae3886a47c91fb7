#include "runtime/job/overflow.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "scheduler/stacks.h"

namespace mpc::job {
namespace {

constexpr uintptr_t kBelowPointer = 256;  // the red zone, and what a call pushes

// The lines of /proc/self/maps, in ascending order of addresses.
class Mappings {
 public:
  Mappings() noexcept
      : fd_(static_cast<int>(
            ::syscall(SYS_open, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0))) {}
  ~Mappings() {
    if (fd_ >= 0) ::syscall(SYS_close, fd_);
  }
  Mappings(const Mappings&) = delete;

  struct Range {
    uintptr_t begin, end;
    bool is_accessible;
    bool has(uintptr_t address) const { return address >= begin && address < end; }
  };
  // Parses "7f00-7f10 rw-p ...". False: there was no further line.
  bool next(Range& range) noexcept {
    range = {};
    if (!read_number(range.begin) || !read_number(range.end)) return false;
    char c = 0;
    for (int i = 0; i < 3; ++i) {
      if (!read(c)) return false;
      range.is_accessible |= c != '-';
    }
    while (c != '\n')
      if (!read(c)) return false;
    return true;
  }

 private:
  bool read(char& c) noexcept {
    if (at_ == size_) {
      const long n = fd_ < 0 ? 0 : ::syscall(SYS_read, fd_, buffer_, sizeof buffer_);
      if (n <= 0) return false;
      size_ = static_cast<size_t>(n);
      at_ = 0;
    }
    c = buffer_[at_++];
    return true;
  }
  // Hexadecimal, and consumes the character after it.
  bool read_number(uintptr_t& number) noexcept {
    char c = 0;
    while (read(c)) {
      const bool is_digit = c >= '0' && c <= '9';
      if (!is_digit && (c < 'a' || c > 'f')) return true;
      number = number * 16 + static_cast<uintptr_t>(is_digit ? c - '0' : c - 'a' + 10);
    }
    return false;
  }

  const int fd_;
  char buffer_[4096];
  size_t at_ = 0, size_ = 0;
};

// For a thread with a stack of libc's: a guard lies right below the memory of its stack.
bool is_guard_of_thread(uintptr_t fault, uintptr_t sp) noexcept {
  Mappings mappings;
  Mappings::Range range, above;
  while (mappings.next(range)) {
    if (!range.has(fault)) continue;
    return !range.is_accessible && mappings.next(above) && above.begin == range.end &&
           above.is_accessible && (above.has(sp) || range.has(sp));
  }
  return false;
}

}  // namespace

bool is_stack_overflow(const sched::Execution& self, const void* fault,
                       const void* sp) noexcept {
  const auto fault_at = reinterpret_cast<uintptr_t>(fault);
  const auto sp_at = reinterpret_cast<uintptr_t>(sp);
  const auto stack = self.stack();
  if (stack.bytes == 0) return is_guard_of_thread(fault_at, sp_at);
  // The guard above its stack belongs to another stack, and was hit by writing upwards.
  const auto top = reinterpret_cast<uintptr_t>(stack.low) + stack.bytes;
  if (sched::is_stack_guard(fault)) return fault_at < top;
  // A frame larger than any guard: the pointer is below the stack, and so is the address accessed.
  const auto low = reinterpret_cast<uintptr_t>(stack.low);
  return sp_at < low && fault_at < low && fault_at + kBelowPointer >= sp_at;
}

}  // namespace mpc::job

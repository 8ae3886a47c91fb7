#pragma once
// SharedMemory: memory without a name in a file system, which other processes of the user can map.
//
// Role:      made by one process, found by others through /proc by plain numbers. It is gone when the last
//            process that has mapped it ends, however that happens.
// Users:     runtime/transport/host; nbc/direct (host_meeting).
// Threads:   one at a time for each object.
// See also:  docs/design/0047-host-segment.md; memfd_create(2), proc(5).

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace mpc::transport::host {

inline constexpr size_t kPageBytes = 4096;

// Memory that is unmapped at the end.
class Pages {
 public:
  Pages() = default;
  Pages(void* base, size_t bytes) noexcept : base_(base), bytes_(bytes) {}
  Pages(Pages&& other) noexcept { swap(other); }
  Pages& operator=(Pages&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Pages();
  // Null: there is none.
  void* base() const noexcept { return base_; }

 private:
  void swap(Pages& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
  }
  void* base_ = nullptr;
  size_t bytes_ = 0;
};

// A descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int number() const noexcept { return number_; }
  bool is_open() const noexcept { return number_ >= 0; }

 private:
  int number_;
};

// A descriptor of a process, for other ones.
struct DescriptorName {
  int32_t process_id = 0;
  int32_t number = -1;
  uint64_t inode = 0;
};
DescriptorName name_of(const Descriptor& own) noexcept;
// Not open: it cannot be opened from here, or is another file by now.
Descriptor open_other(const DescriptorName& name) noexcept;

// A value that is random, by which a mapping is recognized.
struct Mark {
  uint64_t words[2] = {};
  friend bool operator==(const Mark&, const Mark&) = default;
};
// All zero: the system has none.
Mark random_mark() noexcept;

// Zero bytes at first, which nobody can take away again. Not open: the system has none.
Descriptor make_memory(const char* purpose, size_t bytes) noexcept;
size_t length_of(const Descriptor& memory) noexcept;
// A null base: it cannot be mapped.
Pages map_memory(const Descriptor& memory, size_t offset, size_t bytes) noexcept;

}  // namespace mpc::transport::host

#pragma once
// Pages: arrays that do not come from malloc.
//
// Role:      the trace is written at the end of a job, also when a rank has crashed inside
//            malloc; so its writer takes memory from the system.
// Users:     runtime/trace.
// Threads:   one.
// See also:  runtime/trace/json.cpp.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace mpc::trace {

// Zeroed, for trivial elements. size() is 0 if there is no memory.
template <class T>
class Pages {
 public:
  explicit Pages(size_t count) noexcept : size_(count) {
    if (count == 0) return;
    void* memory = ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      size_ = 0;
    else
      data_ = static_cast<T*>(memory);
  }
  ~Pages() {
    if (data_ != nullptr) ::munmap(data_, size_ * sizeof(T));
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  size_t size() const noexcept { return size_; }
  T& operator[](size_t i) noexcept { return data_[i]; }

 private:
  T* data_ = nullptr;
  size_t size_;
};

// Maps keys other than 0 to values; never grows: room for `count` keys in all, ever. Removing
// sets the value to 0, which counts as absent.
class Table {
 public:
  explicit Table(size_t count) noexcept : slots_(power_above(2 * count)) {}
  uint64_t& operator[](uint64_t key) noexcept {
    size_t at = static_cast<size_t>(key * 0x9e3779b97f4a7c15ull >> 20) % slots_.size();
    while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) % slots_.size();
    slots_[at].key = key;
    return slots_[at].value;
  }
  bool is_there() const noexcept { return slots_.size() != 0; }
  template <class Visit>
  void for_each(Visit visit) {
    for (Slot& slot : slots_)
      if (slot.value != 0) visit(slot.key, slot.value);
  }

 private:
  struct Slot {
    uint64_t key, value;
  };
  static size_t power_above(size_t n) noexcept {
    size_t power = 64;
    while (power < n) power *= 2;
    return power;
  }
  Pages<Slot> slots_;
};

}  // namespace mpc::trace

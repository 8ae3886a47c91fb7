#pragma once
// Registry: finds the copy that contains an address.
//
// Role:      lets the unwinder, dladdr and the crash report find a copy in a few loads.
// Users:     runtime/loader.
// Threads:   add_chunk() and set_instance() under the Image's lock; find() any, signal
//            handlers included.
// See also:  runtime/loader/image.h.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mpc::loader {

class ProgramInstance;

// A contiguous run of bundles of one image.
struct Chunk {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  size_t stride = 0;
  std::atomic<ProgramInstance*>* instances =
      nullptr;  // one per bundle; null: not yet loaded
};

class Registry {
 public:
  static Registry& instance() noexcept;
  // False if the table is full.
  bool add_chunk(char* begin, size_t stride, size_t instances) noexcept;
  void set_instance(char* base, ProgramInstance* instance) noexcept;
  ProgramInstance* find(const void* address) const noexcept;
  bool add_master(const void* handle, uintptr_t load_address) noexcept;
  bool is_master(uintptr_t load_address) const noexcept;
  bool is_master_handle(const void* handle) const noexcept;

 private:
  static constexpr size_t kMaxChunks = 512;
  const Chunk* chunk_of(uintptr_t address) const noexcept;
  static constexpr size_t kMaxMasters = 4096;
  struct Master {
    const void* handle = nullptr;
    uintptr_t load_address = 0;
  };
  Master masters_[kMaxMasters];
  std::atomic<size_t> master_count_{0};
  Chunk chunks_[kMaxChunks];
  std::atomic<size_t> count_{0};
};

}  // namespace mpc::loader

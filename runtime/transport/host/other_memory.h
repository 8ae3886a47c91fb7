#pragma once
// OtherMemory: memory of another process of this host, by its addresses there.
//
// Role:      reads and writes it by process_vm_readv and process_vm_writev, where the system allows that.
// Users:     runtime/transport/host (fetches, offers).
// Threads:   any.
// See also:  docs/design/0047-host-segment.md; process_vm_readv(2).
//
// A number of a process may be given to another one when that process has ended. So each access looks at the
// process's mark, 16 random bytes at a place that it has told: a read together with the data, a write
// just before.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/transport/host/shared_memory.h"

namespace mpc::transport::host {

enum class Access : uint8_t {
  kDone,
  kRefused,  // by the system: never, or not this memory
  kGone,     // the process has ended, or is another program by now
};

class OtherMemory {
 public:
  OtherMemory() = default;  // of no process: everything is refused
  OtherMemory(int process_id, uint64_t mark_address, const Mark& mark) noexcept
      : process_id_(process_id), mark_address_(mark_address), mark_(mark) {}

  // Is it there, and may this process read it?
  bool is_open() const noexcept { return read(nullptr, 0, 0) == Access::kDone; }
  Access read(void* to, uint64_t from, size_t bytes) const noexcept;
  Access write(uint64_t to, const void* from, size_t bytes) const noexcept;

 private:
  int process_id_ = 0;
  uint64_t mark_address_ = 0;
  Mark mark_;
};

}  // namespace mpc::transport::host

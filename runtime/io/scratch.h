#pragma once
// Scratch: memory between the user's data and the file, for the duration of one access.
//
// Role:      its pages stay mapped between accesses: a new mapping would cause new page faults.
// Users:     runtime/io.
// Threads:   any; one object belongs to one access.
// See also:  runtime/io/transfer.h.

#include <cstddef>

namespace mpc::io {

class Scratch {
 public:
  // data() is null if there is no memory, or `bytes` is 0.
  explicit Scratch(size_t bytes) noexcept;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  char* data() const noexcept { return data_; }

 private:
  char* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace mpc::io

#pragma once
// Descriptors: what 0, 1 and 2 are to a rank, and to its children.
//
// Role:      the numbers belong to the process, that is to the job; each rank may turn its own to a
//            file, and only rank 0 has the job's standard input. Calls of a rank
//            are led to the kernel's descriptor that the rank means, and its children get that one
//            under the usual number.
// Users:     runtime/interpose (raw_output, raw_input, streams, children, vfork).
// Threads:   any thread of the rank.
// See also:  runtime/interpose/streams.h, docs/mpcrun.md (input and output).

#include <array>

namespace mpc::interpose {

// The kernel's descriptor for what `fd` means to the calling rank; -1: the rank has closed it.
// `fd` itself for all but 0, 1 and 2, outside any rank of a job, and in its children.
int real_fd(int fd) noexcept;

// The same for a caller at this address: the runtime's own calls mean the job's descriptors.
int meant_fd(int fd, const void* return_address) noexcept;

// dup2() calls (from -1: close()) that give a child the rank's 0, 1 and 2 when made in order.
// Caller of the constructor: a rank before or after fork(); else the list is empty.
class ChildDescriptors {
 public:
  struct Move {
    int from, to;
  };
  ChildDescriptors() noexcept;
  ~ChildDescriptors();
  ChildDescriptors(const ChildDescriptors&) = delete;
  ChildDescriptors& operator=(const ChildDescriptors&) = delete;

  const Move* begin() const noexcept { return moves_.data(); }
  const Move* end() const noexcept { return moves_.data() + count_; }
  bool is_empty() const noexcept { return count_ == 0; }
  // Makes the calls. Caller: the child. Async-signal-safe.
  void apply() const noexcept;

 private:
  void add(int from, int to) noexcept {
    moves_[static_cast<unsigned>(count_++)] = {from, to};
  }

  std::array<Move, 3> moves_{};
  int count_ = 0;
  int spare_ = -1;  // a copy of 1, where a rank has exchanged 1 and 2
};

// The caller is a child of vfork(): it is still in its parent's memory.
bool is_vfork_child() noexcept;

}  // namespace mpc::interpose

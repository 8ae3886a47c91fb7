#pragma once
// Relay: moves blocks of different sizes, known to all ranks,
// to or from rank 0 over hosts and processes.
//
// Role:      leaders pass on the blocks of their ranks, packed: one message per process.
// Users:     nbc/algorithms: allgatherv, reduce_scatter and scans over several processes.
// Threads:   pure functions.
// See also:  nbc/algorithms/nest.h; nested.cpp, which has equal blocks and any root.

#include <functional>
#include <vector>

#include "nbc/algorithms/nest.h"
#include "nbc/algorithms/parts.h"

namespace mpc::nbc {

class Relay {
 public:
  // Where rank 0 has the blocks of ranks first .. first + count - 1.
  using BlocksAt = std::function<BufferRef(int first, int count)>;

  // Requires: s.homes. bytes: by rank, the same at all ranks.
  Relay(B& b, const Shape& s, const std::vector<int64_t>& bytes);

  bool is_root() const noexcept { return tree_.parent < 0; }
  // All ranks, ordered so that a subtree is a row of them; and where
  // block i begins if the blocks are packed in this order.
  const std::vector<int>& order() const noexcept { return order_; }
  int64_t offset(int i) const { return offsets_[static_cast<size_t>(i)]; }

  // --- ranks other than 0 -----------------------------------------------------------------------
  // Returns: the last node that reads `own`; kNoNode: none does.
  NodeId send_up(BufferRef own, int tag);
  // `own` is written after `guard`.
  void receive_down(BufferRef own, NodeId guard, int tag);

  // --- rank 0: with all others ------------------------------------------------------------------
  // `done` comes after the data have reached their place; the data to be sent exist after `ready`.
  void receive(const BlocksAt& place, NodeId done, int tag);
  void receive_packed(const BufferRef& all, NodeId done, int tag);
  void send(const BlocksAt& place, NodeId ready, int tag);

 private:
  struct Run {  // ranks in a row
    int first, count;
    int64_t at, bytes;  // among those of a subtree
  };
  std::vector<Run> runs_of(const TreeChild& child) const;
  // The bytes of the `first` ranks from this rank on, in the order.
  int64_t at(int first) const { return offset(position_ + first) - offset(position_); }
  int64_t bytes_of(const TreeChild& child) const {
    return at(child.first + child.count) - at(child.first);
  }
  BufferRef of_child(const BufferRef& all, const TreeChild& child) const {
    return bytes_at(all, at(child.first), bytes_of(child));
  }

  B& b_;
  const std::vector<int> order_;
  std::vector<int64_t> offsets_;
  Tree tree_;
  int position_ = 0;  // of this rank, in the order
};

}  // namespace mpc::nbc

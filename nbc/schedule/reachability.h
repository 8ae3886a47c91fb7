#pragma once
// Reachability: which nodes of a schedule come after which, as a bit matrix.
//
// Role:      the verifier asks it before it calls two accesses a race.
// Users:     nbc/schedule/verify.cpp.
// Threads:   one at a time.
// See also:  nbc/schedule/verify.h.

#include <cstdint>
#include <vector>

#include "nbc/schedule/schedule.h"

namespace mpc::nbc {

class Reachability {
 public:
  explicit Reachability(const Schedule& schedule)
      : count_(schedule.nodes().size()),
        words_((count_ + 63) / 64),
        bits_(count_ * words_) {
    const auto nodes = schedule.nodes();
    std::vector<uint32_t> waiting(count_);
    for (size_t i = 0; i < count_; ++i) waiting[i] = nodes[i].predecessor_count;
    std::vector<NodeId> order(schedule.start_nodes().begin(),
                              schedule.start_nodes().end());
    for (size_t i = 0; i < order.size(); ++i)
      for (NodeId next : schedule.successors(nodes[order[i]]))
        if (--waiting[next] == 0) order.push_back(next);
    position_.resize(count_);
    for (size_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
    for (size_t i = order.size(); i-- > 0;) {
      uint64_t* row = &bits_[order[i] * words_];
      for (NodeId next : schedule.successors(nodes[order[i]])) {
        row[next / 64] |= 1ull << (next % 64);
        for (size_t w = 0; w < words_; ++w) row[w] |= bits_[next * words_ + w];
      }
    }
  }
  bool is_before(NodeId a, NodeId b) const {
    return bits_[a * words_ + b / 64] >> (b % 64) & 1;
  }
  bool are_ordered(NodeId a, NodeId b) const {
    return is_before(a, b) || is_before(b, a);
  }
  size_t position(NodeId id) const { return position_[id]; }

 private:
  size_t count_, words_;
  std::vector<uint64_t> bits_;
  std::vector<size_t> position_;
};

}  // namespace mpc::nbc

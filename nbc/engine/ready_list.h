#pragma once
// ReadyList: nodes that wait for nothing any more, in the order in which they will run.
//
// Role:      a chain through NodeState::next_ready, first in, first out.
// Users:     nbc/engine.
// Threads:   one execution; the list lives in its RunContext, or on its stack.
// See also:  nbc/engine/run_context.h.

#include "nbc/engine/collective.h"

namespace mpc::nbc {

class ReadyList {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  NodeState* first() const noexcept { return first_; }
  NodeState* last() const noexcept { return last_; }  // valid unless empty()

  void append(NodeState& node) noexcept {
    node.next_ready = nullptr;
    (first_ != nullptr ? last_->next_ready : first_) = &node;
    last_ = &node;
  }
  void append_chain(NodeState* node) noexcept {
    while (node != nullptr) {
      NodeState* const next = node->next_ready;
      append(*node);
      node = next;
    }
  }
  // Adds node `id` of `owner`, which has become ready.
  void push(Collective& owner, NodeId id, bool goes_up = false) noexcept {
    NodeState& node = owner.states[id];
    node.goes_up = goes_up;
    node.owner = &owner;
    node.id = id;
    append(node);
  }
  // Requires: not empty.
  NodeState& pop() noexcept {
    NodeState& node = *first_;
    first_ = node.next_ready;
    return node;
  }
  // Takes all of them, as a chain; null if there are none.
  NodeState* take_all() noexcept {
    NodeState* const all = first_;
    first_ = nullptr;
    return all;
  }

 private:
  NodeState* first_ = nullptr;
  NodeState* last_ = nullptr;  // undefined while first_ is null
};

}  // namespace mpc::nbc

#pragma once
// CopyBatch: the copies of several messages that are started together.
//
// Role:      if a node starts several messages in the background, their copies are spread over
//            free cores.
// Users:     nbc/engine.
// Threads:   lives on the stack of one execution.
// See also:  runtime/message/background.h.

#include "runtime/message/work.h"

namespace mpc::msg {

// While this object lives, copies that this execution finds are collected; at its end they are
// made, or left to progress threads if there are several copies and cores are free. For a
// background node that starts several messages.
class CopyBatch {
 public:
  CopyBatch() noexcept : is_outermost_(work_.begin_collecting()) {}
  ~CopyBatch() {
    if (is_outermost_) work_.end_collecting();
  }
  CopyBatch(const CopyBatch&) = delete;
  CopyBatch& operator=(const CopyBatch&) = delete;

 private:
  Work work_;
  const bool is_outermost_;
};

}  // namespace mpc::msg

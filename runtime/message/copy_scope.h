#pragma once
// CopyScope: the buffers between which the calling thread copies, for the report of a crash.
//
// Role:      one side of a message copies for both. A fault in the other side's buffer is that
//            side's fault, and the report has to say so. Costs two stores per copy.
// Users:     runtime/message, where data of another rank are touched.
// Threads:   the calling one; read by its own signal handler.
// See also:  runtime/job/crash.h (at_fault).

#include <atomic>

#include "runtime/message/request.h"

namespace mpc::msg {

class CopyScope {
 public:
  // Null: the memory of that side is the caller's own.
  CopyScope(const Operation* receive, const Operation* send) noexcept
      : has_receive_(receive != nullptr), has_send_(send != nullptr) {
    if (has_receive_) t_receive = receive;
    if (has_send_) t_send = send;
    std::atomic_signal_fence(std::memory_order_release);  // before the copy
  }
  ~CopyScope() {
    std::atomic_signal_fence(std::memory_order_release);
    if (has_receive_) t_receive = nullptr;
    if (has_send_) t_send = nullptr;
  }
  CopyScope(const CopyScope&) = delete;

  static const Operation* receive() noexcept { return t_receive; }
  static const Operation* send() noexcept { return t_send; }

 private:
  static thread_local constinit const Operation* t_receive;
  static thread_local constinit const Operation* t_send;
  const bool has_receive_, has_send_;  // constants where it is inlined
};

// The same for a long copy that another rank may take part in: visible to all threads.
class SharedCopyScope {
 public:
  SharedCopyScope(const Operation& receive, const Operation& send) noexcept;
  ~SharedCopyScope();
  SharedCopyScope(const SharedCopyScope&) = delete;

  const Operation& receive;
  const Operation& send;

 private:
  std::atomic<const SharedCopyScope*>* entry_ = nullptr;
};

}  // namespace mpc::msg

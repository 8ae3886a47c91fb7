#include "runtime/transport/ucx/under_way.h"

namespace mpc::transport::ucx {

void UnderWay::add(Operation& op) noexcept {
  const Locked locked(lock_);
  op.behind = first_;
  if (first_ != nullptr) first_->before = &op;
  first_ = &op;
}

Completion* UnderWay::begin_done(Operation& op) noexcept {
  const Locked locked(lock_);
  if (op.before != nullptr) {
    op.before->behind = op.behind;
  } else {
    first_ = op.behind;
  }
  if (op.behind != nullptr) op.behind->before = op.before;
  if (op.is_over != nullptr) *op.is_over = true;
  running_ = op.completion;
  return op.completion;
}

void UnderWay::end_done() noexcept {
  const Locked locked(lock_);
  running_ = nullptr;
}

UnderWay::Forgotten UnderWay::begin_forget(const Completion& completion,
                                           bool& is_over) noexcept {
  const Locked locked(lock_);
  is_over = true;
  for (Operation* op = first_; op != nullptr; op = op->behind) {
    if (op->completion != &completion) continue;
    op->completion = nullptr;
    op->is_over = &is_over;
    is_over = false;
    if (op->kind != Task::Kind::kOffer) return {};
    return {op->peer, static_cast<const Offer*>(op)->number};
  }
  return {};
}

bool UnderWay::may_leave(const Completion& completion, const bool& is_over) noexcept {
  const Locked locked(lock_);
  return is_over && running_ != &completion;
}

}  // namespace mpc::transport::ucx

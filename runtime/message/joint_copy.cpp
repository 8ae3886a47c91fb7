#include "runtime/message/joint_copy.h"

#include <cstdint>

#include "runtime/job/job.h"
#include "runtime/message/copy_scope.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/main_execution.h"
#include "scheduler/emulation/emulation.h"

namespace mpc::msg {
namespace {

bool overlap(const void* a, const void* b, size_t n) noexcept {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return (x < y ? y - x : x - y) < n;
}

// Perhaps it computes: then it may come to a wait while the copy lasts, and an offer costs little.
bool may_help(const Mailbox& of) noexcept {
  return !is_main(of, sched::Execution::self());
}

// One side, for the report of a crash.
void describe(Operation& side, Mailbox* of, void* buffer, size_t n, bool is_send) {
  side.is_send = is_send;
  side.mailbox = side.origin = of;
  side.buffer = buffer;
  side.count = static_cast<Count>(n);
  side.type = dt::predefined(dt::abi::kByte);
}

}  // namespace

bool copy_jointly(job::Rank& other, void* to, const void* from, size_t n,
                  Copied which) noexcept {
  Mailbox& helper = mailbox_of(other);
  if (!SharedCopy::pays(static_cast<int64_t>(n)) || !may_help(helper) ||
      overlap(to, from, n) || sched::Emulation::is_on())
    return false;
  job::Rank* const self = job::current_rank();
  Mailbox* const own = self != nullptr ? self->mailbox : nullptr;
  const bool is_to_other = which == Copied::kToOther;
  Operation receive, send;
  describe(receive, is_to_other ? &helper : own, to, n, false);
  describe(send, is_to_other ? own : &helper, const_cast<void*>(from), n, true);
  const SharedCopyScope scope(receive, send);
  return helper.shared_copy.offer(to, from, n);
}

}  // namespace mpc::msg

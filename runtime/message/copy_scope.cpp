#include "runtime/message/copy_scope.h"

#include <algorithm>
#include <cstdint>

#include "runtime/job/crash.h"
#include "runtime/job/report_text.h"
#include "runtime/message/mailbox.h"

namespace mpc::msg {

thread_local constinit const Operation* CopyScope::t_receive = nullptr;
thread_local constinit const Operation* CopyScope::t_send = nullptr;

namespace {

// Is the address in the span of `count` elements at `buffer`?
bool covers(const Operation& op, const void* address) noexcept {
  const Count last = (op.count - 1) * op.type->extent();
  const Count low = op.type->true_lb() + std::min<Count>(last, 0);
  const Count high =
      op.type->true_lb() + op.type->true_extent() + std::max<Count>(last, 0);
  const auto offset = static_cast<Count>(reinterpret_cast<uintptr_t>(address) -
                                         reinterpret_cast<uintptr_t>(op.buffer));
  return op.count > 0 && offset >= low && offset < high;
}

const job::Rank* rank_of(const Mailbox* mailbox) noexcept {
  return mailbox != nullptr ? mailbox->owner.load(std::memory_order_relaxed) : nullptr;
}

// ", copying to the buffer of rank 1's MPI_Recv".
void blame(const Operation& op, const Mailbox* mailbox, job::ReportText& text) {
  const job::Rank* rank = rank_of(mailbox);
  if (rank == nullptr || rank == job::current_rank()) return;
  // Operations of blocking calls are on the stack, and still there; for other operations only the
  // rank itself knows which call began them.
  const char* call = nullptr;
  if (const sched::Execution* execution = rank->execution) {
    const auto stack = execution->stack();
    const auto* at = reinterpret_cast<const char*>(&op);
    if (at >= stack.low && at < stack.low + stack.bytes) call = execution->call();
  }
  const char* const what = op.is_send ? "send" : "receive";
  text.add(FMT_STRING(", copying {} the buffer of rank {}'s {}"),
           op.is_send ? "from" : "to", rank->world_rank, call != nullptr ? call : what);
}

void explain_by(const Operation* receive, const Operation* send, const void* address,
                job::ReportText& text) {
  if (receive != nullptr && covers(*receive, address))
    return blame(*receive, receive->mailbox, text);
  if (send != nullptr && covers(*send, address)) blame(*send, send->origin, text);
}

// One per core is usual; further ones are not explained.
constexpr int kMostShared = 64;
constinit std::atomic<const SharedCopyScope*> g_shared[kMostShared]{};

void explain(const void* address, job::ReportText& text) {
  explain_by(CopyScope::receive(), CopyScope::send(), address, text);
  const bool is_copying =
      CopyScope::receive() != nullptr || CopyScope::send() != nullptr;
  if (is_copying || sched::Execution::self().call() == nullptr) return;
  for (const auto& entry : g_shared) {
    // Acquire pairs with the constructor's release.
    const SharedCopyScope* copy = entry.load(std::memory_order_acquire);
    const size_t before = text.view().size();
    if (copy != nullptr) explain_by(&copy->receive, &copy->send, address, text);
    if (text.view().size() != before) return;
  }
}

__attribute__((constructor)) void register_hook() { job::crash::at_fault(&explain); }

}  // namespace

SharedCopyScope::SharedCopyScope(const Operation& to, const Operation& from) noexcept
    : receive(to), send(from) {
  for (auto& entry : g_shared) {
    const SharedCopyScope* none = nullptr;
    // Release pairs with explain().
    if (!entry.compare_exchange_strong(none, this, std::memory_order_release,
                                       std::memory_order_relaxed))
      continue;
    entry_ = &entry;
    return;
  }
}

SharedCopyScope::~SharedCopyScope() {
  if (entry_ != nullptr) entry_->store(nullptr, std::memory_order_release);
}

}  // namespace mpc::msg

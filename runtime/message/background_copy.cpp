// Copies as items of progress threads: which thread gets a copy, and how it makes it.
#include "base/counter.h"
#include "base/trace.h"
#include "runtime/message/background.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/work.h"

namespace mpc::msg {
namespace {

Counter copy_counter{"message.background_copies", "Copies left to progress threads"};

// Runs on the progress thread, or on the thread that took the item back.
void run_copy(sched::ProgressItem& item) noexcept {
  Operation& receive = *static_cast<BackgroundCopy&>(item).receive;
  Entry* const message = receive.match;
  Work work;
  work.add_begun(receive, *message);
  work.run();
}

bool submit_copy(job::Rank& rank, Operation& receive, Operation& send, int64_t bytes,
                 sched::ProgressNeed need) noexcept {
  // A thread that waits for either side may look for the item as soon as it is queued.
  BackgroundCopy& copy = receive.in_background.copy;
  copy.run = &run_copy;
  copy.receive = &receive;
  send.in_background.item = receive.in_background.item = &copy;
  // Release pairs with take_back().
  receive.background.store(rank.progress, std::memory_order_release);
  send.background.store(rank.progress, std::memory_order_release);
  const job::Rank* const sender =
      send.origin != nullptr ? send.origin->owner.load(std::memory_order_relaxed)
                             : nullptr;
  const job::Rank* const receiver =
      receive.mailbox->owner.load(std::memory_order_relaxed);
  const auto data = sender != nullptr && receiver != nullptr
                        ? place_of_data(*receiver, *sender, receive.whole_bytes)
                        : sched::ProgressData{};
  if (rank.progress->submit(copy, bytes, need, data)) {
    copy_counter.add();
    call_waiting(rank);
    return true;
  }
  receive.background.store(nullptr, std::memory_order_relaxed);
  send.background.store(nullptr, std::memory_order_relaxed);
  return false;
}

job::Rank* rank_with_thread(const Mailbox* mailbox) noexcept {
  job::Rank* rank =
      mailbox != nullptr ? mailbox->owner.load(std::memory_order_relaxed) : nullptr;
  return rank != nullptr && rank->progress != nullptr ? rank : nullptr;
}

}  // namespace

bool leave_to_progress(Operation& receive, Entry& message, bool has_more) noexcept {
  if (message.kind != Entry::kRendezvous) return false;
  const bool is_short = ShortCall::is_inside();
  if (!is_short && !has_more && waits_help()) return false;
  auto& send = static_cast<Operation&>(message);
  if (receive.is_for_application || send.is_for_application || is_awaited(receive))
    return false;
  job::Rank* const rank = rank_with_thread(receive.mailbox);
  if (rank == nullptr) return false;
  // Several copies to one rank, as to the root of a gather, run side by side if cores are free:
  // copies that would wait for others go to their sender's thread.
  if (rank->progress->is_busy()) {
    job::Rank* const sender = rank_with_thread(send.origin);
    if (sender != nullptr && sender->progress->is_running_here()) {
      if (!sender->progress->has_items() &&
          submit_copy(*sender, receive, send, message.bytes,
                      sched::ProgressNeed::kAnyCore))
        return true;
    } else if (sender != nullptr && !sender->progress->is_busy() &&
               submit_copy(*sender, receive, send, message.bytes,
                           sched::ProgressNeed::kFreeCore)) {
      return true;
    }
  }
  const auto need = is_short || !waits_help() ? sched::ProgressNeed::kAnyCore
                                              : sched::ProgressNeed::kFreeCore;
  return submit_copy(*rank, receive, send, message.bytes, need);
}

}  // namespace mpc::msg

// Long messages: which way they go, and what polls do for those that are copied here.
#include <sched.h>

#include "runtime/transport/host/host_net.h"
#include "scheduler/as_nobody.h"

namespace mpc::transport::host {
namespace {

using sched::AsNobody;

// Of long messages, before a poll looks for others again; some 20 us.
constexpr int kMostChunksOfPoll = 4;

}  // namespace

// Data with gaps are packed by the module below while it sends them.
bool HostNet::is_offered_here(int peer, const Source& source) const noexcept {
  const RingReader* const ring = rings_[static_cast<size_t>(peer)];
  return copies_ && source.pack == nullptr && ring != nullptr &&
         lanes_[static_cast<size_t>(peer)] != nullptr && ring->writer_reads();
}

void HostNet::offer(int peer, const Envelope& envelope, const Source& source,
                    Completion& completion) noexcept {
  note_sent();
  if (!is_offered_here(peer, source)) {
    net_.offer(peer, envelope, source, completion);
    return knock(peer);
  }
  const AsNobody as_nobody;
  offers_.add(peer, envelope, source, completion);
}

void HostNet::fetch(int peer, Bulk bulk, const Target& target,
                    Completion& completion) noexcept {
  if (!Fetches::is_ours(bulk)) {
    net_.fetch(peer, bulk, target, completion);
    return knock(peer);
  }
  const AsNobody as_nobody;
  fetches_.start(bulk, target, completion, *rings_[static_cast<size_t>(peer)]);
  // Not from within a completion: one in the other, as many as there are, would need much stack.
  if (!endings_.is_any_running()) endings_.run();
  // The caller may never poll.
  if (!endings_.is_empty() || !fetches_.is_idle()) inbox_->ring_own();
}

void HostNet::refuse(int peer, Bulk bulk) noexcept {
  if (!Fetches::is_ours(bulk)) {
    net_.refuse(peer, bulk);
    return knock(peer);
  }
  const AsNobody as_nobody;
  fetches_.refuse(bulk);
}

void HostNet::forget(Completion& completion) noexcept {
  const AsNobody as_nobody;
  const bool is_offer = offers_.begin_forget(completion);
  const bool is_fetch = !is_offer && fetches_.begin_forget(completion);
  if (!is_offer && !is_fetch) {
    endings_.drop(completion);
    while (endings_.is_running(completion)) ::sched_yield();
    return net_.forget(completion);
  }
  // The other process must have finished with the memory.
  while ((is_offer && !offers_.is_forgotten(completion)) ||
         (is_fetch && !fetches_.is_forgotten(completion)))
    if (!poll()) ::sched_yield();
}

bool HostNet::work_on_long() noexcept {
  bool has_news = endings_.run(), has_helped = false;
  for (int i = 0; i < kMostChunksOfPoll && fetches_.work(); ++i) has_news = true;
  for (int i = 0; i < kMostChunksOfPoll && !has_news && offers_.help(); ++i)
    has_helped = true;
  return endings_.run() || has_news || has_helped;
}

bool HostNet::has_long_work() noexcept {
  return !endings_.is_empty() ||
         (!fetches_.is_idle(std::memory_order_seq_cst) && fetches_.has_work()) ||
         (!offers_.is_idle() && offers_.could_help());
}

}  // namespace mpc::transport::host

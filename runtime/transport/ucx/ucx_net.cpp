// Sending: the lock, the outbox, and how each task begins.
#include "runtime/transport/ucx/ucx_net.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

namespace mpc::transport::ucx {
namespace {

constexpr size_t kDefaultEagerBytes = 8192;  // as message.eager_limit
constexpr size_t kMostIdlePostings = 64;     // some 8 KiB each
// Up to so many bytes stand behind their head, in one piece: to copy them takes less time than what UCX and the
// system need for a list of pieces.
constexpr size_t kWholeBytes = 1024;
constexpr uint64_t kFlushNs = 1'000'000'000;  // a dead peer must not delay us

}  // namespace

void Posting::keep_data() {
  copy.resize(bytes);
  if (bytes != 0) {
    if (pack != nullptr) {
      pack(data, 0, copy.data(), bytes);
    } else {
      std::memcpy(copy.data(), data, bytes);
    }
  }
  data = copy.data();
  pack = nullptr;
}

// --- beginning and end -------------------------------------------------------------------------

Result<> UcxNet::open() {
  auto opened = UcpWorker::open(*this, config_.processes);
  if (!opened.ok()) return opened.error();
  ucp_ = std::move(*opened);
  // UCX copies a message that is longer than one piece once more, into memory that it allocates.
  if (ucp_->piece_bytes() < 2 * kMostHeadBytes)
    return {Errc::kSystem, "UCX: no network that carries pieces of some length"};
  const size_t wanted =
      config_.eager_bytes != 0 ? config_.eager_bytes : kDefaultEagerBytes;
  eager_bytes_ = std::min(wanted, ucp_->piece_bytes() - kMessageHeadBytes);
  return {};
}

Result<> UcxNet::connect(std::vector<NetPeer> peers, Receiver& receiver) {
  if (peers.size() != static_cast<size_t>(config_.processes))
    return {Errc::kSystem, "addresses of " + std::to_string(peers.size()) +
                               " processes in a job of " +
                               std::to_string(config_.processes)};
  ucp_->set_peers(std::move(peers));
  receiver_ = &receiver;
  return {};
}

UcxNet::~UcxNet() MPC_NO_THREAD_SAFETY_ANALYSIS {  // there is no other thread here
  receiver_ = nullptr;
  if (ucp_ != nullptr) {
    serve_outbox();
    ucp_->flush(kFlushNs);
  }
  ucp_.reset();
  for (const auto& [key, arrived] : arrived_) delete arrived;
}

// --- the lock ----------------------------------------------------------------------------------

bool UcxNet::try_begin() noexcept {
  if (lock_.is_locked() || !lock_.try_lock()) return false;
  // First the waiting tasks, so that the tasks of one thread keep their order.
  serve_outbox();
  return true;
}

// Why no task is left behind: a task that is pushed while the lock is held is seen either by
// confirm_empty() after the unlock, or, if the push comes later, its pusher sees the unlock, and then
// acquires the lock itself (see leave()). The analysis does
// not follow a lock that is acquired again.
void UcxNet::end() noexcept MPC_NO_THREAD_SAFETY_ANALYSIS {
  for (;;) {
    serve_outbox();
    if (is_armed_ && is_poll_due_) {
      is_armed_ = false;
      ucp_->signal();
    }
    lock_.unlock();
    if (outbox_.confirm_empty() || !lock_.try_lock()) return;
  }
}

void UcxNet::leave(Task& task) noexcept {
  // acq_rel: pairs with confirm_empty(), both ways.
  outbox_.push(task, std::memory_order_acq_rel);
  if (lock_.try_lock()) end();
}

void UcxNet::serve_tasks() noexcept {
  while (!outbox_.is_empty()) {
    Task* task = outbox_.take_oldest_first();
    while (task != nullptr) {
      Task* const next = task->next;
      serve(*task);
      task = next;
    }
  }
}

void UcxNet::serve(Task& task) noexcept {
  switch (task.kind) {
    case Task::Kind::kPosting: {
      auto& posting = static_cast<Posting&>(task);
      if (!ucp_->send_short(posting.peer, posting.head, posting.head_bytes,
                            posting.data, posting.bytes))
        return send(posting);
      return give_back(posting);
    }
    case Task::Kind::kOffer:
      return start(static_cast<Offer&>(task));
    case Task::Kind::kFetch:
      return start(static_cast<Fetch&>(task));
    case Task::Kind::kRefuse:
      refuse(*static_cast<Refusal&>(task).arrived);
      delete &static_cast<Refusal&>(task);
      return;
    case Task::Kind::kRecall:
      recall(static_cast<Recall&>(task));
      delete &static_cast<Recall&>(task);
      return;
    case Task::Kind::kGreet:
      greeting_.waiting = &static_cast<Greet&>(task).completion;
      delete &static_cast<Greet&>(task);
      return greet_all(0);
    case Task::Kind::kLoss:
      ucp_->lose(task.peer);
      delete &static_cast<Loss&>(task);
      return;
  }
}

// --- Net ---------------------------------------------------------------------------------------

void UcxNet::post(int peer, const Envelope& envelope, const Source& source) noexcept {
  const Head head{HeadKind::kMessage, static_cast<uint32_t>(config_.process), 0,
                  envelope};
  if (try_begin()) {
    send(peer, head, source);
    return end();
  }
  auto* const posting = new Posting;
  posting->describe(peer, head, source);
  posting->keep_data();
  leave(*posting);
}

void UcxNet::offer(int peer, const Envelope& envelope, const Source& source,
                   Completion& completion) noexcept {
  auto* const offer = new Offer(peer);
  offer->number = last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
  offer->completion = &completion;
  offer->head_bytes =
      encode({source.bytes == 0 ? HeadKind::kEmptyOffer : HeadKind::kOffer,
              static_cast<uint32_t>(config_.process), offer->number, envelope},
             offer->head);
  offer->data = const_cast<void*>(source.data);
  offer->bytes = source.bytes;
  offer->pack = source.pack;
  under_way_.add(*offer);
  if (!try_begin()) return leave(*offer);
  start(*offer);
  end();
}

void UcxNet::fetch(int peer, Bulk bulk, const Target& target,
                   Completion& completion) noexcept {
  auto* const fetch = new Fetch(peer);
  fetch->completion = &completion;
  fetch->arrived = reinterpret_cast<Arrived*>(bulk);
  fetch->data = target.data;
  fetch->bytes = target.bytes;
  fetch->unpack = target.unpack;
  under_way_.add(*fetch);
  if (!try_begin()) return leave(*fetch);
  start(*fetch);
  end();
}

void UcxNet::refuse(int peer, Bulk bulk) noexcept {
  auto* const arrived = reinterpret_cast<Arrived*>(bulk);
  if (!try_begin()) return leave(*new Refusal(peer, arrived));
  refuse(*arrived);
  end();
}

void UcxNet::forget(Completion& completion) noexcept {
  bool is_over = false;
  const UnderWay::Forgotten op = under_way_.begin_forget(completion, is_over);
  if (op.peer >= 0) leave(*new Recall(op.peer, op.number));
  // UCX cannot be made to release memory: the other process has to end the transfer.
  while (!under_way_.may_leave(completion, is_over))
    if (!poll()) ::sched_yield();
}

// --- under the lock ----------------------------------------------------------------------------

void UcxNet::send(int peer, const Head& head, const Source& source) noexcept {
  if (source.pack == nullptr && source.bytes <= kWholeBytes) {
    char whole[kMostHeadBytes + kWholeBytes];
    const size_t n = encode(head, whole);
    if (source.bytes != 0) std::memcpy(whole + n, source.data, source.bytes);
    if (ucp_->send_short(peer, nullptr, 0, whole, n + source.bytes)) return;
  } else if (source.pack == nullptr) {
    char bytes[kMostHeadBytes];
    const size_t n = encode(head, bytes);
    if (ucp_->send_short(peer, bytes, n, source.data, source.bytes)) return;
  }
  Posting& posting = take_posting();
  posting.describe(peer, head, source);
  send(posting);
}

void UcxNet::send(Posting& posting) noexcept {
  const Progress progress =
      ucp_->send_eager(posting.peer, posting.head, posting.head_bytes, posting);
  if (progress != Progress::kUnderWay) return give_back(posting);
  if (posting.data != posting.copy.data()) posting.keep_data();
  is_poll_due_ = true;
}

void UcxNet::send_note(int peer, HeadKind kind, uint64_t number) noexcept {
  send(peer, {kind, static_cast<uint32_t>(config_.process), number, {}}, {});
}

void UcxNet::start(Offer& offer) noexcept {
  if (offer.bytes == 0) {
    offer.data = &offer.nothing;
    offer.bytes = 1;
    offer.pack = nullptr;
  }
  offers_.emplace(offer.number, &offer);
  const Progress progress =
      ucp_->send_rendezvous(offer.peer, offer.head, offer.head_bytes, offer);
  if (progress != Progress::kUnderWay) return ended(offer, progress == Progress::kDone);
  is_poll_due_ = true;  // it may not have left
}

void UcxNet::start(Fetch& fetch) noexcept {
  Arrived& arrived = *fetch.arrived;
  if (arrived.descriptor == nullptr) {
    drop(arrived);
    return end_operation(fetch, Outcome::kGone);
  }
  if (ucp_->is_lost(arrived.from)) {
    // UCX may have freed what it needs for an answer: its descriptor stays until UCX is destroyed.
    drop(arrived);
    return end_operation(fetch, Outcome::kGone);
  }
  if (fetch.bytes < arrived.bytes) {  // UCX would write beyond the end
    refuse(arrived);
    return end_operation(fetch, Outcome::kGone);
  }
  if (arrived.bytes == 0) {
    fetch.data = &fetch.nothing;
    fetch.unpack = nullptr;
  }
  fetch.bytes = std::max<size_t>(arrived.bytes, 1);
  const Progress progress = ucp_->receive(arrived.descriptor, fetch);
  drop(arrived);
  if (progress != Progress::kUnderWay)
    return end_operation(fetch,
                         progress == Progress::kDone ? Outcome::kDone : Outcome::kGone);
  is_poll_due_ = true;
}

// The sender has to know before the rendezvous ends: otherwise it would take the end for a fetch.
void UcxNet::refuse(Arrived& arrived) noexcept {
  if (arrived.descriptor == nullptr) return drop(arrived);
  arrived.is_refused = true;
  send_note(arrived.from, HeadKind::kRefuse, arrived.number);
}

void UcxNet::recall(const Recall& what) noexcept {
  // It may have ended meanwhile; a recall is not repeated.
  if (offers_.count(what.number) != 0)
    send_note(what.peer, HeadKind::kRecall, what.number);
}

void UcxNet::end_operation(Operation& op, Outcome outcome) noexcept {
  op.outcome = outcome;
  op.next_ended = first_ended_;
  first_ended_ = &op;
  is_poll_due_ = true;
}

Posting& UcxNet::take_posting() noexcept {
  if (idle_.empty()) return *new Posting;
  Posting* const posting = idle_.back().release();
  idle_.pop_back();
  return *posting;
}

void UcxNet::give_back(Posting& posting) noexcept {
  if (idle_.size() < kMostIdlePostings) {
    idle_.emplace_back(&posting);
  } else {
    delete &posting;
  }
}

}  // namespace mpc::transport::ucx

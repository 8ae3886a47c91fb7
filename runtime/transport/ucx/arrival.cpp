// Arrivals: from UCX within progress(), and what a poll does with them.
#include <algorithm>
#include <utility>

#include "runtime/transport/ucx/ucx_net.h"

namespace mpc::transport::ucx {
namespace {

// At most so many steps of UCX in a poll, if none brings anything for a rank.
constexpr int kMostSteps = 16;

// Offers of all processes in one table. Numbers count offers, so 2^44 are enough.
uint64_t key_of(uint64_t from, uint64_t number) {
  constexpr int kNumberBits = 44;
  return from << kNumberBits | number;
}

}  // namespace

// --- within progress(): its caller has both locks, which the analysis does not see ---------------

void UcxNet::came(const void* header, size_t header_bytes, const void* data,
                  size_t bytes) noexcept {
  Head head;
  const bool is_whole = header_bytes == 0;  // the head stands before the data
  const size_t length =
      is_whole ? decode(data, bytes, &head) : decode(header, header_bytes, &head);
  if (length == 0) return failed(-1, "a message that is not of this MPI");
  if (is_whole) {
    data = static_cast<const char*>(data) + length;
    bytes -= length;
  }
  switch (head.kind) {
    case HeadKind::kMessage:
      if (is_for_taker(head, data, bytes)) return;
      return take(head, data, bytes, 0);
    case HeadKind::kRefuse:
      return take_refusal(head);
    case HeadKind::kRefusalSeen:
    case HeadKind::kRecall:
      return take_recall(head);
    case HeadKind::kGreeting:
      return take_greeting(head);
    case HeadKind::kOffer:
    case HeadKind::kEmptyOffer:
      break;  // they arrive as offered()
  }
}

bool UcxNet::offered(const void* header, size_t header_bytes, void* descriptor,
                     size_t bytes) noexcept MPC_NO_THREAD_SAFETY_ANALYSIS {
  Head head;
  if (decode(header, header_bytes, &head) == 0) {
    failed(-1, "an offer that is not of this MPI");
    return false;
  }
  if (receiver_ == nullptr) return false;
  const uint64_t key = key_of(head.from, head.number);
  const bool is_recalled = recalled_.erase(key) != 0;
  auto* const arrived = new Arrived{static_cast<int>(head.from), head.number,
                                    is_recalled ? nullptr : descriptor,
                                    head.kind == HeadKind::kEmptyOffer ? 0 : bytes};
  arrived_.emplace(key, arrived);
  take(head, nullptr, 0, reinterpret_cast<Bulk>(arrived));
  return !is_recalled;
}

bool UcxNet::is_for_taker(const Head& head, const void* data,
                          size_t bytes) noexcept MPC_NO_THREAD_SAFETY_ANALYSIS {
  if (awaited_.taker == nullptr || static_cast<int>(head.from) != awaited_.peer ||
      !awaited_.taker->take(head.envelope, data, bytes))
    return false;
  awaited_.taker = nullptr;
  awaited_.is_taken = true;
  return true;
}

void UcxNet::take(const Head& head, const void* data, size_t bytes,
                  Bulk bulk) noexcept MPC_NO_THREAD_SAFETY_ANALYSIS {
  if (receiver_ == nullptr) return;
  const int from = static_cast<int>(head.from);
  is_finish_due_ = true;
  if (receiver_->take(from, head.envelope, data, bytes, bulk)) return;
  // A copy: UCX has only a limited number of buffers to lend, and others wait for them.
  const char* const first = static_cast<const char*>(data);
  kept_.push_back({from, head.envelope, {first, first + bytes}, bulk});
}

// The offer still exists: its rendezvous does not end before the answer.
void UcxNet::take_refusal(const Head& head) noexcept MPC_NO_THREAD_SAFETY_ANALYSIS {
  const auto found = offers_.find(head.number);
  if (found == offers_.end()) return;  // its peer was lost
  found->second->is_refused = true;
  send_note(static_cast<int>(head.from), HeadKind::kRefusalSeen, head.number);
}

// For an offer that this process has refused, or that the sender wants back.
void UcxNet::take_recall(const Head& head) noexcept MPC_NO_THREAD_SAFETY_ANALYSIS {
  const uint64_t key = key_of(head.from, head.number);
  const auto found = arrived_.find(key);
  if (head.kind == HeadKind::kRefusalSeen) {
    if (found == arrived_.end()) return;
    Arrived& arrived = *found->second;
    if (arrived.descriptor != nullptr) ucp_->release(arrived.descriptor);
    return drop(arrived);
  }
  if (found == arrived_.end()) {
    // Not here yet, or fetched already: then the number is kept, which costs some bytes.
    recalled_.insert(key);
  } else if (!found->second->is_refused) {
    ucp_->release(std::exchange(found->second->descriptor, nullptr));
  }
}

void UcxNet::ended(Transfer& transfer,
                   bool is_ok) noexcept MPC_NO_THREAD_SAFETY_ANALYSIS {
  auto& task = static_cast<Task&>(transfer);
  if (task.kind == Task::Kind::kPosting) return give_back(static_cast<Posting&>(task));
  if (task.kind == Task::Kind::kFetch)
    return end_operation(static_cast<Fetch&>(task),
                         is_ok ? Outcome::kDone : Outcome::kGone);
  auto& offer = static_cast<Offer&>(task);
  offers_.erase(offer.number);
  // Without an answer: the connection is lost.
  const Outcome unless_refused = is_ok ? Outcome::kDone : Outcome::kGone;
  end_operation(offer, offer.is_refused ? Outcome::kRefused : unless_refused);
}

void UcxNet::failed(int peer,
                    const std::string& why) noexcept MPC_NO_THREAD_SAFETY_ANALYSIS {
  problems_.push_back({peer, why});
  is_poll_due_ = true;
}

void UcxNet::drop(Arrived& arrived) noexcept {
  arrived_.erase(key_of(static_cast<uint64_t>(arrived.from), arrived.number));
  delete &arrived;
}

// --- polling -----------------------------------------------------------------------------------

bool UcxNet::poll() noexcept {
  if (!try_turn()) return false;
  const bool has_news = poll_in_turn();
  turn_.unlock();
  return has_news;
}

Polled UcxNet::poll_for(int peer, NextTaker& taker) noexcept {
  if (!try_turn()) return Polled::kNothing;
  awaited_ = {peer, &taker, false};
  const bool has_news = poll_in_turn();
  const bool is_taken = awaited_.is_taken;
  awaited_ = {};
  turn_.unlock();
  if (is_taken) return Polled::kTaken;
  return has_news ? Polled::kNews : Polled::kNothing;
}

bool UcxNet::poll_in_turn() noexcept {
  bool has_news = take_kept();
  Operation* ended = nullptr;
  std::vector<Problem> problems;
  Completion* connected = nullptr;
  if (try_begin()) {
    is_armed_ = false;
    for (int step = 0; step < kMostSteps && ucp_->progress(); ++step) {
      has_news = true;
      serve_outbox();
      // Somebody waits for it. A step that finds nothing more is a system call over sockets.
      if (is_finish_due_ || awaited_.is_taken || first_ended_ != nullptr) break;
    }
    serve_outbox();
    is_poll_due_ = false;
    if (greeting_.waiting != nullptr) [[unlikely]]
      connected = advance_greeting();
    ended = std::exchange(first_ended_, nullptr);
    problems.swap(problems_);
    end();
  }
  has_news = run_ended(ended) || has_news;
  if (connected != nullptr) {
    connected->done(*connected, Outcome::kDone);
    has_news = true;
  }
  if (is_finish_due_) is_finish_due_ = !receiver_->finish();
  report(problems);
  return has_news;
}

bool UcxNet::take_kept() noexcept MPC_NO_THREAD_SAFETY_ANALYSIS {
  if (kept_.empty()) return false;
  is_finish_due_ = true;
  const auto is_taken = [this](const Kept& k) {
    return receiver_->take(k.from, k.envelope, k.data.data(), k.data.size(), k.bulk);
  };
  return std::erase_if(kept_, is_taken) != 0;
}

bool UcxNet::run_ended(Operation* first) noexcept {
  // The last one is first in the list.
  Operation* in_order = nullptr;
  while (first != nullptr) {
    Operation* const next = first->next_ended;
    first->next_ended = in_order;
    in_order = first;
    first = next;
  }
  const bool has_news = in_order != nullptr;
  while (in_order != nullptr) {
    Operation& op = *in_order;
    in_order = op.next_ended;
    if (Completion* const completion = under_way_.begin_done(op))
      completion->done(*completion, op.outcome);
    under_way_.end_done();
    if (op.kind == Task::Kind::kOffer) {
      delete &static_cast<Offer&>(op);
    } else {
      delete &static_cast<Fetch&>(op);
    }
  }
  return has_news;
}

void UcxNet::report(const std::vector<Problem>& problems) noexcept {
  if (config_.report == nullptr) return;
  for (const Problem& problem : problems)
    config_.report(config_.report_context, problem.peer, problem.text.c_str());
}

// Only UCX could make a poll useful.
bool UcxNet::is_at_rest() const noexcept {
  return kept_.empty() && !is_finish_due_ && first_ended_ == nullptr &&
         problems_.empty() && outbox_.is_empty();
}

bool UcxNet::arm() noexcept {
  if (receiver_ == nullptr || !turn_.try_lock()) return false;
  bool is_armed = false;
  if (try_begin()) {
    is_armed = is_at_rest() && ucp_->arm();
    is_armed_ = is_armed;
    is_poll_due_ = false;
    end();
  }
  turn_.unlock();
  return is_armed;
}

}  // namespace mpc::transport::ucx

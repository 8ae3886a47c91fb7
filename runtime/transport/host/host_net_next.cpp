// HostNet: the next message of a process, for an execution that waits for it.
#include "runtime/transport/host/host_net.h"

namespace mpc::transport::host {

// Only a poll does it.
bool HostNet::has_other_work() const noexcept {
  return long_work_.load(std::memory_order_relaxed) != 0 ||
         has_waiting_.load(std::memory_order_relaxed) ||
         is_attentive_.load(std::memory_order_relaxed) || inbox_->sleeps() ||
         is_finish_due_.load(std::memory_order_relaxed);
}

Sign HostNet::next_from(int peer) const noexcept {
  if (is_alone_) return net_.next_from(peer);
  const RingReader* const ring = rings_[static_cast<size_t>(peer)];
  if (ring == nullptr || lanes_[static_cast<size_t>(peer)] == nullptr ||
      has_other_work())
    return {};
  return ring->sign();
}

Near HostNet::look_near() const noexcept {
  if (!are_all_near_ || has_other_work()) return Near::kElsewhere;
  return has_mail(std::memory_order_relaxed) ? Near::kNews : Near::kNothing;
}

// A poll in small: of one ring, for one message. Where the process has said that it sleeps, whoever is woken polls, so
// that the end of the sleep is its business alone.
bool HostNet::take_next(int peer, NextTaker& taker) noexcept {
  if (!turn_.try_lock()) return false;
  note_arrival();
  RingReader& ring = *rings_[static_cast<size_t>(peer)];
  bool is_taken = false;
  if (ring.has_mail() && !inbox_->sleeps() &&
      !is_finish_due_.load(std::memory_order_relaxed)) {
    const RingReader::Message message = ring.front();
    Envelope envelope;
    is_taken = message.kind == CellKind::kMessage && message.is_sane &&
               decode(message.envelope, kEnvelopeBytes, &envelope) &&
               taker.take(envelope, message.data, message.bytes);
    if (is_taken) {
      ring.pop();
      ring.give_back();
    }
  }
  turn_.unlock();
  return is_taken;
}

bool HostNet::poll_near() noexcept {
  if (!turn_.try_lock()) return false;
  note_arrival();
  bool has_news = false;
  if (!inbox_->sleeps()) {
    has_news = take_all();
    if (has_news || is_finish_due_.load(std::memory_order_relaxed))
      is_finish_due_.store(!receiver_->finish(), std::memory_order_relaxed);
  }
  turn_.unlock();
  return has_news;
}

}  // namespace mpc::transport::host

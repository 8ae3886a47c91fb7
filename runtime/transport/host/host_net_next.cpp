// HostNet: the next message of a process, for an execution that waits for it.
#include "runtime/transport/host/host_net.h"

namespace mpc::transport::host {

Sign HostNet::next_from(int peer) const noexcept {
  const RingReader* const ring = rings_[static_cast<size_t>(peer)];
  return ring != nullptr ? ring->sign() : Sign{};
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

}  // namespace mpc::transport::host

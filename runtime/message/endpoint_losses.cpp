// What an Endpoint does when a process has died and this
// one continues: see runtime/message/losses.h.
#include <iterator>
#include <vector>

#include "runtime/job/losses.h"
#include "runtime/message/endpoint.h"

namespace mpc::msg {

using transport::PacketKind;

// Caller: the operation is in no table any more, and no other thread touches it.
void Endpoint::fail_send(Operation& op) noexcept {
  Work work;
  work.add_sent(op);
  op.status.failed = true;
  op.status.error = Errc::kLost;
  work.run();
  end_completing(1);
}

void Endpoint::lose(int peer) noexcept {
  std::vector<Operation*> ended;
  {
    const Locked lock(lock_);
    sends_.remove_if([&](Operation& op) {
      if (op.remote.peer != peer || op.remote.is_offer) return false;
      ended.push_back(&op);
      return true;
    });
    for (Operation* const op : ended) begin_completing(*op);
    for (auto it = questions_.begin(); it != questions_.end();) {
      const bool is_lost = it->second.peer == peer;
      if (is_lost) answer_question(it->second, false);
      it = is_lost ? questions_.erase(it) : std::next(it);
    }
  }
  for (Operation* const op : ended) fail_send(*op);
}

bool Endpoint::has_under_way(int peer) noexcept {
  const Locked lock(lock_);
  bool is_any = false;
  const auto look = [&](Operation& op) {
    is_any = is_any || op.remote.peer == peer;
    return false;
  };
  sends_.remove_if(look);
  fetches_.remove_if(look);
  return is_any;
}

void Endpoint::recall_offers(bool (*is_broken)(int rank, ContextId context)) noexcept {
  std::vector<Operation*> recalled;
  {
    const Locked lock(lock_);
    sends_.remove_if([&](Operation& op) {
      const Remote& remote = op.remote;
      // The sender itself checks an operation again that is not started yet.
      if (!remote.is_offer || !remote.is_started || remote.is_over ||
          job::losses::is_lost(remote.peer) ||
          !is_broken(op.origin->world_rank, op.key.context))
        return false;
      recalled.push_back(&op);
      return true;
    });
    for (Operation* const op : recalled) begin_completing(*op);
  }
  for (Operation* const op : recalled) {
    net_.forget(op->remote.completion);
    Envelope envelope;  // from the receiver's queue
    envelope.kind = PacketKind::kForget;
    envelope.dest_world = static_cast<uint32_t>(op->remote.dest_world);
    envelope.from_world = static_cast<uint32_t>(op->origin->world_rank);
    envelope.id = op->remote.id;
    post(op->remote.peer, envelope, {});
    fail_send(*op);
  }
}

}  // namespace mpc::msg

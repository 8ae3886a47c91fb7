#include "runtime/message/quick_remote.h"

#include "base/traffic.h"
#include "runtime/job/losses.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/endpoint.h"
#include "runtime/message/main_execution.h"
#include "runtime/message/process_net.h"
#include "scheduler/close_look.h"
#include "scheduler/may_spin.h"

namespace mpc::msg {
namespace {

struct ReceiveTaker final : transport::NextTaker {
  Endpoint& endpoint;
  const int peer;
  Mailbox& mine;
  const RecvArgs& args;
  Status& status;
  Endpoint::Received received = Endpoint::Received::kNo;

  ReceiveTaker(Endpoint& its_endpoint, int from, Mailbox& mailbox,
               const RecvArgs& arguments, Status& result) noexcept
      : endpoint(its_endpoint),
        peer(from),
        mine(mailbox),
        args(arguments),
        status(result) {}
  bool take(const transport::Envelope& envelope, const void* data,
            size_t bytes) noexcept override {
    received = endpoint.receive(peer, envelope, data, bytes, mine, args, status);
    return received != Endpoint::Received::kNo;
  }
};

// The other process's next message has come. False: it has not soon, or other work has to be done first.
bool comes_soon(const Mailbox& mine, const transport::Sign& sign) noexcept {
  constexpr int kLooks = 40;  // some 2 us, as for a message of the own process
  for (int i = 0; !sign.is_seen(); ++i) {
    if (i == kLooks || mine.is_wanted() || !sched::may_look_closely() ||
        mine.attention.load(std::memory_order_relaxed))
      return false;
    __builtin_ia32_pause();
  }
  return true;
}

// The same for a process of another host, whose network has no sign but what a poll finds.
bool receive_from_afar(Endpoint& endpoint, int peer, Mailbox& mine,
                       ReceiveTaker& taker) noexcept {
  using transport::Polled;
  constexpr int kPolls = 128;  // over sockets as long as the default of net.spin_us
  sched::CloseLook look;
  for (int i = 0; i < kPolls && look.has_begun() && may_look_near(mine); ++i) {
    const Polled polled = endpoint.net().poll_for(peer, taker);
    look.note_poll(polled == Polled::kNews || polled == Polled::kTaken);
    if (polled == Polled::kTaken) return true;
    // Another thread may have polled, and found the message.
    if (polled != Polled::kNothing || !mine.unexpected.empty()) return false;
  }
  return false;
}

// The others are for the poll that each wait begins with: it serves messages of other processes, too.
bool is_turn_of_poll(Mailbox& mine) noexcept {
  constexpr uint32_t kTurns = 16;
  return ++mine.outside.quick_turns % kTurns == 0;
}

}  // namespace

transport::Net* near_net(Mailbox& mine) noexcept {
  ProcessNet* const processes = process_net();
  return processes != nullptr && is_main(mine, sched::Execution::self()) &&
                 mine.outside.may_help(mine) && !is_turn_of_poll(mine)
             ? &processes->net()
             : nullptr;
}

bool may_look_near(const Mailbox& mine) noexcept {
  return !mine.has_mail() && !mine.is_wanted() &&
         !mine.attention.load(std::memory_order_relaxed) && sched::may_look_closely();
}

bool quick_receive_from_process(Mailbox& mine, const RecvArgs& args,
                                Status* status) noexcept {
  if (args.source_in_comm == kAnySource || !args.type->is_contiguous() ||
      !is_main(mine, sched::Execution::self()) || !mine.unexpected.empty() ||
      mine.attention.load(std::memory_order_relaxed))
    return false;
  const int peer =
      mine.outside.process_of_sender(mine, args.context, args.source_in_comm);
  if (peer < 0 || job::neighbours::is_far_process(peer) || traffic::is_watched() ||
      job::losses::any())
    return false;
  Endpoint& endpoint = endpoint_towards(peer, mine.world_rank);
  ReceiveTaker taker(endpoint, peer, mine, args, *status);
  const transport::Sign sign = endpoint.net().next_from(peer);
  if (sign.word != nullptr) {
    if (is_turn_of_poll(mine) || !comes_soon(mine, sign) ||
        !endpoint.net().take_next(peer, taker))
      return false;
  } else if (!sign.is_polled || !receive_from_afar(endpoint, peer, mine, taker)) {
    return false;
  }
  if (taker.received == Endpoint::Received::kOwes) [[unlikely]]
    endpoint.repay(peer, mine.world_rank);
  return true;
}

}  // namespace mpc::msg

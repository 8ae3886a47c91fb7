#include "runtime/message/endpoint.h"

#include <algorithm>

#include "runtime/job/losses.h"
#include "runtime/message/lost_members.h"
#include "runtime/message/remote_trace.h"
#include "runtime/message/short_wait.h"
#include "scheduler/outside_work.h"

namespace mpc::msg {

using transport::Outcome;
using transport::PacketKind;
using transport::Source;

Endpoint::Endpoint(const job::ProcessMap& map, int process, transport::Net& net)
    : Endpoint({map.ranks_of(process), map.processes(),
                std::max(map.processes() - 1, 1), map.ranks()},
               process, net) {}

Endpoint::Endpoint(const Credit::Shape& shape, int process, transport::Net& net)
    : net_(net),
      process_(process),
      processes_(shape.processes),
      credit_(shape, Credit::bytes_from_settings()),
      sent_(std::make_unique<std::atomic<uint32_t>[]>(
          static_cast<size_t>(shape.processes))),
      eager_bytes_(std::make_unique<std::atomic<uint32_t>[]>(
          static_cast<size_t>(shape.processes))),
      peers_(std::make_unique<Peer[]>(static_cast<size_t>(shape.processes))),
      control_(process, shape.processes, net) {}

Endpoint::~Endpoint() {
  for (int p = 0; p < processes_; ++p) {
    if (peers_[p].early)
      sched::end_outside_work(static_cast<int64_t>(peers_[p].early->size()));
  }
}

void Endpoint::begin_peer(int peer,
                          const std::vector<job::RankRange>& numbers) noexcept {
  Peer& fresh = peer_at(peer);
  if (fresh.early) sched::end_outside_work(static_cast<int64_t>(fresh.early->size()));
  if (fresh.wanted != nullptr)
    fresh.wanted->wanted.fetch_sub(1, std::memory_order_relaxed);
  fresh = Peer{};
  sent_[place_of(peer)].store(0, std::memory_order_relaxed);
  eager_bytes_[place_of(peer)].store(0, std::memory_order_relaxed);
  credit_.forget(peer, numbers);
  control_.begin_peer(peer);
}

// Received counts are read first: then the sent counts include everything that followed from those.
Traffic Endpoint::traffic() const noexcept {
  Traffic traffic;
  // Acquire pairs with finish() and ended_offer(), ended_fetch(): everything has taken effect.
  traffic.received = received_.load(std::memory_order_acquire) +
                     ended_.load(std::memory_order_acquire);
  traffic.sent = asked_.load(std::memory_order_relaxed) + control_.sent();
  for (int p = 0; p < processes_; ++p)
    traffic.sent += sent_[static_cast<size_t>(p)].load(std::memory_order_relaxed);
  return traffic;
}

// --- sending ----------------------------------------------------------------------------------

size_t Endpoint::find_eager_bytes(int peer) noexcept {
  const size_t bytes = std::min(net_.limits(peer).eager_bytes, EagerPool::kMaxBytes);
  eager_bytes_[place_of(peer)].store(static_cast<uint32_t>(bytes),
                                     std::memory_order_relaxed);
  return bytes;
}

void Endpoint::offer(int peer, Envelope envelope, const Source& source, Operation& op) {
  const uint64_t id = op.remote.id;
  stamp(peer, envelope);
  net_.offer(peer, envelope, source, op.remote.completion);
  started_send(id);  // `op` may be complete, and destroyed
}

void Endpoint::post_at_once(const Answer& answer) {
  Envelope envelope;
  envelope.kind = answer.kind;
  envelope.id = answer.id;
  envelope.flag = answer.flag;
  envelope.from_world = static_cast<uint32_t>(answer.own_rank);
  envelope.credit = credit_.collect(answer.peer, answer.own_rank);
  // Another message may have carried it meanwhile.
  if (answer.kind == PacketKind::kCredit && envelope.credit == 0) return;
  if (answer.kind != PacketKind::kCredit)
    asked_.fetch_add(1, std::memory_order_relaxed);
  net_.post(answer.peer, envelope, {});
}

void Endpoint::release(Block& parcel, int own_rank) noexcept {
  const ParcelHead head = parcel.head;
  const auto bytes = static_cast<size_t>(parcel.bytes);
  EagerPool::give_back(&parcel);
  if (head.bulk == 0 && credit_.note_received(head.from, own_rank, bytes))
    post_at_once({head.from, PacketKind::kCredit, 0, false, own_rank});
}

// --- operations that another process will end -------------------------------------------------

void Endpoint::add_send(Operation& op) {
  op.remote.is_started = !op.remote.is_offer;
  op.origin->outside.begin_operation();
  const Locked lock(lock_);
  sends_.insert(op);
}

void Endpoint::add_fetch(Operation& receive) {
  receive.remote.id = new_id();
  receive.mailbox->outside.begin_operation();
  const Locked lock(lock_);
  fetches_.insert(receive);
}

void Endpoint::started_send(uint64_t id) {
  const Locked lock(lock_);
  if (Operation* const op = sends_.find(id)) op->remote.is_started = true;
}

void Endpoint::started_fetch(uint64_t id) {
  const Locked lock(lock_);
  if (Operation* const op = fetches_.find(id)) op->remote.is_started = true;
}

void Endpoint::remove_send(uint64_t id) { begin_completing(*sends_.remove(id)); }

void Endpoint::begin_completing(Operation& op) noexcept {
  op.origin->outside.end_operation(*op.origin);
  completing_.fetch_add(1, std::memory_order_relaxed);
}

void Endpoint::end_completing(int operations) noexcept {
  // Release pairs with forget(): the operations are no longer touched.
  if (operations != 0) completing_.fetch_sub(operations, std::memory_order_release);
}

// False: nothing remains to be done: its rank ends, or the operation's end waits for an answer.
bool Endpoint::take_ended_offer(Operation& op, Outcome outcome) noexcept {
  const Locked lock(lock_);
  if (sends_.find(op.remote.id) == nullptr) return false;
  op.remote.is_over = true;
  // The offer was refused, perhaps because we asked for that. The answer tells whether, or whether
  // the receive was too short.
  if (outcome == Outcome::kRefused && op.remote.is_asked) return false;
  remove_send(op.remote.id);
  return true;
}

void Endpoint::ended_offer(Operation& op, Outcome outcome) noexcept {
  if (!take_ended_offer(op, outcome)) return count_end();
  Work work;
  work.add_sent(op);
  op.status.cancelled = op.remote.is_withdrawn;
  if (outcome == Outcome::kGone) {
    op.status.failed = true;
    op.status.error = Errc::kLost;
  }
  work.run();
  count_end();
  end_completing(1);
}

void Endpoint::answer_question(Asked asked, bool is_withdrawn) noexcept {
  // seq_cst: see wait_for().
  asked.question->answer.store(is_withdrawn ? Question::kWithdrawn : Question::kMatched,
                               std::memory_order_seq_cst);
  if (auto* waiter = asked.question->waiter.load(std::memory_order_seq_cst))
    waiter->unpark();
}

void Endpoint::take_answer(uint64_t id, bool is_withdrawn) {
  const Locked lock(lock_);
  if (auto asked = questions_.find(id); asked != questions_.end()) {
    const Asked question = asked->second;
    questions_.erase(asked);
    answer_question(question, is_withdrawn);
  }
  Operation* const op = sends_.find(id);
  if (op == nullptr) return;
  Remote& remote = op->remote;
  remote.is_asked = false;
  remote.is_withdrawn = is_withdrawn;
  // The end of its data, or of the send itself, is still to come.
  if (remote.is_offer ? !remote.is_over : !is_withdrawn) return;
  remove_send(id);
  work_.add_sent(*op);
  op->status.cancelled = is_withdrawn;
  ++completed_sends_;
}

void Endpoint::take_ack(uint64_t id) {
  const Locked lock(lock_);
  Operation* const op = sends_.find(id);
  if (op == nullptr) return;
  remove_send(id);
  work_.add_sent(*op);
  ++completed_sends_;
}

void Endpoint::ended_fetch(Operation& receive, Outcome outcome) noexcept {
  {
    const Locked lock(lock_);
    if (fetches_.remove(receive.remote.id) == nullptr) return;  // its rank ends
  }
  receive.mailbox->outside.end_operation(*receive.mailbox);
  if (outcome == Outcome::kGone) {
    receive.status.failed = true;
    receive.status.error = job::losses::may_come() ? Errc::kLost : Errc::kOther;
    receive.status.bytes = 0;
    if (receive.key.source == kAnySource && job::losses::may_come())
      note_told(receive.mailbox->world_rank, receive.key.context,
                receive.status.source);
  }
  if (trace::enabled()) [[unlikely]]
    remote::trace_fetched(receive);
  Work work;
  work.add_fetched(receive);  // counted since the match
  work.run();
  count_end();
}

bool Endpoint::begin_withdraw(uint64_t id) noexcept {
  const Locked lock(lock_);
  Operation* const op = sends_.find(id);
  if (op == nullptr || op->remote.is_asked || op->remote.is_over) return false;
  op->remote.is_asked = true;
  return true;
}

void Endpoint::ask(uint64_t id, int peer, Question& question) {
  const Locked lock(lock_);
  questions_[id] = {&question, peer};
}

void Endpoint::end_question() noexcept { const Locked lock(lock_); }

// Forgets those operations of `mine` that the net has been given completely. False: `mine` had none
// left.
bool Endpoint::forget_some(const Mailbox& mine) noexcept {
  std::vector<std::pair<Operation*, bool>> gone;  // and whether it is a send
  bool is_left = false;
  {
    const Locked lock(lock_);
    const auto collect = [&](OperationTable& table, Mailbox* Operation::*owner,
                             bool is_send) {
      table.remove_if([&](Operation& op) {
        const bool is_ours = op.*owner == &mine;
        is_left = is_left || is_ours;
        if (!is_ours || !op.remote.is_started) return false;
        gone.emplace_back(&op, is_send);
        return true;
      });
    };
    collect(sends_, &Operation::origin, true);
    collect(fetches_, &Operation::mailbox, false);
  }
  for (const auto& [op, is_send] : gone) {
    if (!is_send || op->remote.is_offer) net_.forget(op->remote.completion);
    if (is_send) {
      Envelope envelope;
      envelope.kind = PacketKind::kForget;
      envelope.dest_world = static_cast<uint32_t>(op->remote.dest_world);
      envelope.from_world = static_cast<uint32_t>(mine.world_rank);
      envelope.id = op->remote.id;
      post(op->remote.peer, envelope, {});
    } else {
      op->mailbox->copies.fetch_sub(1, std::memory_order_release);
      count_end();  // its data; a forgotten offer may never be asked for: not counted
    }
  }
  return is_left;
}

void Endpoint::forget(const Mailbox& mine) noexcept {
  ShortWait wait;
  while (forget_some(mine)) wait.once();
  // Acquire pairs with end_completing(). Every operation counted here, of whatever rank, completes
  // soon.
  while (completing_.load(std::memory_order_acquire) != 0) wait.once();
}

}  // namespace mpc::msg

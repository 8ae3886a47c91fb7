#include "runtime/message/endpoint.h"

#include "runtime/message/short_wait.h"
#include "scheduler/outside_work.h"

namespace mpc::msg {

using transport::Outcome;
using transport::PacketKind;
using transport::Source;

Endpoint::Endpoint(int here, int processes, transport::Net& net)
    : net_(net),
      processes_(processes),
      peers_(std::make_unique<Peer[]>(static_cast<size_t>(processes))),
      control_(here, processes, net) {}

Endpoint::~Endpoint() {
  for (int p = 0; p < processes_; ++p) {
    if (peers_[p].early)
      sched::end_outside_work(static_cast<int64_t>(peers_[p].early->size()));
  }
}

// --- sending ----------------------------------------------------------------------------------

// relaxed: one execution's messages get numbers in its order; others have none among each other.
void Endpoint::post(int peer, Envelope envelope, const Source& source) {
  envelope.sequence = peers_[peer].sent.fetch_add(1, std::memory_order_relaxed);
  net_.post(peer, envelope, source);
}

void Endpoint::offer(int peer, Envelope envelope, const Source& source, Operation& op) {
  const uint64_t id = op.remote.id;
  envelope.sequence = peers_[peer].sent.fetch_add(1, std::memory_order_relaxed);
  net_.offer(peer, envelope, source, op.remote.completion);
  started_send(id);  // `op` may be complete, and gone
}

void Endpoint::post_at_once(int peer, PacketKind kind, uint64_t id, bool flag) {
  Envelope envelope;
  envelope.kind = kind;
  envelope.id = id;
  envelope.flag = flag;
  net_.post(peer, envelope, {});
}

// --- operations that another process will end -------------------------------------------------

void Endpoint::add_send(Operation& op) {
  const Locked lock(lock_);
  sends_[op.remote.id] = {&op, !op.remote.is_offer};
}

void Endpoint::add_fetch(Operation& receive) {
  receive.remote.id = new_id();
  const Locked lock(lock_);
  fetches_[receive.remote.id] = {&receive, false};
}

void Endpoint::started_send(uint64_t id) {
  const Locked lock(lock_);
  if (auto entry = sends_.find(id); entry != sends_.end())
    entry->second.is_started = true;
}

void Endpoint::started_fetch(uint64_t id) {
  const Locked lock(lock_);
  if (auto entry = fetches_.find(id); entry != fetches_.end())
    entry->second.is_started = true;
}

Operation* Endpoint::remove_send(Table::iterator entry) {
  Operation* const op = entry->second.operation;
  sends_.erase(entry);
  completing_.fetch_add(1, std::memory_order_relaxed);
  return op;
}

void Endpoint::end_completing(int operations) noexcept {
  // release pairs with forget(): the operations are no longer touched.
  if (operations != 0) completing_.fetch_sub(operations, std::memory_order_release);
}

void Endpoint::ended_offer(Operation& op, Outcome outcome) noexcept {
  {
    const Locked lock(lock_);
    const auto entry = sends_.find(op.remote.id);
    if (entry == sends_.end()) return;  // its rank ends
    op.remote.is_over = true;
    // Refused, and perhaps because we have asked for it: the answer says so, or that the receive
    // was too short.
    if (outcome == Outcome::kRefused && op.remote.is_asked) return;
    remove_send(entry);
  }
  Work work;
  work.add_sent(op);
  op.status.cancelled = op.remote.is_withdrawn;
  work.run();
  end_completing(1);
}

void Endpoint::take_answer(uint64_t id, bool is_withdrawn) {
  const Locked lock(lock_);
  if (auto asked = questions_.find(id); asked != questions_.end()) {
    Question& question = *asked->second;
    questions_.erase(asked);
    // seq_cst: see wait_for().
    question.answer.store(is_withdrawn ? Question::kWithdrawn : Question::kMatched,
                          std::memory_order_seq_cst);
    if (auto* waiter = question.waiter.load(std::memory_order_seq_cst))
      waiter->unpark();
  }
  const auto entry = sends_.find(id);
  if (entry == sends_.end()) return;
  Remote& remote = entry->second.operation->remote;
  remote.is_asked = false;
  remote.is_withdrawn = is_withdrawn;
  if (remote.is_offer ? !remote.is_over : !is_withdrawn) return;  // its end comes
  Operation* const op = remove_send(entry);
  work_.add_sent(*op);
  op->status.cancelled = is_withdrawn;
  ++completed_sends_;
}

void Endpoint::take_ack(uint64_t id) {
  const Locked lock(lock_);
  const auto entry = sends_.find(id);
  if (entry == sends_.end()) return;
  work_.add_sent(*remove_send(entry));
  ++completed_sends_;
}

void Endpoint::ended_fetch(Operation& receive, Outcome outcome) noexcept {
  {
    const Locked lock(lock_);
    if (fetches_.erase(receive.remote.id) == 0) return;  // its rank ends
  }
  if (outcome == Outcome::kGone) {
    receive.status.failed = true;
    receive.status.error = Errc::kOther;
    receive.status.bytes = 0;
  }
  Work work;
  work.add_filled(receive);  // counted since the match
  work.run();
}

bool Endpoint::begin_withdraw(uint64_t id) noexcept {
  const Locked lock(lock_);
  const auto entry = sends_.find(id);
  if (entry == sends_.end()) return false;
  Remote& remote = entry->second.operation->remote;
  if (remote.is_asked || remote.is_over) return false;
  remote.is_asked = true;
  return true;
}

void Endpoint::ask(uint64_t id, Question& question) {
  const Locked lock(lock_);
  questions_[id] = &question;
}

void Endpoint::end_question() noexcept { const Locked lock(lock_); }

// Some of the operations of `mine` that the net may be asked to forget. False: there is none left.
bool Endpoint::forget_some(const Mailbox& mine) noexcept {
  std::vector<std::pair<Operation*, bool>> gone;  // and: is a send
  bool is_left = false;
  {
    const Locked lock(lock_);
    const auto collect = [&](Table& table, Mailbox* Operation::*owner, bool is_send) {
      for (auto entry = table.begin(); entry != table.end();) {
        const auto [op, is_started] = entry->second;
        const bool is_ours = op->*owner == &mine;
        is_left = is_left || is_ours;
        if (is_ours && is_started) gone.emplace_back(op, is_send);
        entry = is_ours && is_started ? table.erase(entry) : std::next(entry);
      }
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
      envelope.id = op->remote.id;
      post(op->remote.peer, envelope, {});
    } else {
      op->mailbox->copies.fetch_sub(1, std::memory_order_release);
    }
  }
  return is_left;
}

void Endpoint::forget(const Mailbox& mine) noexcept {
  ShortWait wait;
  while (forget_some(mine)) wait.once();
  // acquire pairs with end_completing(). Each is complete in a moment, of whatever rank it is.
  while (completing_.load(std::memory_order_acquire) != 0) wait.once();
}

}  // namespace mpc::msg

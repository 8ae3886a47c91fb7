// Messages from other processes, which meet the receives of this process's ranks.
#include "runtime/job/losses.h"
#include "runtime/message/endpoint.h"
#include "runtime/message/message.h"
#include "runtime/message/packing.h"
#include "runtime/message/parcel.h"
#include "runtime/message/remote_trace.h"
#include "runtime/message/routes.h"
#include "scheduler/outside_work.h"

namespace mpc::msg {

using transport::Bulk;
using transport::PacketKind;

namespace {

// Some ten ns, as long as two of the locked instructions that a copy without the lock needs.
constexpr size_t kQuickFillBytes = 256;

}  // namespace

bool Endpoint::take(int from, const Envelope& envelope, const void* data, size_t bytes,
                    Bulk bulk) noexcept {
  if (job::losses::is_lost(from)) [[unlikely]]
    return true;
  if (envelope.kind == PacketKind::kControl) {
    control_.take(from, envelope, data, bytes);
  } else if (envelope.kind == PacketKind::kControlOffer) {
    control_.take_offer(from, envelope, bulk);
  } else if (envelope.kind > transport::kLastKindInOrder) {
    take_at_once(envelope);
  } else if (Peer& peer = peer_at(from);
             envelope.sequence != peer.expected || peer.is_stuck) {
    keep_early(peer, envelope, data, bytes, bulk);
  } else {
    if (!deliver(from, envelope, data, bytes, bulk)) return false;
    ++peer.expected;
    ++taken_;
    if (peer.early) deliver_early(from);
  }
  // Only now, because a packet that is offered again gives its credit only once.
  if (envelope.credit != 0) credit_.give_back(envelope.from_world, envelope.credit);
  return true;
}

// What take(), deliver_message() and finish() do for such a message, in one. The receive is older than all that may be
// posted meanwhile, so the mailbox need not be locked while the data are copied.
Endpoint::Received Endpoint::receive(int from, const Envelope& envelope,
                                     const void* data, size_t bytes, Mailbox& mine,
                                     const RecvArgs& args, Status& status) noexcept {
  Peer& peer = peer_at(from);
  const Key wanted{args.context, args.source_in_comm, args.tag};
  const Key key{envelope.context, envelope.source, envelope.tag};
  if (envelope.kind != PacketKind::kEager || envelope.sequence != peer.expected ||
      envelope.dest_world != static_cast<uint32_t>(mine.world_rank) ||
      !matches(wanted, key) ||
      static_cast<Count>(bytes) > args.type->size() * args.count)
    return Received::kNo;
  // Others of its messages wait, perhaps for this mailbox.
  if (peer.is_stuck || peer.wanted != nullptr || (peer.early && !peer.early->empty()))
      [[unlikely]]
    return Received::kNo;
  if (!mine.try_lock()) return Received::kNo;
  const bool is_ours =
      (mine.posted.empty() || mine.posted.find(key) == nullptr) &&
      (mine.unexpected.empty() || mine.unexpected.find(wanted) == nullptr);
  mine.unlock();
  if (!is_ours) return Received::kNo;
  copy_packed(args.buffer, data, bytes);
  status.source = key.source;
  status.tag = key.tag;
  status.bytes = static_cast<int64_t>(bytes);
  ++peer.expected;
  ++taken_;
  if (envelope.credit != 0) credit_.give_back(envelope.from_world, envelope.credit);
  const bool owes = credit_.note_received(from, mine.world_rank, bytes);
  // One more than before: what has been taken by others may not have had its effects yet. Release: as in finish().
  received_.store(received_.load(std::memory_order_relaxed) + 1,
                  std::memory_order_release);
  return owes ? Received::kOwes : Received::kYes;
}

void Endpoint::take_at_once(const Envelope& envelope) {
  if (envelope.kind == PacketKind::kCredit) return;
  ++taken_;
  if (envelope.kind == PacketKind::kAck) take_ack(envelope.id);
  if (envelope.kind == PacketKind::kWithdrawn) take_answer(envelope.id, envelope.flag);
}

void Endpoint::keep_early(Peer& peer, const Envelope& envelope, const void* data,
                          size_t bytes, Bulk bulk) {
  if (!peer.early) peer.early = std::make_unique<std::map<uint32_t, Early>>();
  const char* const first = static_cast<const char*>(data);
  (*peer.early)[envelope.sequence] = {envelope, {first, first + bytes}, bulk};
  // The net has finished with it, and no other thread has it.
  sched::begin_outside_work();
}

// Delivers messages that waited only for the one that has been delivered now.
void Endpoint::deliver_early(int from) {
  Peer& peer = peer_at(from);
  peer.is_stuck = false;
  while (!peer.early->empty()) {
    const auto next = peer.early->find(peer.expected);
    if (next == peer.early->end()) return;
    const Early& early = next->second;
    if (!deliver(from, early.envelope, early.data.data(), early.data.size(),
                 early.bulk)) {
      peer.is_stuck = true;
      stuck_.push_back(from);
      return;
    }
    peer.early->erase(next);
    ++peer.expected;
    ++taken_;
    ++delivered_early_;
  }
}

bool Endpoint::deliver(int from, const Envelope& envelope, const void* data,
                       size_t bytes, Bulk bulk) {
  switch (envelope.kind) {
    case PacketKind::kEager:
    case PacketKind::kEagerSync:
    case PacketKind::kOffer:
      return deliver_message(from, envelope, data, bytes, bulk);
    case PacketKind::kWithdraw:
    case PacketKind::kForget:
      return deliver_withdraw(from, envelope);
    default:
      return true;  // answers have no place in the order
  }
}

// Caller: only between take() and finish().
void Endpoint::note_received(int from, int own_rank, size_t bytes) {
  if (credit_.note_received(from, own_rank, bytes))
    answers_.push_back({from, PacketKind::kCredit, 0, false, own_rank});
}

// Only tries: the holder may be a thread without a core, and the
// messages of all other processes would wait for it.
bool Endpoint::lock(Peer& peer, Mailbox& mailbox) noexcept {
  const bool is_locked = mailbox.try_lock();
  if (is_locked && peer.wanted != nullptr) {
    peer.wanted->wanted.fetch_sub(1, std::memory_order_relaxed);
    peer.wanted = nullptr;
  } else if (!is_locked && peer.wanted == nullptr) {
    mailbox.wanted.fetch_add(1, std::memory_order_relaxed);  // see recv_small()
    peer.wanted = &mailbox;
  }
  return is_locked;
}

void Endpoint::note_news() noexcept {
  if (Mailbox* mailbox = work_.take_news()) news_.push_back(mailbox);
}

bool Endpoint::deliver_message(int from, const Envelope& envelope, const void* data,
                               size_t bytes, Bulk bulk) {
  Mailbox& to = own_mailbox(static_cast<int>(envelope.dest_world));
  if (!lock(peer_at(from), to)) return false;
  // Messages in the ring come from ranks of this process:
  // there is no order between them and this one.
  const Key key{envelope.context, envelope.source, envelope.tag};
  Operation* const receive = to.take_posted(key);
  const bool is_offer = envelope.kind == PacketKind::kOffer;
  if (receive != nullptr && !is_offer && bytes <= kQuickFillBytes) {
    // Shorter than to count the copy, and to release the lock for it.
    fill_now(to, *receive, from, envelope, data, bytes);
    work_.add_completion(*receive);
    to.unlock();
    to.outside.note_end(to);
    return true;
  }
  if (receive != nullptr && !is_offer) {
    to.copies.fetch_add(1, std::memory_order_relaxed);  // under the lock
    to.unlock();
    fill_now(to, *receive, from, envelope, data, bytes);
    work_.add_filled(*receive);
    to.outside.note_end(to);
    return true;
  }
  const ParcelHead head{bulk, envelope.id, from,
                        envelope.kind == PacketKind::kEagerSync};
  const bool is_dropped =
      to.closed.load(std::memory_order_relaxed) && !head.expects_answer();
  if (!is_dropped) {
    Block* const parcel =
        make_parcel(to.eager, envelope, head, data, is_offer ? 0 : bytes);
    if (receive != nullptr) {
      work_.add_copy(*receive, *parcel);
    } else {
      to.keep(*parcel, work_);
    }
  }
  to.unlock();
  if (is_dropped) note_received(from, to.world_rank, bytes);
  note_news();
  return true;
}

void Endpoint::fill_now(Mailbox& to, Operation& receive, int from,
                        const Envelope& envelope, const void* data, size_t bytes) {
  const Key key{envelope.context, envelope.source, envelope.tag};
  const auto n = static_cast<int64_t>(bytes);
  fill_status(receive, key, n);
  const bool is_traced = trace::enabled();
  if (is_traced) [[unlikely]]
    remote::trace_begin(remote::kCopySite, to.world_rank, key, n, from, envelope.id);
  unpack_into(receive, data, n);
  if (is_traced) [[unlikely]]
    trace::end(remote::kCopySite);
  if (envelope.kind == PacketKind::kEagerSync)
    answers_.push_back({from, PacketKind::kAck, envelope.id, false, to.world_rank});
  note_received(from, to.world_rank, bytes);
}

namespace {

Block* find_parcel(const Mailbox& mailbox, int from, uint64_t id) noexcept {
  for (Entry* entry = mailbox.unexpected.first(); entry != nullptr;
       entry = entry->next[0]) {
    if (entry->kind != Entry::kParcel) continue;
    auto* const parcel = static_cast<Block*>(entry);
    const ParcelHead& head = parcel->head;
    if (head.from == from && head.id == id) return parcel;
  }
  return nullptr;
}

}  // namespace

// A message that is not in the queue has met its receive, or MPI_Mprobe has taken it.
bool Endpoint::deliver_withdraw(int from, const Envelope& envelope) {
  Mailbox& to = own_mailbox(static_cast<int>(envelope.dest_world));
  if (!lock(peer_at(from), to)) return false;
  Block* const parcel = find_parcel(to, from, envelope.id);
  if (parcel != nullptr) to.unexpected.remove(*parcel);
  to.unlock();
  if (envelope.kind == PacketKind::kWithdraw)
    answers_.push_back(
        {from, PacketKind::kWithdrawn, envelope.id, parcel != nullptr, to.world_rank});
  if (parcel == nullptr) return true;
  if (const Bulk bulk = parcel->head.bulk) {
    refusals_.push_back({from, bulk});
  } else {
    note_received(from, to.world_rank, static_cast<size_t>(parcel->bytes));
  }
  EagerPool::give_back(parcel);
  return true;
}

void Endpoint::send_answers() {
  for (const Answer& answer : answers_) post_at_once(answer);
  answers_.clear();
  for (const Refusal& r : refusals_) {
    count_refusal();
    net_.refuse(r.peer, r.bulk);
  }
  refusals_.clear();
}

bool Endpoint::finish() noexcept {
  std::vector<int> stuck;
  stuck.swap(stuck_);
  for (const int from : stuck) deliver_early(from);
  send_answers();
  work_.run();
  for (Mailbox* mailbox : news_) {
    if (job::Rank* owner = mailbox->owner.load(std::memory_order_relaxed))
      notify(*owner);
  }
  news_.clear();
  control_.deliver();
  end_completing(std::exchange(completed_sends_, 0));
  // Release pairs with traffic(). This is the last step, after everything has had its effects.
  received_.store(taken_ + control_.delivered(), std::memory_order_release);
  sched::end_outside_work(std::exchange(delivered_early_, 0));
  return stuck_.empty();
}

}  // namespace mpc::msg

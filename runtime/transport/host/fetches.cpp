#include "runtime/transport/host/fetches.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/counter.h"

namespace mpc::transport::host {
namespace {

Counter copy_counter{
    "net.host_copies",
    "Long messages that were read from memory of another process of the "
    "host"};
Counter pieces_counter{"net.host_pieces",
                       "Those that came in pieces, because the system did not let this "
                       "process read them"};

// Of all processes in one table; numbers count offers.
uint64_t key_of(int peer, uint64_t number) noexcept {
  constexpr int kNumberBits = 44;
  return static_cast<uint64_t>(peer) << kNumberBits | number;
}

}  // namespace

// --- offers that have come ---------------------------------------------------------------------

Bulk Fetches::take_offer(int peer, const Offers::Place& place) {
  auto arrived = std::make_unique<Arrived>(Arrived{peer, place});
  const Bulk bulk = reinterpret_cast<Bulk>(arrived.get()) | 1;
  const Locked locked(lock_);
  arrived_[key_of(peer, place.number)] = std::move(arrived);
  return bulk;
}

void Fetches::drop(Bulk bulk) {
  const auto* const arrived = reinterpret_cast<Arrived*>(bulk & ~Bulk{1});
  const Locked locked(lock_);
  arrived_.erase(key_of(arrived->peer, arrived->place.number));
}

void Fetches::refuse(Bulk bulk) {
  const Arrived what = *reinterpret_cast<Arrived*>(bulk & ~Bulk{1});
  const Locked locked(lock_);
  const auto found = arrived_.find(key_of(what.peer, what.place.number));
  const bool is_recalled = found->second->is_recalled;
  arrived_.erase(found);
  if (!is_recalled) say_ended(what.peer, what.place.number, Outcome::kRefused);
}

// --- the beginning -----------------------------------------------------------------------------

void Fetches::start(Bulk bulk, const Target& target, Completion& completion,
                    RingReader& reader) MPC_NO_THREAD_SAFETY_ANALYSIS {
  std::unique_lock locked(lock_);
  const auto* const arrived = reinterpret_cast<Arrived*>(bulk & ~Bulk{1});
  const int peer = arrived->peer;
  const Offers::Place place = arrived->place;
  const bool is_recalled = arrived->is_recalled;
  arrived_.erase(key_of(peer, place.number));
  if (is_recalled || at(peer).is_lost) return endings_.add(completion, Outcome::kGone);
  if (target.bytes < place.bytes) {
    say_ended(peer, place.number, Outcome::kRefused);
    return endings_.add(completion, Outcome::kGone);
  }
  const auto fetch = fetches_.emplace(fetches_.end(), peer, place, target, completion);
  // seq_cst: the caller asks afterwards whether the process sleeps.
  endings_.begin_work();
  active_.fetch_add(1, std::memory_order_seq_cst);
  if (fetch->chunks.count > 1) {
    if (target.unpack == nullptr) open_slot(*fetch, reader);
    return;
  }
  // At once: to leave it to the next poll takes as long as some KiB.
  fetch->next = fetch->end;
  ++fetch->copying;
  locked.unlock();
  const Access how = copy(*fetch, 0);
  locked.lock();
  --fetch->copying;
  note_copied(fetch, how);
}

void Fetches::open_slot(Fetch& fetch, RingReader& reader) {
  auto& has_slot = at(fetch.peer).has_slot;
  const auto free = std::find(has_slot.begin(), has_slot.end(), false);
  if (free == has_slot.end()) return;
  *free = true;
  fetch.slot_number = static_cast<int>(free - has_slot.begin());
  fetch.slot = &reader.slot(fetch.slot_number);
  open(*fetch.slot, fetch.place.number, reinterpret_cast<uint64_t>(fetch.target.data),
       fetch.place.bytes);
}

void Fetches::release_slot(Fetch& fetch) {
  if (fetch.slot == nullptr) return;
  at(fetch.peer).has_slot[static_cast<size_t>(fetch.slot_number)] = false;
  fetch.slot = nullptr;
}

// --- copies ------------------------------------------------------------------------------------

Access Fetches::copy(const Fetch& fetch, uint64_t index) noexcept {
  const OtherMemory& memory = lanes_[static_cast<size_t>(fetch.peer)]->memory();
  if (fetch.chunks.count == 0) return Access::kDone;
  const uint64_t at = fetch.chunks.at(index), bytes = fetch.chunks.length(index);
  const uint64_t from = fetch.place.address + at;
  if (fetch.target.unpack == nullptr)
    return memory.read(static_cast<char*>(fetch.target.data) + at, from, bytes);
  const std::unique_ptr<char[]> packed(new char[bytes]);
  const Access how = memory.read(packed.get(), from, bytes);
  if (how == Access::kDone)
    fetch.target.unpack(fetch.target.data, at, packed.get(), bytes);
  return how;
}

void Fetches::note_copied(List::iterator it, Access how) {
  if (how == Access::kRefused) it->stop = std::max(it->stop, Stop::kUnreadable);
  if (how == Access::kGone) it->stop = std::max(it->stop, Stop::kDead);
  settle(it);
}

// Messages with gaps are unpacked by one thread at a time.
bool Fetches::is_claimable(const Fetch& fetch) const {
  if (fetch.stop != Stop::kNo || (fetch.target.unpack != nullptr && fetch.copying != 0))
    return false;
  if (fetch.slot == nullptr || fetch.is_closed) return fetch.next < fetch.end;
  const Claimed claimed = Claimed::of(fetch.slot->word.load(std::memory_order_relaxed));
  return claimed.front + claimed.back < fetch.chunks.count;
}

bool Fetches::claim(Fetch& fetch, uint64_t* index) {
  if (!is_claimable(fetch)) return false;
  if (fetch.slot != nullptr && !fetch.is_closed)
    return claim_front(*fetch.slot, fetch.chunks, index);
  *index = fetch.next++;
  return true;
}

bool Fetches::work() noexcept MPC_NO_THREAD_SAFETY_ANALYSIS {
  lock_.lock();
  bool has_done = false;
  for (auto it = fetches_.begin(); it != fetches_.end();) {
    uint64_t index = 0;
    if (claim(*it, &index)) {
      ++it->copying;  // it stays in the list
      lock_.unlock();
      const Access how = copy(*it, index);
      lock_.lock();
      --it->copying;
      note_copied(it, how);
      lock_.unlock();
      return true;
    }
    const auto next = std::next(it);
    has_done = settle(it) || has_done;
    it = next;
  }
  lock_.unlock();
  return has_done;
}

bool Fetches::has_work() noexcept {
  const Locked locked(lock_);
  for (const Fetch& fetch : fetches_) {
    const bool waits = fetch.gets_pieces || fetch.stop == Stop::kDead;
    if (is_claimable(fetch) || (!waits && is_quiet(fetch))) return true;
  }
  return false;
}

// --- the end -----------------------------------------------------------------------------------

// Nobody copies, and nobody in the sender's process is about to. A slot that is not closed may
// be claimed by the sender later, unless all is claimed.
bool Fetches::is_quiet(const Fetch& fetch) const {
  if (fetch.copying != 0) return false;
  if (fetch.slot == nullptr || fetch.stop == Stop::kLost) return true;
  const uint64_t back =
      fetch.is_closed
          ? fetch.claimed.back
          : Claimed::of(fetch.slot->word.load(std::memory_order_relaxed)).back;
  // seq_cst pairs with finish_back(): what the sender has written is visible.
  return fetch.slot->helped.load(std::memory_order_seq_cst) == back;
}

bool Fetches::settle(List::iterator it) {
  Fetch& fetch = *it;
  if (is_claimable(fetch) || fetch.gets_pieces) {
    if (fetch.stop <= Stop::kUnreadable) return false;
  }
  if (fetch.slot != nullptr && !fetch.is_closed) {
    fetch.claimed = close(*fetch.slot);
    fetch.is_closed = true;
    fetch.next = fetch.end;
  }
  if (!is_quiet(fetch)) return false;
  if (fetch.slot != nullptr) {
    const bool is_refused = fetch.slot->is_refused.load(std::memory_order_relaxed) != 0;
    release_slot(fetch);
    if (is_refused && fetch.stop == Stop::kNo) {  // the sender's part once more
      fetch.next = fetch.chunks.count - fetch.claimed.back;
      return true;
    }
  }
  switch (fetch.stop) {
    case Stop::kNo:
      copy_counter.add();
      end(it, Outcome::kDone, Outcome::kDone);
      return true;
    case Stop::kUnreadable:
      begin_pieces(fetch);
      return true;
    case Stop::kDead:
      if (!at(fetch.peer).is_lost) return false;
      [[fallthrough]];
    case Stop::kRecalled:
    case Stop::kLost:
      end(it, Outcome::kGone, Outcome::kGone);
      return true;
    case Stop::kForgotten:
      end(it, Outcome::kGone, Outcome::kDone);
      return true;
  }
  return false;
}

void Fetches::end(List::iterator it, Outcome here, Outcome there) {
  if (!at(it->peer).is_lost) say_ended(it->peer, it->place.number, there);
  if (it->completion != nullptr) endings_.add(*it->completion, here);
  fetches_.erase(it);
  active_.fetch_sub(1, std::memory_order_relaxed);
  endings_.end_work();
}

Fetches::List::iterator Fetches::find(int peer, uint64_t number) {
  return std::find_if(fetches_.begin(), fetches_.end(), [&](const Fetch& fetch) {
    return fetch.peer == peer && fetch.place.number == number;
  });
}

void Fetches::take_recall(int peer, const Envelope& what) {
  const Locked locked(lock_);
  const auto arrived = arrived_.find(key_of(peer, what.id));
  if (arrived != arrived_.end()) {
    arrived->second->is_recalled = true;
    return say_ended(peer, what.id, Outcome::kGone);
  }
  const auto it = find(peer, what.id);
  if (it == fetches_.end()) return;  // its end is on its way
  it->stop = std::max(it->stop, Stop::kRecalled);
  settle(it);
}

bool Fetches::begin_forget(const Completion& completion) {
  const Locked locked(lock_);
  for (auto it = fetches_.begin(); it != fetches_.end(); ++it) {
    if (it->completion != &completion) continue;
    it->completion = nullptr;
    it->stop = std::max(it->stop, Stop::kForgotten);
    settle(it);
    return true;
  }
  return false;
}

bool Fetches::is_forgotten(const Completion& completion) {
  const Locked locked(lock_);
  return std::none_of(fetches_.begin(), fetches_.end(), [&](const Fetch& fetch) {
    return fetch.completion == nullptr && fetch.name == &completion;
  });
}

void Fetches::lose(int peer) {
  const Locked locked(lock_);
  at(peer).is_lost = true;
  for (auto it = fetches_.begin(); it != fetches_.end();) {
    const auto next = std::next(it);
    if (it->peer == peer) {
      it->stop = Stop::kLost;
      settle(it);
    }
    it = next;
  }
}

// --- pieces ------------------------------------------------------------------------------------

void Fetches::begin_pieces(Fetch& fetch) {
  fetch.gets_pieces = true;
  pieces_counter.add();
  // The next ones go another way at once.
  lanes_[static_cast<size_t>(fetch.peer)]->say_reads(false);
  notes_.send(fetch.peer, CellKind::kAsk, about(fetch.place.number, 0), {});
}

void Fetches::take_piece(int peer, const Envelope& what, const void* data,
                         size_t bytes) {
  const Locked locked(lock_);
  const auto it = find(peer, what.id);
  if (it == fetches_.end() || !it->gets_pieces || what.bytes != it->pieces_to ||
      bytes == 0 || bytes > it->place.bytes - it->pieces_to)
    return;
  if (it->target.unpack != nullptr) {
    it->target.unpack(it->target.data, what.bytes, data, bytes);
  } else {
    std::memcpy(static_cast<char*>(it->target.data) + what.bytes, data, bytes);
  }
  it->pieces_to += bytes;
  if (it->pieces_to == it->place.bytes) return end(it, Outcome::kDone, Outcome::kDone);
  notes_.send(peer, CellKind::kAsk, about(what.id, it->pieces_to), {});
}

}  // namespace mpc::transport::host

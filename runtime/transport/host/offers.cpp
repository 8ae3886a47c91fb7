#include "runtime/transport/host/offers.h"

#include <algorithm>

#include "base/counter.h"

namespace mpc::transport::host {
namespace {

Counter helped_counter{
    "net.helped_chunks",
    "Parts of long messages that the sender's process has written into "
    "memory of another one of its host"};

}  // namespace

void Offers::add(int peer, const Envelope& envelope, const Source& source,
                 Completion& completion) {
  Place place{0, reinterpret_cast<uint64_t>(source.data), source.bytes};
  {
    const Locked locked(lock_);
    if (at(peer).is_lost) return endings_.add(completion, Outcome::kGone);
    place.number = ++last_number_;
    offers_.emplace(place.number, Offer{peer, static_cast<const char*>(source.data),
                                        source.bytes, &completion, &completion});
    if (is_long(source.bytes)) {
      at(peer).long_offers.fetch_add(1, std::memory_order_relaxed);
      long_.fetch_add(1, std::memory_order_relaxed);
      endings_.begin_work();
    }
  }
  notes_.send(peer, CellKind::kOffer, envelope, {&place, sizeof place, nullptr});
}

// --- its end -----------------------------------------------------------------------------------

// A thread that copies from it removes it later.
void Offers::end(Table::iterator it, Outcome outcome) {
  it->second.is_over = true;
  it->second.outcome = outcome;
  if (it->second.readers == 0) remove(it);
}

void Offers::remove(Table::iterator it) {
  const Offer& offer = it->second;
  if (offer.completion != nullptr) endings_.add(*offer.completion, offer.outcome);
  if (is_long(offer.bytes)) {
    at(offer.peer).long_offers.fetch_sub(1, std::memory_order_relaxed);
    long_.fetch_sub(1, std::memory_order_relaxed);
    endings_.end_work();
  }
  offers_.erase(it);
}

void Offers::take_end(int peer, const Envelope& about) {
  const Locked locked(lock_);
  const auto found = offers_.find(about.id);
  if (found == offers_.end() || found->second.peer != peer) return;
  const bool is_known = about.bytes <= static_cast<uint64_t>(Outcome::kGone);
  end(found, is_known ? static_cast<Outcome>(about.bytes) : Outcome::kGone);
}

void Offers::lose(int peer) {
  const Locked locked(lock_);
  at(peer).is_lost = true;
  for (auto it = offers_.begin(); it != offers_.end();) {
    const auto next = std::next(it);
    if (it->second.peer == peer) end(it, Outcome::kGone);
    it = next;
  }
}

// The other process answers when it has finished with the memory: until then it may be reading.
bool Offers::begin_forget(const Completion& completion) {
  const Locked locked(lock_);
  for (auto& [number, offer] : offers_) {
    if (offer.completion != &completion) continue;
    offer.completion = nullptr;
    if (!offer.is_over)
      notes_.send(offer.peer, CellKind::kRecall, about(number, 0), {});
    return true;
  }
  return false;
}

bool Offers::is_forgotten(const Completion& completion) {
  const Locked locked(lock_);
  return std::none_of(offers_.begin(), offers_.end(), [&](const auto& each) {
    return each.second.completion == nullptr && each.second.name == &completion;
  });
}

// --- help --------------------------------------------------------------------------------------

// Null: there is no such offer. Otherwise it exists until end_reading().
const char* Offers::begin_reading(int peer, uint64_t number, uint64_t bytes) {
  const Locked locked(lock_);
  const auto found = offers_.find(number);
  if (found == offers_.end() || found->second.peer != peer ||
      found->second.bytes != bytes || found->second.is_over)
    return nullptr;
  ++found->second.readers;
  return found->second.data;
}

void Offers::end_reading(uint64_t number) {
  const Locked locked(lock_);
  const auto found = offers_.find(number);
  if (--found->second.readers == 0 && found->second.is_over) remove(found);
}

// The other process does not end the transfer before this has finished what it has claimed.
bool Offers::help_with(int peer, Slot& slot) noexcept {
  Help help;
  if (!help_of(slot, &help)) return false;
  const char* const data = begin_reading(peer, help.number, help.bytes);
  if (data == nullptr) return false;
  uint64_t index = 0;
  const bool is_claimed = claim_back(slot, help, &index);
  if (is_claimed) {
    const Chunks chunks(help.bytes);
    const OtherMemory& memory = lanes_[static_cast<size_t>(peer)]->memory();
    const bool is_copied =
        memory.write(help.target + chunks.at(index), data + chunks.at(index),
                     chunks.length(index)) == Access::kDone;
    if (!is_copied) at(peer).is_refused.store(true, std::memory_order_relaxed);
    finish_back(slot, is_copied);
    notes_.wake_sleeper(peer);
    helped_counter.add(is_copied ? 1 : 0);
  }
  end_reading(help.number);
  return is_claimed;
}

bool Offers::help() noexcept {
  for (size_t p = 0; p < lanes_.size(); ++p) {
    State& state = states_[p];
    if (lanes_[p] == nullptr ||
        state.long_offers.load(std::memory_order_relaxed) == 0 ||
        state.is_refused.load(std::memory_order_relaxed))
      continue;
    for (int i = 0; i < kSlots; ++i)
      if (help_with(static_cast<int>(p), lanes_[p]->slot(i))) return true;
  }
  return false;
}

bool Offers::could_help() const noexcept {
  for (size_t p = 0; p < lanes_.size(); ++p) {
    if (lanes_[p] == nullptr ||
        states_[p].long_offers.load(std::memory_order_relaxed) == 0 ||
        states_[p].is_refused.load(std::memory_order_relaxed))
      continue;
    Help help;
    for (int i = 0; i < kSlots; ++i)
      if (help_of(lanes_[p]->slot(i), &help)) return true;
  }
  return false;
}

// --- pieces, where the other process cannot read -----------------------------------------------

void Offers::send_piece(int peer, const Envelope& what) {
  const auto& lane = lanes_[static_cast<size_t>(peer)];
  uint64_t bytes = 0;
  {
    const Locked locked(lock_);
    const auto found = offers_.find(what.id);
    if (found == offers_.end() || lane == nullptr) return;
    bytes = found->second.bytes;
  }
  const char* const data = begin_reading(peer, what.id, bytes);
  if (data == nullptr) return;
  if (what.bytes < bytes)
    notes_.send(peer, CellKind::kPiece, what,
                {data + what.bytes,
                 std::min<uint64_t>(bytes - what.bytes, lane->most_bytes()), nullptr});
  end_reading(what.id);
}

}  // namespace mpc::transport::host

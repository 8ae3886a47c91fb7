#include "runtime/transport/loopback/fabric.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/service_thread.h"
#include "scheduler/execution.h"
#include "scheduler/outside_work.h"

namespace mpc::transport::loopback {

std::vector<char> pack(const Source& source, size_t room) {
  std::vector<char> out(room + source.bytes);
  if (source.bytes == 0) return out;
  if (source.pack != nullptr) {
    source.pack(source.data, 0, out.data() + room, source.bytes);
  } else {
    std::memcpy(out.data() + room, source.data, source.bytes);
  }
  return out;
}

namespace {
void unpack(const Target& target, const std::vector<char>& bytes) {
  const size_t n = std::min(target.bytes, bytes.size());
  if (n == 0) return;
  if (target.unpack != nullptr) {
    target.unpack(target.data, 0, bytes.data(), n);
  } else {
    std::memcpy(target.data, bytes.data(), n);
  }
}
}  // namespace

// --- called by processes --------------------------------------------------------------

void Fabric::send(Packet packet) noexcept {
  if (config_.is_outside_work) sched::begin_outside_work();
  {
    const Locked lock(lock_);
    packet.order = ++last_number_;
    if (config_.seed != 0)
      packet.due_ns =
          sched::now_ns() + random_() % static_cast<uint64_t>(config_.delay_ns + 1);
    queue_.push(std::move(packet));
  }
  wake();
}

void Fabric::wake() noexcept {
  // seq_cst: either the thread sees this in sleep(), or we see that it sleeps. Release pairs with run().
  sent_.fetch_add(1, std::memory_order_seq_cst);
  if (is_asleep_.load(std::memory_order_seq_cst)) futex_wake(sent_);
}

uint64_t Fabric::note_offer(const Source& source, Completion& completion) {
  const Locked lock(lock_);
  offers_[++last_number_] = {source, &completion};
  return last_number_;
}

uint64_t Fabric::note_fetch(const Target& target, Completion& completion) {
  const Locked lock(lock_);
  fetches_[++last_number_] = {target, &completion};
  return last_number_;
}

void Fabric::forget(Completion& completion) noexcept {
  for (;;) {
    {
      const Locked lock(lock_);
      const auto is_its = [&](const auto& entry) {
        return entry.second.completion == &completion;
      };
      std::erase_if(offers_, is_its);
      std::erase_if(fetches_, is_its);
      if (in_use_ != &completion) return;
    }
    sched_yield();
  }
}

// --- the thread -------------------------------------------------------------------------------

Result<> Fabric::start(std::vector<Receiver*> receivers, void (*prepare)()) {
  receivers_ = std::move(receivers);
  unfinished_.assign(receivers_.size(), 0);
  prepare_ = prepare;
  const Result<pthread_t> thread =
      start_service_thread("the loopback network", &thread_main, this);
  MPC_TRY(thread);
  thread_ = *thread;
  is_started_ = true;
  return {};
}

void Fabric::stop() noexcept {
  if (!is_started_) return;
  stop_.store(true, std::memory_order_relaxed);
  wake();
  pthread_join(thread_, nullptr);
  is_started_ = false;
  const Locked lock(lock_);
  end_packets(queue_.size() + kept_.size());
}

void Fabric::end_packets(size_t packets) noexcept {
  if (config_.is_outside_work) sched::end_outside_work(static_cast<int64_t>(packets));
}

void* Fabric::thread_main(void* self) {
  static_cast<Fabric*>(self)->run();
  return nullptr;
}

void Fabric::run() noexcept {
  if (prepare_ != nullptr) prepare_();
  for (;;) {
    // Acquire pairs with send() and stop(): what they have written before.
    const uint32_t seen = sent_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    Packet packet;
    bool happened = false;
    while (next(packet)) {
      happened = true;
      if (deliver(packet)) {
        end_packets(1);
      } else {
        kept_.push_back(std::move(packet));
      }
    }
    const bool is_behind =
        !kept_.empty() || std::count(unfinished_.begin(), unfinished_.end(), 1) != 0;
    if (is_behind) {
      sched_yield();  // another thread holds a mailbox for some instructions
      retry();
    } else if (!happened) {
      sleep(seen);
    }
  }
}

// The next packet whose time has come. False: there is none.
bool Fabric::next(Packet& packet) noexcept {
  const Locked lock(lock_);
  if (queue_.empty() ||
      (queue_.top().due_ns != 0 && queue_.top().due_ns > sched::now_ns()))
    return false;
  packet = std::move(const_cast<Packet&>(queue_.top()));
  queue_.pop();
  return true;
}

void Fabric::sleep(uint32_t seen) noexcept {
  uint64_t due_ns = 0;
  {
    const Locked lock(lock_);
    if (!queue_.empty()) due_ns = queue_.top().due_ns;
  }
  is_asleep_.store(true, std::memory_order_seq_cst);
  if (sent_.load(std::memory_order_seq_cst) == seen) {
    if (due_ns != 0) {
      futex_wait_until(sent_, seen, due_ns);
    } else {
      futex_wait(sent_, seen);
    }
  }
  is_asleep_.store(false, std::memory_order_relaxed);
}

void Fabric::retry() noexcept {
  for (size_t process = 0; process < receivers_.size(); ++process)
    if (unfinished_[process] != 0)
      unfinished_[process] = !receivers_[process]->finish();
  std::vector<Packet> again;
  again.swap(kept_);
  for (Packet& packet : again) {
    if (deliver(packet)) {
      end_packets(1);
    } else {
      kept_.push_back(std::move(packet));
    }
  }
}

// False: the receiver cannot take it now.
bool Fabric::deliver(Packet& packet) noexcept {
  switch (packet.wire) {
    case Wire::kMessage:
    case Wire::kOffer:
      return give(packet);
    case Wire::kFetch:
      answer(packet);
      return true;
    case Wire::kRefuse:
      refused(packet);
      return true;
    case Wire::kData:
    case Wire::kNoData:
      fill(packet);
      return true;
  }
  return true;
}

bool Fabric::give(const Packet& packet) noexcept {
  Envelope envelope;
  CHECK(decode(packet.bytes.data(), packet.bytes.size(), &envelope),
        "an envelope that nobody has encoded");
  const auto to = static_cast<size_t>(packet.to);
  Receiver& receiver = *receivers_[to];
  if (!receiver.take(packet.from, envelope, packet.bytes.data() + kEnvelopeBytes,
                     packet.bytes.size() - kEnvelopeBytes, packet.handle))
    return false;
  unfinished_[to] = !receiver.finish();
  return true;
}

// Takes the entry out of its table; forget() waits for it until end_use().
template <class Table>
bool Fabric::begin_use(Table Fabric::*which, uint64_t number,
                       typename Table::mapped_type& found) {
  const Locked lock(lock_);
  Table& table = this->*which;
  const auto entry = table.find(number);
  if (entry == table.end()) return false;
  found = entry->second;
  table.erase(entry);
  in_use_ = found.completion;
  return true;
}

void Fabric::end_use() noexcept {
  const Locked lock(lock_);
  in_use_ = nullptr;
}

void Fabric::answer(const Packet& request) noexcept {
  Packet packet;
  packet.from = request.to;
  packet.to = request.from;
  packet.fetch = request.fetch;
  packet.wire = Wire::kNoData;
  Offer offer;
  const bool is_there = begin_use(&Fabric::offers_, request.handle, offer);
  if (is_there) {
    packet.wire = Wire::kData;
    packet.bytes = pack(offer.source, 0);
  }
  send(std::move(packet));
  if (!is_there) return;
  offer.completion->done(*offer.completion, Outcome::kDone);
  end_use();
}

void Fabric::refused(const Packet& packet) noexcept {
  Offer offer;
  if (!begin_use(&Fabric::offers_, packet.handle, offer)) return;
  offer.completion->done(*offer.completion, Outcome::kRefused);
  end_use();
}

void Fabric::fill(const Packet& packet) noexcept {
  Fetch fetch;
  if (!begin_use(&Fabric::fetches_, packet.fetch, fetch)) return;
  if (packet.wire == Wire::kData) unpack(fetch.target, packet.bytes);
  fetch.completion->done(*fetch.completion,
                         packet.wire == Wire::kData ? Outcome::kDone : Outcome::kGone);
  end_use();
}

}  // namespace mpc::transport::loopback

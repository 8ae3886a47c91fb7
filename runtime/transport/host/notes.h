#pragma once
// Notes: what two processes of a host tell each other about a long message, in their rings.
//
// Role:      how offers and fetches reach the other process; a completion's end, and who runs it.
// Users:     runtime/transport/host (offers, fetches; host_net implements it).
// Threads:   any.
// See also:  docs/design/0047-host-segment.md.

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "runtime/transport/host/ring.h"

namespace mpc::transport::host {

class Notes {
 public:
  virtual void send(int peer, CellKind kind, const Envelope& envelope,
                    const Source& source) noexcept = 0;
  // Something has changed in memory that a sleeper must see.
  virtual void wake_sleeper(int peer) noexcept = 0;

 protected:
  ~Notes() = default;
};

// About message `number`; `value` as the kind says.
inline Envelope about(uint64_t number, uint64_t value) noexcept {
  Envelope envelope;
  envelope.kind = PacketKind::kOffer;
  envelope.id = number;
  envelope.bytes = value;
  return envelope;
}

// Completions of operations that have ended, which a poll calls without locks.
class Endings {
 public:
  // `work`: counts what polls have to do for long messages, these included. One number for all, because a
  // poll looks at it each time.
  explicit Endings(std::atomic<int>& work) noexcept : work_(work) {}
  void add(Completion& completion, Outcome outcome) {
    const Locked locked(lock_);
    ended_.emplace_back(&completion, outcome);
    begin_work();
    count_.fetch_add(1, std::memory_order_seq_cst);
  }
  void begin_work() noexcept { work_.fetch_add(1, std::memory_order_relaxed); }
  void end_work(int pieces = 1) noexcept {
    work_.fetch_sub(pieces, std::memory_order_relaxed);
  }
  // A hint, unless it is asked after begin_sleep().
  bool is_empty() const noexcept { return count_.load(std::memory_order_seq_cst) == 0; }

  bool run() noexcept {
    bool has_run = false;
    while (!is_empty()) {
      std::pair<Completion*, Outcome> next;
      {
        const Locked locked(lock_);
        if (ended_.empty()) break;
        next = ended_.front();
        ended_.pop_front();
        running_.push_back(next.first);
        count_.fetch_sub(1, std::memory_order_relaxed);
        end_work();
      }
      next.first->done(*next.first, next.second);
      const Locked locked(lock_);
      running_.erase(std::find(running_.begin(), running_.end(), next.first));
      has_run = true;
    }
    return has_run;
  }
  // It will not be called any more, unless it is running.
  void drop(const Completion& completion) {
    const Locked locked(lock_);
    const auto dropped = static_cast<int>(std::erase_if(
        ended_, [&](const auto& each) { return each.first == &completion; }));
    count_.fetch_sub(dropped, std::memory_order_relaxed);
    end_work(dropped);
  }
  bool is_any_running() {
    const Locked locked(lock_);
    return !running_.empty();
  }
  bool is_running(const Completion& completion) {
    const Locked locked(lock_);
    return std::find(running_.begin(), running_.end(), &completion) != running_.end();
  }

 private:
  std::atomic<int>& work_;
  std::atomic<int> count_{0};  // of ended_
  Mutex lock_;
  std::deque<std::pair<Completion*, Outcome>> ended_ MPC_GUARDED_BY(lock_);
  std::vector<const Completion*> running_ MPC_GUARDED_BY(lock_);
};

}  // namespace mpc::transport::host

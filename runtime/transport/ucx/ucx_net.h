#pragma once
// UcxNet: one process's end of a network that UCX carries.
//
// Role:      Net, EventSource and NetModule over one UcpWorker.
// Users:     runtime/transport/ucx/module.cpp.
// Threads:   as Net, EventSource and NetModule say.
// See also:  docs/design/0021-ucx.md (locks, messages, why nothing is lost).
//
// Two locks, both only tried: no thread waits for them, so they may be held for long.
//   turn_   for polling. Held over take(), finish() and completions: never two at a time.
//   lock_   UCX and the tables. Held by the polling thread while UCX works, and by senders. A thread
//           that does not get it leaves a task in the outbox, which the holder empties before and
//           after it unlocks.
// Order: turn_, then lock_. Neither is held when a completion or finish() begins to call this net,
// except turn_ by a poll() further down the stack: a send needs only lock_.

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mpsc_stack.h"
#include "base/spin_lock.h"
#include "runtime/transport/net_module.h"
#include "runtime/transport/ucx/operation.h"
#include "runtime/transport/ucx/ucp_worker.h"
#include "runtime/transport/ucx/under_way.h"

namespace mpc::transport::ucx {

class UcxNet final : public NetModule,
                     public Net,
                     public sched::EventSource,
                     private UcpEvents {
 public:
  explicit UcxNet(const NetConfig& config) : config_(config) {}
  ~UcxNet() override;
  // Errors: kSystem.
  Result<> open();

  // --- NetModule ---
  const NetAddress& address() const noexcept override { return ucp_->address(); }
  Result<> connect(std::vector<NetPeer> peers, Receiver& receiver) override;
  void make_connections(Completion& completion) noexcept override;
  void lose(int peer) noexcept override;
  Net& net() noexcept override { return *this; }
  sched::EventSource& events() noexcept override { return *this; }

  // --- Net ---
  Limits limits(int) const noexcept override { return {eager_bytes_}; }
  void post(int peer, const Envelope& envelope, const Source& source) noexcept override;
  void offer(int peer, const Envelope& envelope, const Source& source,
             Completion& completion) noexcept override;
  void fetch(int peer, Bulk bulk, const Target& target,
             Completion& completion) noexcept override;
  void refuse(int peer, Bulk bulk) noexcept override;
  void forget(Completion& completion) noexcept override;
  Sign next_from(int) const noexcept override { return {nullptr, 0, true}; }
  Polled poll_for(int peer, NextTaker& taker) noexcept override;

  // --- EventSource ---
  bool poll() noexcept override;
  int descriptor() const noexcept override { return ucp_->descriptor(); }
  bool arm() noexcept override;

 private:
  // A message that the receiver did not accept: it is offered again at the next poll.
  struct Kept {
    int from;
    Envelope envelope;
    std::vector<char> data;
    Bulk bulk;
  };
  // Whoever polls by poll_for().
  struct Awaited {
    int peer = -1;
    NextTaker* taker = nullptr;  // null: nobody, or it has got its message
    bool is_taken = false;
  };
  struct Problem {
    int peer;
    std::string text;
  };
  // The progress of make_connections(): connections.cpp.
  static constexpr uint64_t kRounds = 2;
  struct Greeting {
    Completion* waiting = nullptr;  // null: no execution waits
    uint64_t round = 0;             // that has been sent to all
    bool is_flushing = false;       // until flushed()
    // The messages that the round has begun are being flushed, or have been.
    bool is_flushed = false;
    int come[kRounds] = {};  // number of greetings received in each round
  };

  // --- the lock and the outbox: ucx_net.cpp ---
  bool try_begin() noexcept MPC_TRY_ACQUIRE(true, lock_);
  bool try_turn() noexcept MPC_TRY_ACQUIRE(true, turn_) {
    return receiver_ != nullptr && !turn_.is_locked() && turn_.try_lock();
  }
  void end() noexcept MPC_RELEASE(lock_);
  void leave(Task& task) noexcept;
  void serve_outbox() noexcept MPC_REQUIRES(lock_) {
    if (!outbox_.is_empty()) [[unlikely]]
      serve_tasks();
  }
  void serve_tasks() noexcept MPC_REQUIRES(lock_);
  void serve(Task& task) noexcept MPC_REQUIRES(lock_);

  // --- sending: ucx_net.cpp ---
  void send(int peer, const Head& head, const Source& source) noexcept
      MPC_REQUIRES(lock_);
  void send(Posting& posting) noexcept MPC_REQUIRES(lock_);
  void send_note(int peer, HeadKind kind, uint64_t number) noexcept MPC_REQUIRES(lock_);
  void start(Offer& offer) noexcept MPC_REQUIRES(lock_);
  void start(Fetch& fetch) noexcept MPC_REQUIRES(lock_);
  void refuse(Arrived& arrived) noexcept MPC_REQUIRES(lock_);
  void recall(const Recall& what) noexcept MPC_REQUIRES(lock_);
  void end_operation(Operation& op, Outcome outcome) noexcept MPC_REQUIRES(lock_);
  void drop(Arrived& arrived) noexcept MPC_REQUIRES(lock_);
  Posting& take_posting() noexcept MPC_REQUIRES(lock_);
  void give_back(Posting& posting) noexcept MPC_REQUIRES(lock_);

  // --- all connections: connections.cpp ---
  void greet_all(uint64_t round) noexcept MPC_REQUIRES(lock_);
  // Returns the waiting completion if this was the last step.
  Completion* advance_greeting() noexcept MPC_REQUIRES(lock_);
  void take_greeting(const Head& head) noexcept;
  void flushed() noexcept override;

  // --- arrivals: arrival.cpp. Within progress(), so under turn_ and lock_ ---
  void came(const void* header, size_t header_bytes, const void* data,
            size_t bytes) noexcept override;
  bool offered(const void* header, size_t header_bytes, void* descriptor,
               size_t bytes) noexcept override;
  void ended(Transfer& transfer, bool is_ok) noexcept override;
  void failed(int peer, const std::string& why) noexcept override;
  void take(const Head& head, const void* data, size_t bytes, Bulk bulk) noexcept;
  bool is_for_taker(const Head& head, const void* data, size_t bytes) noexcept;
  void take_refusal(const Head& head) noexcept;
  void take_recall(const Head& head) noexcept;
  Arrived* find_arrived(const Head& head) noexcept;

  // --- polling: arrival.cpp. Under turn_ ---
  bool poll_in_turn() noexcept MPC_REQUIRES(turn_);
  bool take_kept() noexcept;
  bool run_ended(Operation* first) noexcept;
  void report(const std::vector<Problem>& problems) noexcept;
  bool is_at_rest() const noexcept MPC_REQUIRES(turn_, lock_);

  const NetConfig config_;
  size_t eager_bytes_ = 0;
  Receiver* receiver_ = nullptr;  // null: not yet, or not any more
  std::atomic<uint64_t> last_number_{0};
  UnderWay under_way_;
  MpscStack<Task, &Task::next> outbox_;

  SpinLock<> turn_;
  std::vector<Kept> kept_ MPC_GUARDED_BY(turn_);
  bool is_finish_due_ MPC_GUARDED_BY(turn_) = false;
  Awaited awaited_ MPC_GUARDED_BY(turn_);

  SpinLock<> lock_;
  std::unique_ptr<UcpWorker> ucp_;  // its state is under lock_
  std::unordered_map<uint64_t, Offer*> offers_ MPC_GUARDED_BY(lock_);  // by number
  std::unordered_map<uint64_t, Arrived*> arrived_ MPC_GUARDED_BY(lock_);
  std::unordered_set<uint64_t> recalled_ MPC_GUARDED_BY(lock_);  // before they came
  std::vector<std::unique_ptr<Posting>> idle_ MPC_GUARDED_BY(lock_);
  Operation* first_ended_ MPC_GUARDED_BY(lock_) = nullptr;
  std::vector<Problem> problems_ MPC_GUARDED_BY(lock_);
  Greeting greeting_ MPC_GUARDED_BY(lock_);
  bool is_armed_ MPC_GUARDED_BY(lock_) = false;
  // There is work left that only a poll does: a sleeper must be woken.
  bool is_poll_due_ MPC_GUARDED_BY(lock_) = false;
};

}  // namespace mpc::transport::ucx

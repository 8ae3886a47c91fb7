#pragma once
// HostNet: messages between the processes of one host through shared memory, the others through the
// network below.
//
// Role:      a net module over another one. What is posted to a process whose segment is mapped goes
//            into its ring, offers to a process that can read this one's memory as well. The other offers,
//            and everything to other processes, go to the module below.
// Users:     runtime/transport/load_net.cpp.
// Threads:   as NetModule, Net and EventSource.
// See also:  docs/design/0047-host-segment.md.
//
// Each process has a segment in which it receives, and tells the others how to find it, as a part of
// its address. A sender that cannot map it uses the network below, in that direction: nothing has to
// be agreed on, because a net promises no order.
//
// A process without a segment of its own (the system has not what it needs) says so in its address.
//
// turn_ is only tried. It is held over take() and finish(), of the rings and of the module below: never two
// of them at a time. It is not held while the module below polls.

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/transport/host/fetches.h"
#include "runtime/transport/host/lane.h"
#include "runtime/transport/host/notes.h"
#include "runtime/transport/host/offers.h"
#include "runtime/transport/host/segment.h"
#include "runtime/transport/net_module.h"

namespace mpc::transport::host {

class HostNet final : public NetModule,
                      public Net,
                      public sched::EventSource,
                      private Receiver,
                      private Notes {
 public:
  // copies: processes may read and write each other's memory.
  HostNet(const NetConfig& config, std::unique_ptr<NetModule> below, bool copies);
  ~HostNet() override;

  // --- NetModule ---
  const NetAddress& address() const noexcept override { return address_; }
  Result<> connect(std::vector<NetPeer> peers, Receiver& receiver) override;
  void make_connections(Completion& completion) noexcept override {
    below_->make_connections(completion);
  }
  void lose(int peer) noexcept override;
  bool has_left(int peer) noexcept override;
  Net& net() noexcept override { return *this; }
  sched::EventSource& events() noexcept override { return *this; }

  // --- Net ---
  Limits limits(int peer) const noexcept override;
  void post(int peer, const Envelope& envelope, const Source& source) noexcept override;
  void offer(int peer, const Envelope& envelope, const Source& source,
             Completion& completion) noexcept override;
  void fetch(int peer, Bulk bulk, const Target& target,
             Completion& completion) noexcept override;
  void refuse(int peer, Bulk bulk) noexcept override;
  void forget(Completion& completion) noexcept override;
  Sign next_from(int peer) const noexcept override;
  bool take_next(int peer, NextTaker& taker) noexcept override;
  bool poll_near() noexcept override;
  // Only if no rings have to be polled as well.
  Polled poll_for(int peer, NextTaker& taker) noexcept override {
    return is_alone_ ? net_.poll_for(peer, taker) : Polled::kElsewhere;
  }
  Near look_near() const noexcept override;

  // --- EventSource ---
  bool poll() noexcept override;
  int descriptor() const noexcept override {
    return inbox_ != nullptr ? descriptor_.number() : events_.descriptor();
  }
  bool arm() noexcept override;

 private:
  struct Sender {
    int process;
    std::unique_ptr<RingReader> ring;
  };

  void make_inbox();

  // --- Receiver, of the module below ---
  bool take(int from, const Envelope& envelope, const void* data, size_t bytes,
            Bulk bulk) noexcept override;
  bool finish() noexcept override;

  // --- Notes ---
  void send(int peer, CellKind kind, const Envelope& envelope,
            const Source& source) noexcept override;
  void wake_sleeper(int peer) noexcept override;

  bool has_mail(std::memory_order order) const noexcept;
  bool has_other_work() const noexcept;
  bool take_all() noexcept MPC_REQUIRES(turn_);
  bool take_some(Sender& sender) noexcept MPC_REQUIRES(turn_);
  bool take_cell(int from, const Envelope& envelope,
                 const RingReader::Message& message) noexcept MPC_REQUIRES(turn_);
  bool is_offered_here(int peer, const Source& source) const noexcept;
  bool work_on_long() noexcept;
  void end_long(int peer) noexcept;
  bool has_long_work() noexcept;
  bool are_rings_due() const noexcept;
  bool poll_rings() noexcept;
  void flush() noexcept;
  void note_sent() noexcept;
  void note_arrival() noexcept;
  void wake(int peer, Lane& lane) noexcept;
  void knock(int peer) noexcept;
  void attend(uint64_t now) noexcept;
  bool poll_below() noexcept;
  // One of two that count at the same time may be overlooked.
  uint32_t count_news() noexcept {
    const uint32_t count = news_.load(std::memory_order_relaxed) + 1;
    news_.store(count, std::memory_order_relaxed);
    return count;
  }

  const NetConfig config_;
  const bool
      is_alone_;  // on its host: only its address is different from the module's below
  const bool copies_;
  std::unique_ptr<NetModule> below_;
  Net& net_;                      // of below_
  sched::EventSource& events_;    // likewise
  std::unique_ptr<Inbox> inbox_;  // null: none can send to it
  Descriptor descriptor_;         // readable if the bell or the descriptor below is
  NetAddress address_;
  Receiver* receiver_ = nullptr;
  Lanes lanes_;  // null: the module below is used
  std::vector<Sender> senders_;
  std::vector<RingReader*> rings_;  // those of senders_, by process
  // What each poll looks at.
  std::atomic<int> long_work_{0};         // see Endings
  std::atomic<bool> has_waiting_{false};  // perhaps a lane has messages without room
  // Hints. Something goes on in the module below, until then, in ticks.
  std::atomic<bool> is_attentive_{false};
  std::atomic<uint64_t> attentive_until_{0};
  // When it was polled, in ticks, and how often in vain.
  std::atomic<uint64_t> last_below_{0};
  std::atomic<uint32_t> vain_polls_{0};
  uint32_t most_pause_ = 0;
  bool are_all_near_ = false;  // all processes, and each uses the rings of the others
  int looks_ = 1;
  std::atomic<uint32_t> news_{0};  // polls of the rings that found something
  Endings endings_{long_work_};
  Offers offers_{lanes_, *this, endings_};
  Fetches fetches_{lanes_, *this, endings_};
  alignas(64) SpinLock<> turn_;
  std::atomic<bool> is_finish_due_{false};  // written under turn_
};

}  // namespace mpc::transport::host

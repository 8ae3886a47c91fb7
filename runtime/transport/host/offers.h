#pragma once
// Offers: long messages of this process that stay in its memory until the other one has read them.
//
// Role:      the sender's side of long messages within a host: knows them by number, helps to copy them, ends
//            them.
// Users:     runtime/transport/host/host_net.
// Threads:   any; no lock of the caller's that sending takes.
// See also:  runtime/transport/host/fetches.h, docs/design/0047-host-segment.md.

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "runtime/transport/host/lane.h"
#include "runtime/transport/host/notes.h"

namespace mpc::transport::host {

// By process; null: its memory is not mapped here.
using Lanes = std::vector<std::unique_ptr<Lane>>;

class Offers {
 public:
  Offers(const Lanes& lanes, Notes& notes, Endings& endings)
      : lanes_(lanes), notes_(notes), endings_(endings), states_(lanes.size()) {}

  // What the data of a cell of the kind kOffer say.
  struct Place {
    uint64_t number, address, bytes;
  };

  void add(int peer, const Envelope& envelope, const Source& source,
           Completion& completion);
  // False: it is no offer of this process, or has ended.
  bool begin_forget(const Completion& completion);
  bool is_forgotten(const Completion& completion);

  void take_end(int peer, const Envelope& about);
  void send_piece(int peer, const Envelope& about);
  void lose(int peer);

  // Helps to copy, once. False: there is nothing to do. Caller: holds nothing.
  bool help() noexcept;
  // A hint: is there nothing for help()?
  bool is_idle() const noexcept { return long_.load(std::memory_order_relaxed) == 0; }
  bool could_help() const noexcept;

 private:
  struct Offer {
    int peer;
    const char* data;
    uint64_t bytes;
    Completion* completion;  // null: forgotten
    const Completion* name;  // that it had
    int readers = 0;         // threads of this process that copy from it
    bool is_over = false;
    Outcome outcome{};
  };
  struct State {
    std::atomic<int> long_offers{0};      // to this process, that can be helped with
    std::atomic<bool> is_refused{false};  // its memory cannot be written
    bool is_lost = false;
  };
  using Table = std::unordered_map<uint64_t, Offer>;
  bool help_with(int peer, Slot& slot) noexcept;
  const char* begin_reading(int peer, uint64_t number, uint64_t bytes);
  void end_reading(uint64_t number);
  void end(Table::iterator it, Outcome outcome) MPC_REQUIRES(lock_);
  void remove(Table::iterator it) MPC_REQUIRES(lock_);
  State& at(int peer) noexcept { return states_[static_cast<size_t>(peer)]; }
  bool is_long(uint64_t bytes) const noexcept { return Chunks(bytes).count > 1; }

  const Lanes& lanes_;
  Notes& notes_;
  Endings& endings_;
  std::atomic<int> long_{0};
  Mutex lock_;
  uint64_t last_number_ MPC_GUARDED_BY(lock_) = 0;
  Table offers_ MPC_GUARDED_BY(lock_);
  std::vector<State> states_;
};

}  // namespace mpc::transport::host

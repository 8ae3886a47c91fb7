#pragma once
// Fetches: long messages of other processes of the host that this one reads from their memory.
//
// Role:      the receiver's side of long messages within a host. Short ones are read at once; the parts of
//            others by whoever polls, in both processes. Where the system refuses that the sender sends pieces.
// Users:     runtime/transport/host/host_net.
// Threads:   any; no lock of the caller's that sending takes.
// See also:  runtime/transport/host/claims.h, docs/design/0047-host-segment.md.
//
//   take_offer  -> Bulk -> start  -> copies -> ended          take_recall: ended, as soon as nobody copies
//                       -> refuse -> ended    `-> pieces -> ended

#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "runtime/transport/host/lane.h"
#include "runtime/transport/host/notes.h"
#include "runtime/transport/host/offers.h"

namespace mpc::transport::host {

class Fetches {
 public:
  Fetches(const Lanes& lanes, Notes& notes, Endings& endings)
      : lanes_(lanes), notes_(notes), endings_(endings), peers_(lanes.size()) {}

  // Is this an offer that take_offer() has named? Those of the module below are addresses.
  static bool is_ours(Bulk bulk) noexcept { return (bulk & 1) != 0; }
  // Ownership: until start() or refuse(), or drop().
  Bulk take_offer(int peer, const Offers::Place& place);
  void drop(Bulk bulk);  // it was not taken

  // May end at once. `reader`: the ring in which these processes have their slots.
  void start(Bulk bulk, const Target& target, Completion& completion,
             RingReader& reader);
  void refuse(Bulk bulk);
  // False: it is no fetch that has not ended.
  bool begin_forget(const Completion& completion);
  bool is_forgotten(const Completion& completion);

  void take_recall(int peer, const Envelope& about);
  void take_piece(int peer, const Envelope& about, const void* data, size_t bytes);
  void lose(int peer);

  // Copies a part, or ends what has been copied. False: there is nothing to do. Caller: holds nothing.
  bool work() noexcept;
  bool is_idle(std::memory_order order = std::memory_order_relaxed) const noexcept {
    return active_.load(order) == 0;
  }
  // Does work() find something? Order: seq_cst, pairs with finish_back().
  bool has_work() noexcept;

 private:
  struct Arrived {
    int peer;
    Offers::Place place;
    bool is_recalled = false;
  };
  enum class Stop : uint8_t {
    kNo,
    kUnreadable,  // pieces are sent
    kDead,        // until lose()
    kRecalled,
    kForgotten,
    kLost,
  };
  struct Fetch {
    Fetch(int from, const Offers::Place& what, const Target& to, Completion& who)
        : peer(from),
          place(what),
          chunks(what.bytes),
          target(to),
          completion(&who),
          name(&who),
          end(chunks.count) {}
    const int peer;
    const Offers::Place place;
    const Chunks chunks;
    const Target target;
    Completion* completion;  // null: forgotten
    const Completion* const name;
    // Without a slot: chunks that nobody has claimed.
    uint64_t next = 0, end;
    Slot* slot = nullptr;  // while both processes may copy
    int slot_number = 0;
    bool is_closed = false;  // nobody claims any more; `claimed` says what was
    Claimed claimed;
    int copying = 0;  // threads of this process
    Stop stop = Stop::kNo;
    bool gets_pieces = false;
    uint64_t pieces_to = 0;  // so many bytes have come in pieces
    bool is_over = false;
  };
  struct Peer {
    std::array<bool, kSlots> has_slot{};
    bool is_lost = false;
  };
  using List = std::list<Fetch>;

  bool claim(Fetch& fetch, uint64_t* index) MPC_REQUIRES(lock_);
  bool is_claimable(const Fetch& fetch) const MPC_REQUIRES(lock_);
  bool is_quiet(const Fetch& fetch) const MPC_REQUIRES(lock_);
  // Does what has to be done now; removes it if that was its end. True: something was done.
  bool settle(List::iterator it) MPC_REQUIRES(lock_);
  void end(List::iterator it, Outcome here, Outcome there) MPC_REQUIRES(lock_);
  void begin_pieces(Fetch& fetch) MPC_REQUIRES(lock_);
  void open_slot(Fetch& fetch, RingReader& reader) MPC_REQUIRES(lock_);
  void release_slot(Fetch& fetch) MPC_REQUIRES(lock_);
  Access copy(const Fetch& fetch, uint64_t index) noexcept;
  void note_copied(List::iterator it, Access how) MPC_REQUIRES(lock_);
  void say_ended(int peer, uint64_t number, Outcome outcome) {
    notes_.send(peer, CellKind::kEnded, about(number, static_cast<uint64_t>(outcome)),
                {});
  }
  List::iterator find(int peer, uint64_t number) MPC_REQUIRES(lock_);
  Peer& at(int peer) noexcept MPC_REQUIRES(lock_) {
    return peers_[static_cast<size_t>(peer)];
  }

  const Lanes& lanes_;
  Notes& notes_;
  Endings& endings_;
  std::atomic<int> active_{0};  // length of fetches_
  Mutex lock_;
  std::unordered_map<uint64_t, std::unique_ptr<Arrived>> arrived_ MPC_GUARDED_BY(lock_);
  List fetches_ MPC_GUARDED_BY(lock_);
  std::vector<Peer> peers_ MPC_GUARDED_BY(lock_);
};

}  // namespace mpc::transport::host

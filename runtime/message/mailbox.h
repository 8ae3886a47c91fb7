#pragma once
// Mailbox: where a rank's messages arrive, and where they meet its receives.
//
// Role:      a ring of cache lines that any sender writes without a lock, and the two queues
//            of matching, which belong to the holder of the mailbox's lock: the owner when it
//            waits or polls, a sender when the owner does not look or the ring is full.
// Users:     runtime/message.
// Threads:   push_*() any; members "under the lock" by its holder; the others as said.
// See also:  docs/design/0003-mailbox.md (the protocol and why it loses no message).
//
//   tail      position << 1 | delegated      senders claim cells by compare-and-swap
//   delegated "the owner does not look": a pusher must also try to drain. The flag is part
//             of the word by which cells are claimed, so the order of its modifications
//             decides every race: a claim after the flag was set sees it; a claim before it
//             is seen by the owner that sets it, which then drains up to there.
//   lock      held for some tens of ns, never over a switch; a thread that has pushed to a
//             delegated mailbox tries for it until it gets it or a holder has taken the message

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/prefetch.h"
#include "base/spin_lock.h"
#include "runtime/job/rank.h"
#include "runtime/message/answer_time.h"
#include "runtime/message/cell.h"
#include "runtime/message/eager_pool.h"
#include "runtime/message/match_queue.h"
#include "runtime/message/outside.h"
#include "runtime/message/request.h"
#include "runtime/message/shared_copy.h"
#include "runtime/message/short_wait.h"
#include "runtime/message/small_copy.h"
#include "runtime/message/waiter.h"

namespace mpc::msg {

class Work;

// Hands a line that has just been written to the cache that the cores share, from where a
// waiting core gets it sooner than from our own cache. A hint; no effect on older processors.
inline void hand_on(const void* line) noexcept {
  __asm__ volatile("cldemote %0" : : "m"(*static_cast<const char*>(line)));
}
struct alignas(64) Mailbox {
  static constexpr uint64_t kDelegated = 1;

  explicit Mailbox(int world) : world_rank(world) {}

  // --- lock ---
  bool try_lock() noexcept MPC_NO_THREAD_SAFETY_ANALYSIS {
    // Reads first: a sender that tries in vain leaves the line to the holder.
    return !lock.is_locked() && lock.try_lock();
  }
  void lock_now() noexcept {  // spins; holders never switch or wait
    if (!try_lock()) [[unlikely]]
      lock_slowly();
  }
  // Is another thread in lock_now()? recv_small(), which
  // holds the lock for longer, then gives way.
  bool is_wanted() const noexcept {
    return wanted.load(std::memory_order_relaxed) != 0;
  }
  void unlock() noexcept MPC_NO_THREAD_SAFETY_ANALYSIS { lock.unlock(); }

  // --- senders ---
  struct Sent {
    uint64_t ticket;  // identifies the message, see ticket_of()
    const void*
        next_line;  // line of the cell that this sender's next message will take, if no
                    // other one sends
    bool was_full;  // the receiver is behind by the length of the ring
  };
  // `more_follow`: probably; the line is not handed on before it is full. In mailbox_push.h.
  Sent push_inline(const Key& key, const void* data, size_t bytes, bool more_follow);
  uint64_t push_pointer(CellKind kind, const Key& key,
                        Entry* entry);  // returns the ticket
  bool is_delegated() const noexcept {
    return (tail.load(std::memory_order_acquire) & kDelegated) != 0;
  }

  // --- under the lock ---
  // Matches every message that is published.
  void drain(Work& work) noexcept;
  // Matches the published messages, oldest first, until one is for `receive`, which
  // is in no queue yet; later ones stay in the ring for the receives that follow.
  enum class Taken {
    kNothing,  // none was for it: post it
    kFilled,   // it has its data: complete it
    kInWork,   // `work` will complete it
  };
  Taken take_next(Operation& receive, Work& work) noexcept;
  // True after drain(): no claimed cell remains. Only then may the holder match a message of
  // its own without overtaking. Not for the owner: reading `tail` takes its line away from the
  // senders.
  bool is_empty() const noexcept {
    return tail.load(std::memory_order_acquire) >> 1 ==
           head.load(std::memory_order_relaxed);
  }
  // A ticket identifies one message that came to this mailbox: by its position in the ring, or by a
  // count of the messages that senders have put into the queue themselves.
  // Never 0, never used again. An eager send that is complete stores it in
  // `order` for cancel(), and its kind is kBlock.
  static uint64_t ticket_of(uint64_t position) noexcept { return (position + 1) << 1; }
  static bool is_of_ring(uint64_t ticket) noexcept {
    return ticket != 0 && (ticket & 1) == 0;
  }
  uint64_t direct_ticket() noexcept { return ++direct_count << 1 | 1; }
  // False while the message is in the ring, or before it gets there.
  bool has_accepted(uint64_t ticket) const noexcept {
    return (ticket & 1) != 0 || head.load(std::memory_order_relaxed) >= ticket >> 1;
  }
  static void remember(Operation& eager_send, uint64_t ticket) noexcept {
    eager_send.kind = Entry::kBlock;
    eager_send.order = ticket;
  }
  // Takes the eager message with this ticket out of the unexpected queue; null: it is matched.
  Block* take_back(uint64_t ticket) noexcept;
  // Puts a message without a receive into the unexpected queue; a parked prober checks again.
  void keep(Entry& message, Work& work) noexcept;
  // The posted receive for a message, taken out of its queue, or null.
  Operation* take_posted(const Key& key) noexcept;

  // --- owner ---
  bool has_mail() const noexcept {
    // A hint, drain() checks again; acquire: the last reader of that cell has finished with it.
    const uint64_t h = head.load(std::memory_order_acquire);
    return is_first(word_as_hint(cells[h % kCells]), h);
  }
  void touch_next() const noexcept {
    const uint64_t h = head.load(std::memory_order_relaxed);
    __builtin_prefetch(&cells[(h + kCellsPerLine) % kCells]);
  }
  bool may_be_polling() const noexcept {
    return !may_be_delegated.load(std::memory_order_relaxed) || !is_delegated();
  }
  // Drains if there is mail and no other thread does. True if anything happened.
  bool poll() noexcept;
  // From now on senders also match (until start_polling). Caller: any execution of the owner.
  void delegate() noexcept;
  // From now on the owner polls, unless one of its executions is parked. Caller: an
  // execution of the owner that may_poll(), and is not in park_until().
  void start_polling() noexcept {
    if (may_be_delegated.load(std::memory_order_relaxed)) [[unlikely]]
      take_over();
  }
  bool is_any_parked(std::memory_order order) const noexcept {
    return parked_others.load(order) != 0 || is_parking.load(order);
  }
  // A receive has found its message in the unexpected queue. A rank to which that happens again and
  // again does not wait: senders may leave their messages in the ring. This costs neither side a
  // lock that the other one wants, nor a block. Caller: the owner's main execution.
  void note_backlog() noexcept {
    constexpr unsigned kReceives = 8;
    // Relaxed, one writer except for delegate(): a receive more or less does not matter.
    const unsigned receives = backlog_receives.load(std::memory_order_relaxed) + 1;
    backlog_receives.store(receives, std::memory_order_relaxed);
    if (receives == kReceives) start_polling();
  }

  // The senders' line.
  alignas(64) std::atomic<uint64_t> tail{kDelegated};
  std::atomic<uint64_t> head_seen{
      0};  // a lower bound of head, refreshed when the ring seems full

  // The lock holder's lines.
  alignas(64) SpinLock<ShortWait> lock;
  std::atomic<bool> closed{false};  // written under the lock
  std::atomic<uint64_t> head{0};    // written under the lock
  PostedQueue posted;
  UnexpectedQueue unexpected;
  uint64_t direct_count = 0;

  // The line of threads that wait for the lock.
  alignas(64) std::atomic<int> wanted{0};

  // The owner's lines.
  alignas(64) std::atomic<bool> spinning{false};  // the owner polls the ring right now
  std::atomic<bool> may_be_delegated{
      true};                            // false only if the flag in `tail` is clear,
                                        // or was set by another execution since
  std::atomic<bool> attention{false};   // notify() has been called
  std::atomic<bool> is_parking{false};  // the main execution is in park_until()
  std::atomic<int> parked_others{
      0};  // executions except the main one that are (about to be)
           // parked; while not zero the mailbox stays delegated
  std::atomic<int> watchers{0};  // executions that are (about to be) parked in
                                 // wait_until(): a message may be what they wait for
  std::atomic<const void*> next_line{
      nullptr};  // where our next message will be; a hint
  AnswerTime answer_time;
  // Of the last message that recv_small() has taken; under the lock.
  uint64_t last_cells = 1;
  unsigned empty_polls = 0;  // see relax(); a hint, main execution only
  std::atomic<unsigned> backlog_receives{0};  // see note_backlog(); a hint
  std::atomic<unsigned> sent_ahead{
      0};  // messages that receivers were not waiting for, since we
           // last gave way; a hint, see send()
  std::atomic<job::Rank*> owner{nullptr};  // null before the rank starts
  int world_rank;
  std::atomic<int> copies{0};  // receives matched and still being filled or completed
  std::atomic<bool> has_sent_pointers{
      false};                            // other ranks may refer to memory of this rank
  std::atomic<Waiter*> others{nullptr};  // list of parked_others, under others_lock
  SpinLock<ShortWait> others_lock;
  SharedCopy shared_copy;  // a copy that this rank may help with while it waits
  alignas(64) EagerPool eager;
  alignas(64) Outside outside;

  alignas(64) Cell cells[kCells] = {};

  // Copies out the payload of an inline message. Caller: holds the lock.
  void copy_out(const Arrival& message, uint64_t position, char* to) const noexcept {
    if (message.is_compact)
      return small_copy(to, cells[position % kCells].payload, message.bytes);
    get_pieces(cells, position + 1, to, message.bytes);
  }

 private:
  void lock_slowly() noexcept;
  void take_over() noexcept;  // for start_polling()
  struct Claimed {
    uint64_t position, end;
    bool delegated, was_full;
  };
  // `fills_line`: leaves the rest of its last line empty.
  Claimed claim(uint64_t count, bool fills_line);
  Claimed claim_slowly(uint64_t count, bool fills_line);
  // A message that fits_compact(), in line; any other one.
  Sent push_compact(const Key& key, const void* data, size_t bytes, bool more_follow);
  Sent push_cells(const Key& key, const void* data, size_t bytes);
  Sent sent(const Claimed& claimed) noexcept;
  PieceCell& piece(uint64_t position) noexcept;
  void publish(const Claimed& claimed, CellKind kind, const Key& key,
               size_t bytes) noexcept;
  void make_room(uint64_t seen) noexcept;
  void match_for_owner(uint64_t position) noexcept;
  void accept(const Arrival& message, uint64_t position, Work& work) noexcept;
  // `receive`: the one for this message, in no queue; null: there is none.
  void accept_send(Operation& send, uint64_t position, Operation* receive,
                   Work& work) noexcept;
  void accept_inline(const Arrival& message, uint64_t position, Operation* receive,
                     Work& work) noexcept;
  void accept_pointer(const Arrival& message, uint64_t position, Operation* receive,
                      Work& work) noexcept;
  void fill(Operation& receive, const Arrival& message,
            uint64_t position) const noexcept;
};

inline Mailbox& mailbox_of(job::Rank& rank) noexcept { return *rank.mailbox; }

}  // namespace mpc::msg

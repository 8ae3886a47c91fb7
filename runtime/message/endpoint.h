#pragma once
// Endpoint: the operations of one process's ranks that are under way with other processes.
//
// Role:      gives messages their place in the order of sending, and accepts them in that order;
//            finds operations that wait for another process's answer by their number.
// Users:     runtime/message.
// Threads:   take() and finish() by the net; the others any.
// See also:  runtime/transport/net.h, docs/design/0019-virtual-processes.md.

#include <atomic>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/control_end.h"
#include "runtime/message/credit.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/message.h"
#include "runtime/message/operation_table.h"
#include "runtime/message/work.h"
#include "runtime/transport/net.h"

namespace mpc::msg {

// MPI_Cancel of a send waits for the answer to this. It is on the waiter's stack.
struct Question {
  enum Answer : int { kNone, kMatched, kWithdrawn };
  std::atomic<int> answer{kNone};
  std::atomic<sched::Execution*> waiter{nullptr};
};

// What a process has told others, and which of their messages have taken effect, both modulo 2^32.
// Counted are messages of ranks, their answers, ends of offers and fetches, control messages; not
// credit, for which no rank waits. Each is counted as sent before it enters the net, and as
// received when all its effects here are done. So what is on its way, or waits here for its turn,
// is sent and not received: design/0025.
struct Traffic {
  uint32_t sent = 0, received = 0;
};

class Endpoint final : public transport::Receiver {
 public:
  // Ownership: the map outlives it.
  Endpoint(const job::ProcessMap& map, int process, transport::Net& net);
  // For connections of a process with processes of other jobs; `process`: its number among them.
  Endpoint(const Credit::Shape& shape, int process, transport::Net& net);
  ~Endpoint();
  transport::Net& net() const noexcept { return net_; }
  int process() const noexcept { return process_; }
  const Credit& credit() const noexcept { return credit_; }
  ControlEnd& control() noexcept { return control_; }
  Traffic traffic() const noexcept;
  // From now on `peer` is another process, whose ranks have these numbers: the next message in
  // either direction is the first one. Caller: nothing comes from there yet, and no rank sends
  // there.
  void begin_peer(int peer, const std::vector<job::RankRange>& numbers) noexcept;

  // --- sending ---
  // Never 0, never the same twice.
  uint64_t new_id() noexcept {
    return last_id_.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  // May a message of so many bytes leave its sender before it is received? If so it must.
  bool may_leave(int dest_world, size_t bytes) noexcept {
    return credit_.take(dest_world, bytes);
  }
  // The longest message that the net posts to this process.
  size_t eager_bytes(int peer) noexcept {
    const uint32_t known =
        eager_bytes_[place_of(peer)].load(std::memory_order_relaxed);  // 0: unknown
    return known != 0 ? known : find_eager_bytes(peer);
  }
  // Sends in the order in which one execution calls this. Inline, because each message does it.
  void post(int peer, transport::Envelope envelope, const transport::Source& source) {
    stamp(peer, envelope);
    net_.post(peer, envelope, source);
  }
  void offer(int peer, transport::Envelope envelope, const transport::Source& source,
             Operation& op);

  // What one of our ranks tells another process: may overtake other messages.
  struct Answer {
    int peer;
    transport::PacketKind kind;
    uint64_t id;
    bool flag;
    int own_rank;
  };
  void post_at_once(const Answer& answer);
  // A parcel is no longer needed: returns its block, and tells its process if that is due.
  // Caller: holds no lock.
  void release(Block& parcel, int own_rank) noexcept;
  // The net is about to be asked for the data of an offer, or told that they are not wanted.
  void count_fetch() noexcept { asked_.fetch_add(2, std::memory_order_relaxed); }
  void count_refusal() noexcept { asked_.fetch_add(1, std::memory_order_relaxed); }
  // An offer or a fetch has ended. Release pairs with traffic(): its effects.
  void count_end() noexcept { ended_.fetch_add(1, std::memory_order_release); }

  // --- operations that another process will end ---
  // From now on `op.remote.id` names it. Called before the message is sent.
  void add_send(Operation& op);
  void add_fetch(Operation& receive);
  // The net has been given the operation's memory. If the operation has already ended it is
  // destroyed.
  void started_send(uint64_t id);
  void started_fetch(uint64_t id);
  // Its data are no longer needed. Caller: Completion::done().
  void ended_offer(Operation& op, transport::Outcome outcome) noexcept;
  void ended_fetch(Operation& receive, transport::Outcome outcome) noexcept;
  // True: the other process must be asked.
  bool begin_withdraw(uint64_t id) noexcept;
  void ask(uint64_t id, int peer, Question& question);
  // After the answer: the thread that gave it no longer touches the question.
  void end_question() noexcept;
  void forget(const Mailbox& mine) noexcept;

  // --- a process that has died, and the job goes on: endpoint_losses.cpp ---
  // Operations that only an answer of the dead process would end fail, and its messages are
  // dropped. The net itself ends what it has under way with that process.
  void lose(int peer) noexcept;
  bool has_under_way(int peer) noexcept;
  // Offers of a rank in these contexts that no receive will take fail. Waits for their receivers' processes.
  // Caller: a thread that holds no lock, not the net's; one at a time.
  void recall_offers(bool (*is_broken)(int rank, ContextId context)) noexcept;

  // --- transport::Receiver: remote_arrival.cpp ---
  bool take(int from, const transport::Envelope& envelope, const void* data,
            size_t bytes, transport::Bulk bulk) noexcept override;
  bool finish() noexcept override;
  // Instead of take(), for the execution that waits for this message in `mine`, whose receive is in no queue: the data
  // go into its buffer. kOwes: the same, and the sender must be given credit (repay()). Caller: as take().
  enum class Received : uint8_t { kNo, kYes, kOwes };
  Received receive(int from, const transport::Envelope& envelope, const void* data,
                   size_t bytes, Mailbox& mine, const RecvArgs& args,
                   Status& status) noexcept;
  // Caller: any, without locks.
  void repay(int peer, int own_rank) {
    post_at_once({peer, transport::PacketKind::kCredit, 0, false, own_rank});
  }

 private:
  using Envelope = transport::Envelope;
  struct Early {
    Envelope envelope;
    std::vector<char> data;
    transport::Bulk bulk;
  };
  // The state of another process, for the net's thread.
  struct Peer {
    uint32_t expected = 0;
    bool is_stuck =
        false;  // its next message is in `early`, because its mailbox was locked
    Mailbox* wanted = nullptr;  // we are counted in its `wanted`
    // Messages that have overtaken others.
    std::unique_ptr<std::map<uint32_t, Early>> early;
  };

  struct Asked {
    Question* question;
    int peer;
  };

  // Numbers of far processes have their place among those of their kind: see job::neighbours.
  static size_t place_of(int peer) noexcept {
    return static_cast<size_t>(job::neighbours::index_of_process(peer));
  }
  Peer& peer_at(int peer) noexcept { return peers_[place_of(peer)]; }
  void stamp(int peer, Envelope& envelope) noexcept {
    // Relaxed: one execution's messages get numbers in its order;
    // messages of different ones have no order.
    envelope.sequence = sent_[place_of(peer)].fetch_add(1, std::memory_order_relaxed);
    envelope.credit = credit_.collect(peer, static_cast<int>(envelope.from_world));
  }
  [[gnu::cold]] size_t find_eager_bytes(int peer) noexcept;
  bool deliver(int from, const Envelope& envelope, const void* data, size_t bytes,
               transport::Bulk bulk);
  bool deliver_message(int from, const Envelope& envelope, const void* data,
                       size_t bytes, transport::Bulk bulk);
  bool deliver_withdraw(int from, const Envelope& envelope);
  void fill_now(Mailbox& to, Operation& receive, int from, const Envelope& envelope,
                const void* data, size_t bytes);
  void take_at_once(const Envelope& envelope);
  void note_received(int from, int own_rank, size_t bytes);
  void keep_early(Peer& peer, const Envelope& envelope, const void* data, size_t bytes,
                  transport::Bulk bulk);
  void deliver_early(int from);
  bool lock(Peer& peer, Mailbox& mailbox) noexcept;
  void note_news() noexcept;
  void take_ack(uint64_t id);
  void take_answer(uint64_t id, bool is_withdrawn);
  void send_answers();
  void answer_question(Asked asked, bool is_withdrawn) noexcept MPC_REQUIRES(lock_);
  // Removes it from the table; call end_completing() when it is complete.
  void remove_send(uint64_t id) MPC_REQUIRES(lock_);
  // The same for an operation that is no longer in the table.
  void begin_completing(Operation& op) noexcept MPC_REQUIRES(lock_);
  void end_completing(int operations) noexcept;
  void fail_send(Operation& op) noexcept;
  bool forget_some(const Mailbox& mine) noexcept;
  bool take_ended_offer(Operation& op, transport::Outcome outcome) noexcept;

  transport::Net& net_;
  const int process_;
  const int processes_;
  Credit credit_;
  // For senders: the number of messages sent to each process.
  const std::unique_ptr<std::atomic<uint32_t>[]> sent_;
  const std::unique_ptr<std::atomic<uint32_t>[]> eager_bytes_;  // a copy of the net's
  const std::unique_ptr<Peer[]> peers_;

  // Each on lines of its own, because senders and the net's thread write them all the time.
  alignas(64) std::atomic<uint64_t> last_id_{0};
  // Sends that are in no table any more and are not complete yet: forget() waits for them.
  alignas(64) std::atomic<int> completing_{0};
  // Number of answers sent, fetches (two: the data, and the
  // offer's end at its sender) and refusals.
  std::atomic<uint32_t> asked_{0};
  // Number of own offers and fetches that have ended.
  std::atomic<uint32_t> ended_{0};
  Mutex lock_;
  OperationTable sends_ MPC_GUARDED_BY(lock_);
  OperationTable fetches_ MPC_GUARDED_BY(lock_);
  std::unordered_map<uint64_t, Asked> questions_ MPC_GUARDED_BY(lock_);

  // Collected between take() and finish(); used only by the net's thread.
  struct Refusal {
    int peer;
    transport::Bulk bulk;
  };
  alignas(64) Work work_;
  std::vector<Mailbox*> news_;
  std::vector<Answer> answers_;
  std::vector<Refusal> refusals_;
  std::vector<int> stuck_;
  int completed_sends_ = 0;
  int64_t delivered_early_ = 0;
  uint32_t taken_ = 0;                 // taken, and added to received_ in finish()
  std::atomic<uint32_t> received_{0};  // written only by the net's thread

  ControlEnd control_;
};

// The endpoint by which a rank of this address space talks to another process. Caller: there is a
// network.
Endpoint& endpoint_towards(int peer, int own_rank) noexcept;
// The endpoint of a process of this address space, or the one for other jobs, which has its number
// there. Caller: there is a network.
Endpoint& endpoint_of_process(int process) noexcept;
// Calls `visit` for the endpoints that hold something of this rank: its job's, and the one for
// other jobs.
void for_each_endpoint(int own_rank, void (*visit)(Endpoint&, void*), void* argument);

}  // namespace mpc::msg

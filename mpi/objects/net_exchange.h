#pragma once
// NetExchange: meetings of several processes, by messages between them.
//
// Role:      one process's end: tells the others what it brings to each meeting, keeps what they
//            tell until its own members have come, and says when all have told.
// Users:     mpi/objects/process.cpp.
// Threads:   allgather() any; arrive() one thread at a time.
// See also:  docs/design/0006-meetings.md (why no meeting has a number); runtime/message/control.h.
//
// The processes stand in a ring, each beginning with itself. Whoever has the parts of the first
// `held` processes of its ring gets those of the next ones from kFanOut - 1 others, at distances
// held, 2 held, ..., of which each tells all that it holds itself. So it has kFanOut times as many
// (Bruck 1997, with a larger radix): up to kFanOut processes tell each other everything at once, 64
// of them need two steps, 512 three, with 7 messages of each process in a step.

#include <deque>
#include <map>
#include <unordered_map>

#include "base/mutex.h"
#include "mpi/objects/exchange.h"

namespace mpc::mpi {

class NetExchange final : public Exchange {
 public:
  static constexpr size_t kFanOut = 8;

  explicit NetExchange(int process) noexcept : process_(process) {}
  void allgather(const MeetingKey& key, std::span<const int> processes, int index,
                 Bytes mine, Deliver deliver) override;
  // What `from` has sent on ControlChannel::kMeeting. Caller: the channel's handler.
  void arrive(int from, std::span<const std::byte> message);
  // A process has died: meetings that it takes part in end without anything told. Caller: it is marked as
  // lost (runtime/job/losses.h). Any thread.
  void lose(int process);

 private:
  using Parts = std::vector<Bytes>;
  // One meeting; or what others have told of it before this process takes part.
  struct Gathering {
    std::vector<int> ring;  // its processes, this one first; empty: no part in it yet
    size_t index = 0;       // of this process among those that were named
    Parts parts;            // by place in the ring
    size_t held = 0;        // so many of them are there
    bool has_told = false;  // them to those who get them from here
    Deliver deliver;
    // By process, in the order of sending: the first is of this meeting, others are of later
    // ones with the same key.
    std::map<int, std::deque<Parts>> told;
  };
  using Gatherings = std::unordered_map<MeetingKey, Gathering, MeetingKeyHash>;
  // What is to be done without the lock.
  struct Steps {
    struct Message {
      int to;
      Bytes bytes;
    };
    std::vector<Message> messages;
    Deliver deliver;  // null: parts are missing
    Parts parts;      // as they were named
  };

  Steps advance(Gatherings::iterator entry) MPC_REQUIRES(lock_);
  void end(Gatherings::iterator entry, Steps& steps) MPC_REQUIRES(lock_);
  Deliver give_up(Gatherings::iterator entry) MPC_REQUIRES(lock_);
  void carry_out(Steps steps) const;

  const int process_;
  Mutex lock_;  // never held while the net is called
  Gatherings gatherings_ MPC_GUARDED_BY(lock_);
};

}  // namespace mpc::mpi

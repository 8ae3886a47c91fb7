#pragma once
// NetExchange: meetings of several processes, by messages between them.
//
// Role:      one process's end: sends to the others what it brings to each meeting, stores what
//            they send until its own members have come, and reports when all have sent.
// Users:     mpi/objects/process.cpp.
// Threads:   allgather() any; arrive() one thread at a time.
// See also:  docs/design/0006-meetings.md (why no meeting has a number); runtime/message/control.h.
//
// The processes form a ring, which each process begins with itself. A process that has the parts
// of the first `held` processes of its ring gets those of the next ones from kFanOut - 1 others,
// at distances held, 2 held, ...; each of these sends all that it holds. Then the process has
// kFanOut times as many parts (Bruck 1997, with a larger radix). Up to kFanOut processes tell each
// other everything at once, 64 processes need two steps, 512 three, with 7 messages of each
// process in a step.

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
  // A message that `from` has sent on ControlChannel::kMeeting. Caller: the channel's handler.
  void arrive(int from, std::span<const std::byte> message);
  // A process has died: meetings in which it takes part end without a result. If it is of another
  // job it has ended: those for which it has sent its part go on. Needs: it is marked as lost
  // (runtime/job/losses.h). Caller: any thread.
  void lose(int process);

 private:
  using Parts = std::vector<Bytes>;
  // One meeting; or what others have sent of it before this process takes part.
  struct Gathering {
    std::vector<int> ring;  // its processes, this one first; empty: no part in it yet
    size_t index = 0;       // of this process among those that were named
    Parts parts;            // by place in the ring
    size_t held = 0;        // number of parts that are there
    bool has_told = false;  // has sent them to the processes that get them from here
    Deliver deliver;
    // By process, in the order of sending: the first belongs to this meeting, others to later
    // ones with the same key.
    std::map<int, std::deque<Parts>> told;
  };
  using Gatherings = std::unordered_map<MeetingKey, Gathering, MeetingKeyHash>;
  // Work that must be done without the lock.
  struct Steps {
    struct Message {
      int to;
      Bytes bytes;
    };
    std::vector<Message> messages;
    Deliver deliver;  // null: parts are missing
    Parts parts;      // as they were named
  };

  static bool waits_for(const Gathering& g, int process);
  Steps advance(Gatherings::iterator entry) MPC_REQUIRES(lock_);
  void end(Gatherings::iterator entry, Steps& steps) MPC_REQUIRES(lock_);
  Deliver give_up(Gatherings::iterator entry) MPC_REQUIRES(lock_);
  void carry_out(Steps steps) const;

  const int process_;
  Mutex lock_;  // never held while the net is called
  Gatherings gatherings_ MPC_GUARDED_BY(lock_);
};

}  // namespace mpc::mpi

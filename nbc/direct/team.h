#pragma once
// Team: the members of a communicator in shared memory: how they arrive and are released.
//
// Role:      one object for all members. Members of the same place (worker) arrive at a plain
//            counter; the last one of a place acts for it: it meets those of the other places,
//            moves the data of all its members, and releases its place.
// Users:     nbc/direct only; mpi holds a reference per communicator.
// Threads:   each member by one execution at a time (MPI's rule for collectives).
// See also:  docs/design/0007-direct-collectives.md: the argument why this is correct;
//            nbc/direct/one_way.h: collectives in which members do not all meet.
//
// If there are many places they meet in stages (nbc/direct/stages.h): none reads all others' lines.
//
//   members of place 0      place 0                       place 1      members of place 1
//     arrive  ------------> count = all: act(e)             ...
//     wait for                 post[e&1] = what it has  <----> reads, waits for post of e
//     `released`               ... meet() as often as data need ...
//     return  <------------ released = e
//
// Numbers only grow: exchange e of a team has the rounds kRounds * e + 0, 1, ... Here e counts
// exchanges, the collectives that are not one-way; epochs count both.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "nbc/direct/call.h"
#include "nbc/direct/later.h"
#include "nbc/direct/post.h"
#include "nbc/direct/stages.h"
#include "nbc/direct/track.h"
#include "nbc/direct/trail.h"
#include "runtime/job/rank.h"
#include "runtime/message/sleeper.h"

namespace mpc::nbc::direct {

using msg::Sleeper;

struct alignas(64) Member {
  const Call* call = nullptr;  // written by the member before its arrival
  uint64_t epoch = 0;        // collectives begun; for the member only, as what follows:
  uint64_t exchanges = 0;    // those of them that are not one-way
  uint64_t done_by_all = 0;  // all members are done with those up to this one
  // The direction of the data in the last one: from a root, to it, or:
  static constexpr int kBothWays = -1, kUpwards = -2;  // to higher ranks
  int way = kBothWays;
  Sleeper sleeper;  // waits for Place::released
  int place = 0;
  // Written by the member that acts for the place, read by the member after its release:
  bool has_mismatch = false;  // see Place::complaint
  int truncated_by = -1;  // the rank whose data were longer than this member's buffer
};

// What an exchange needs again and again of a receiving member's call, which lies on that member's stack: with
// hundreds of members each look there would miss the caches and the translation buffers.
struct Receiver {
  char* recv;
  Count step;
  size_t block;  // 0: not plain, so only the call knows where its blocks are
  int member;
};

struct Place {
  alignas(64) std::atomic<uint64_t> arrived{
      0};  // members' arrivals since the beginning
  alignas(64) std::atomic<uint64_t> released{0};  // last exchange that has ended here
  alignas(64) std::atomic<uint64_t> round{0};  // later rounds of the current exchange
  // Posts of exchanges, two in turn. Place q may still read the post of one exchange while this
  // place is at the next one, but not at the one after, which needs q to be at the next. Not side
  // by side: a core that reads one line may fetch the adjacent one, which its writer needs.
  struct alignas(128) Apart : Post {};
  Apart posts[2];
  // If the team meets in stages: what this place does in each; the posts of all stages but the first,
  // two for each, as above.
  Stages stages;
  std::unique_ptr<Apart[]> later_posts;
  Post& post(size_t stage, uint64_t exchange) noexcept {
    return stage == 0 ? posts[exchange & 1]
                      : later_posts[2 * stage - 2 + (exchange & 1)];
  }
  Sleeper sleeper;                  // the acting member waits here for other places
  std::vector<int> members;         // ascending
  std::vector<Receiver> receivers;  // in that order; filled by the acting member
  // Written by the acting member; empty until all members have arrived again:
  std::string complaint;
  bool calls_differ = false;  // the complaint is not about amounts of data only
  std::unique_ptr<unsigned char[]>
      scratch;  // two times kScratchBytes for each stage, in turn
};

// Waits until the flag is `number` or more; only the caller uses the sleeper. Order: acquire.
// Switches: yes.
void wait_for_flag(const std::atomic<uint64_t>& flag, uint64_t number, Sleeper& sleeper,
                   job::Rank& self, const sched::WaitReason& why);

class Team {
 public:
  // place_of_member[m]: any number, the same for members of the same place.
  // domain_of_member[m]: the part of the machine (a cache, a NUMA node) where its place is; empty:
  // unknown.
  explicit Team(std::span<const int> place_of_member,
                std::span<const int> domain_of_member = {});
  Team(const Team&) = delete;

  int size() const noexcept { return static_cast<int>(members_.size()); }
  int place_count() const noexcept { return static_cast<int>(places_.size()); }
  // Members of each place have consecutive ranks, and places are in rank order.
  bool is_in_rank_order() const noexcept { return is_in_rank_order_; }
  Member& member(int m) noexcept { return members_[static_cast<size_t>(m)]; }
  // The same as Member::place, but not read from the member's line, which it writes in each
  // collective.
  int place_of(int m) const noexcept { return place_of_[static_cast<size_t>(m)]; }
  int largest_place() const noexcept { return largest_place_; }  // in members
  // Each member has a place of its own: member m has place m.
  bool is_spread() const noexcept { return largest_place_ == 1; }
  Place& place(int p) noexcept { return *places_[static_cast<size_t>(p)]; }
  const std::unique_ptr<Place>* places() const noexcept { return places_.data(); }
  bool has_stages() const noexcept { return stage_count_ != 0; }
  size_t stage_count() const noexcept { return stage_count_; }
  int largest_group() const noexcept {
    return largest_group_;
  }  // of places that meet at once
  // By member; created when a member of the team first needs them.
  Track* tracks() {
    // acquire pairs with the release in make_tracks().
    Track* const made = tracks_.load(std::memory_order_acquire);
    return made != nullptr ? made : make_tracks();
  }

  // The same for small collectives that do not block.
  Trail* trails() {
    // acquire pairs with the release in make_trails().
    Trail* const made = trails_.load(std::memory_order_acquire);
    return made != nullptr ? made : make_trails();
  }

  // For barriers that do not block; created as tracks().
  Later& later() {
    // acquire pairs with the release in make_later().
    Later* const made = later_.load(std::memory_order_acquire);
    return made != nullptr ? *made : make_later();
  }

  // How many members have arrived at an exchange; for reports, may be stale.
  int arrived(uint64_t exchange) const noexcept;

 private:
  void plan(std::span<const int> domains);
  Track* make_tracks();
  Trail* make_trails();
  Later& make_later();

  std::vector<Member> members_;
  std::vector<int> place_of_;
  std::vector<std::unique_ptr<Place>> places_;
  std::atomic<Track*> tracks_{nullptr};
  std::unique_ptr<Track[]> owned_tracks_;  // written once, by the creator
  std::once_flag making_tracks_;
  std::atomic<Trail*> trails_{nullptr};
  std::unique_ptr<Trail[]> owned_trails_;  // written once, by the creator
  std::once_flag making_trails_;
  std::atomic<Later*> later_{nullptr};
  std::unique_ptr<Later> owned_later_;
  std::once_flag making_later_;
  int largest_place_ = 0;
  int largest_group_ = 2;
  size_t stage_count_ = 0;  // 0: few places, each looks at all others
  bool is_in_rank_order_ = true;
};

// The last member of a place to arrive, while it acts for the place.
class Actor {
 public:
  Actor(Team& team, int member, job::Rank& self, const sched::WaitReason& why) noexcept;

  Team& team() const noexcept { return team_; }
  Place& place() const noexcept { return place_; }
  int place_number() const noexcept { return place_number_; }
  const Call& call() const noexcept { return *me_.call; }  // its op does all work
  const Call& call_of(int member) const noexcept { return *team_.member(member).call; }
  Post& mine() noexcept { return place_.posts[exchange_ & 1]; }
  Post& post_of(int place) noexcept { return team_.place(place).posts[exchange_ & 1]; }

  // Memory for `bytes` that the others may read after the post is shown, until the next exchange
  // of posts: in the post itself, or in scratch memory (at most kScratchBytes).
  unsigned char* room_for(size_t bytes, size_t stage = 0);

  // Shows mine() to the others; waits until all of them have shown theirs. Switches: yes.
  void exchange_posts();
  // Instead, if the team has stages: shows the post of this stage, and waits for the posts of
  // `stage(s).from`. After the last stage all members of the team have arrived. Switches: yes.
  void exchange_stage(size_t s);
  const Stage& stage(size_t s) const noexcept { return place_.stages[s]; }
  Post& staged_post(int place, size_t s) noexcept {
    return team_.place(place).post(s, exchange_);
  }
  // Waits until all places have called this. Afterwards all see what each did before. Switches:
  // yes.
  void meet();
  // Releases the members of the place; each continues on the worker of the place. Switches: if the
  // actor runs on another one.
  void release_place() noexcept;

 private:
  template <class FlagOf>
  void await_others(FlagOf flag_of);
  bool has_stage(int place, size_t s) noexcept;

  Team& team_;
  Member& me_;
  Place& place_;
  job::Rank& self_;
  const sched::WaitReason& why_;
  const int place_number_;
  const uint64_t exchange_;
  uint64_t round_;
};

// A member arrives. True: it is the last one of its place and must act. False: it has been
// released, and all is done. Switches: yes.
bool arrive(Team& team, int member, job::Rank& self, const sched::WaitReason& why);

}  // namespace mpc::nbc::direct

#pragma once
// Lane: one member's part in a one-way collective: its own post, and the posts that it waits for.
//
// Role:      begins the collective, shows its own post, waits for others', reports its progress.
// Users:     nbc/direct/one_way.cpp, nbc/direct/neighbours.cpp.
// Threads:   the member.
// See also:  nbc/direct/track.h; nbc/direct/one_way.h: the argument why this is correct.

#include <utility>

#include "nbc/direct/direct.h"
#include "nbc/direct/key.h"
#include "nbc/direct/track.h"

namespace mpc::nbc::direct {

class Lane {
 public:
  Lane(Team& team, int member, job::Rank& self, const sched::WaitReason& why)
      : tracks_(team.tracks()),
        me_(team.member(member)),
        own_(tracks_[member]),
        self_(self),
        why_(why),
        member_(member),
        size_(team.size()),
        epoch_(++me_.epoch),
        round_(epoch_ * kRounds) {}

  int member() const noexcept { return member_; }
  Post& mine() noexcept { return own_.post(epoch_); }
  Post& post_of(int member) noexcept { return tracks_[member].post(epoch_); }
  unsigned char* room_for(size_t bytes) { return own_.room_for(epoch_, bytes); }
  // The direction of the data. If it is that of the previous collective, the members that this one
  // waits for run ahead of it.
  void go(int way) noexcept {
    streams_ = std::exchange(me_.way, way) == way && way != Member::kBothWays;
  }
  // Before the first write: waits until no member reads any more what the post, or for this many
  // bytes the room, held an earlier turn of the ring. Switches: yes.
  void claim(size_t bytes) {
    const uint64_t ahead = bytes > Post::kInlineBytes ? kRooms : kPosts;
    if (epoch_ > me_.done_by_all + ahead) [[unlikely]]
      await_done(epoch_ - ahead);
  }
  // Later posts of this member will be written soon, with this many bytes: fetches their lines.
  void expect(size_t bytes) noexcept { own_.fetch_for_writing(epoch_, bytes); }

  // The post is complete. wake() its readers afterwards.
  void show() noexcept {
    // seq_cst: also orders this before the loads of the sleepers, see wake(). Pairs with
    // is_shown().
    mine().round.store(round_, std::memory_order_seq_cst);
  }
  // Wakes that member if it waits for the post that was just shown.
  void wake(int member) noexcept { wake_if_awaited(tracks_[member], round_); }
  // Waits for the post of `source`. Switches: yes.
  const Post& see(int source) {
    const Post& post = post_of(source);
    if (!is_shown(post)) {
      await(post, source);
    } else if (streams_) {
      fetch_next(source);
    }
    return post;
  }
  // The last step of the collective.
  void leave() noexcept {
    if (streams_ && !has_waited_ && own_.found_ahead < kFetchAhead) ++own_.found_ahead;
    if (epoch_ % kTellEvery == 0) [[unlikely]]
      tell(own_.done, epoch_);
  }

  // A reader says that it has read memory outside of posts; the writer waits for that.
  void say_read() noexcept { tell(own_.read, epoch_); }
  void await_reader(int member) {
    wait(tracks_[member].read, epoch_, member, kAnything);
  }

  // The post of `other` is of a different call than this member's.
  [[gnu::cold]] void complain(Outcome& outcome, int other, uint64_t own_key);

 private:
  static constexpr uint64_t kAnything = 1;  // not the number of a post
  static_assert(kRounds > kAnything);

  bool is_shown(const Post& post) const noexcept {
    // acquire pairs with show().
    return post.round.load(std::memory_order_acquire) >= round_;
  }
  // Fetches later posts, which may have been shown. (To fetch a line before it is written takes it
  // from its writer. So the number of lines is that of successive calls that did not have to wait.)
  void fetch_next(int source) const noexcept {
    for (uint64_t i = 1; i <= own_.found_ahead; ++i)
      __builtin_prefetch(&tracks_[source].post(epoch_ + i));
  }
  void await(const Post& post, int source);
  bool look_seldom(const Post& post) const noexcept;
  void await_done(uint64_t needed);
  void wait(const std::atomic<uint64_t>& flag, uint64_t value, int member,
            uint64_t number);
  void tell(std::atomic<uint64_t>& flag, uint64_t value) noexcept;
  void wake_if_awaited(Track& track, uint64_t number) const noexcept {
    // seq_cst, pairs with wait(): either this sees what the member waits for, or the member sees
    // what was stored before. A number that it has waited for does not match a second time.
    if (track.awaited_number.load(std::memory_order_seq_cst) == number &&
        track.awaited_member.load(std::memory_order_relaxed) == member_) [[unlikely]]
      track.sleeper.wake();
  }

  Track* const tracks_;  // by member
  Member& me_;
  Track& own_;
  job::Rank& self_;
  const sched::WaitReason& why_;
  const int member_, size_;
  const uint64_t epoch_, round_;
  bool streams_ = false, has_waited_ = false;
};

}  // namespace mpc::nbc::direct

#pragma once
// Lane: one member's way through a one-way collective: its post, and those that it waits for.
//
// Role:      begins the collective, shows the own post, waits for others', meets all if it is time.
// Users:     nbc/direct/one_way.cpp, nbc/direct/neighbours.cpp.
// Threads:   the member.
// See also:  nbc/direct/one_way.h: the argument why this is right.

#include "nbc/direct/direct.h"
#include "nbc/direct/key.h"

namespace mpc::nbc::direct {

class Lane {
 public:
  Lane(Team& team, int member, job::Rank& self, const sched::WaitReason& why) noexcept
      : team_(team),
        me_(team.member(member)),
        place_(team.place(member)),
        self_(self),
        why_(why),
        member_(member),
        epoch_(++me_.epoch),
        round_(epoch_ * kRounds),
        must_meet_(!may_reuse(epoch_ + 1, me_.met)) {}

  int member() const noexcept { return member_; }
  // All members wait for all in this one.
  bool must_meet() const noexcept { return must_meet_; }
  Post& mine() noexcept { return place_.post(epoch_); }
  Post& post_of(int member) noexcept { return team_.place(member).post(epoch_); }
  unsigned char* room_for(size_t bytes) { return place_.room_for(epoch_, bytes); }
  // The own next post will be written soon, and have so many bytes.
  void expect(size_t bytes) noexcept { place_.fetch_for_writing(epoch_ + 1, bytes); }

  // The own post is written. wake() those that read it.
  void show() noexcept {
    // seq_cst: also for the sleepers, see Sleeper::wake(). Pairs with see().
    mine().round.store(round_, std::memory_order_seq_cst);
  }
  void wake(int member) noexcept {
    if (member != member_) team_.place(member).sleeper.wake();
  }
  // Waits for the post. May run ahead: the writer does not wait for this member, so that if its post
  // is there already, the next one may be, too, and is fetched while this one is used. (Where both
  // wait for each other that would take the line from a writer that is about to write.) Switches: yes.
  const Post& see(int member, bool may_run_ahead = false) {
    Post& post = post_of(member);
    // acquire pairs with show().
    if (post.round.load(std::memory_order_acquire) < round_) {
      wait_for_flag(post.round, round_, place_.sleeper, self_, why_);
    } else if (may_run_ahead && !must_meet_) {
      __builtin_prefetch(&team_.place(member).post(epoch_ + 1));
    }
    return post;
  }
  // The last that it does. Switches: if must_meet().
  void leave() {
    if (!must_meet_) return;
    for (int m = 0; m < team_.size(); ++m) see(m);
    me_.met = epoch_;
  }

  // A reader says that it has read what stands outside of posts; the writer waits for that.
  void say_read() noexcept {
    place_.round.store(round_ + 1, std::memory_order_seq_cst);
  }
  void await_reader(int member) {
    wait_for_flag(team_.place(member).round, round_ + 1, place_.sleeper, self_, why_);
  }

  // What the post says is not what this member does.
  [[gnu::cold]] void complain(Outcome& outcome, int other, uint64_t own_key) {
    place_.complaint = difference(other, post_of(other).key, member_, own_key);
    outcome.mismatch = &place_.complaint;
    outcome.calls_differ = !is_same_call(post_of(other).key, own_key);
  }

 private:
  Team& team_;
  Member& me_;
  Place& place_;
  job::Rank& self_;
  const sched::WaitReason& why_;
  const int member_;
  const uint64_t epoch_, round_;
  const bool must_meet_;
};

}  // namespace mpc::nbc::direct

#include "nbc/direct/lane.h"

#include <algorithm>

#include "scheduler/may_spin.h"

namespace mpc::nbc::direct {

// ---- waiting -----------------------------------------------------------------------------

// A writer that runs ahead would be slowed down by a reader that has caught up: each poll takes the
// line of the post from the writer that is about to write it. So the reader pauses between polls,
// for the time in which the writer writes several posts. A member that waits for an answer does not
// use this.
bool Lane::look_seldom(const Post& post) const noexcept {
  constexpr int kLooks = 4, kPauses = 4;  // a pause: 10 to 50 ns
  if (!sched::spinning_pays()) return false;
  for (int look = 0; look < kLooks; ++look) {
    for (int pause = 0; pause < kPauses; ++pause) __builtin_ia32_pause();
    if (is_shown(post)) return true;
  }
  return false;
}

void Lane::await(const Post& post, int source) {
  has_waited_ = true;
  own_.found_ahead = 0;
  if (streams_ && look_seldom(post)) {
    own_.found_ahead = kFetchAhead / 2;
    return fetch_next(source);
  }
  wait(post.round, round_, source, round_);
}

void Lane::wait(const std::atomic<uint64_t>& flag, uint64_t value, int member,
                uint64_t number) {
  own_.awaited_member.store(member, std::memory_order_relaxed);  // before the number
  own_.awaited_number.store(number,
                            std::memory_order_seq_cst);  // see wake_if_awaited()
  wait_for_flag(flag, value, own_.sleeper, self_, why_);
}

// Waits until all other members are done with the collectives up to `needed`.
[[gnu::cold]] void Lane::await_done(uint64_t needed) {
  uint64_t least = epoch_ - 1;
  for (int m = 0; m < size_; ++m) {
    if (m == member_) continue;
    const std::atomic<uint64_t>& done = tracks_[m].done;
    // acquire pairs with tell(): that member has finished its reads.
    if (done.load(std::memory_order_acquire) < needed) wait(done, needed, m, kAnything);
    least = std::min(least, done.load(std::memory_order_acquire));
  }
  me_.done_by_all = std::max(me_.done_by_all, least);
}

// ---- telling -----------------------------------------------------------------------------

void Lane::tell(std::atomic<uint64_t>& flag, uint64_t value) noexcept {
  // seq_cst: before the loads of the sleepers; release for await_done() and await_reader().
  flag.store(value, std::memory_order_seq_cst);
  for (int m = 0; m < size_; ++m) {
    if (m != member_) wake_if_awaited(tracks_[m], kAnything);
  }
}

void Lane::complain(Outcome& outcome, int other, uint64_t own_key) {
  own_.complaint = difference(other, post_of(other).key, member_, own_key);
  outcome.mismatch = &own_.complaint;
  outcome.calls_differ = !is_same_call(post_of(other).key, own_key);
}

}  // namespace mpc::nbc::direct

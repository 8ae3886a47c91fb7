#pragma once
// Trail: what one member has shown in small collectives that do not block, and how far it is with them.
//
// Role:      a ring of posts that grows, because a start must not wait for members that are behind; the
//            counters that tell when a post may be written again.
// Users:     nbc/direct/pending.cpp; a Team creates one for each member at the first need.
// Threads:   fields say who writes; what belongs to the member is guarded by `lock` if several threads of
//            the rank make calls at once.
// See also:  nbc/direct/pending.h: why this is correct; nbc/direct/track.h: the same for blocking ones.
//
//   epoch      1 2 3 ...                 small non-blocking collectives of the team, at all members alike
//   ring       epoch % size              a line each: flag and data. Twice as many if one is still needed
//   done       all up to this one        told after each kTellEvery-th, in a line of its own

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/spin_lock.h"
#include "nbc/direct/post.h"
#include "runtime/job/rank.h"

namespace mpc::nbc::direct {

struct Trail {
  struct Ring {
    explicit Ring(uint64_t count) : size(count), posts(new Post[count]) {}
    const uint64_t size;  // a power of two
    const std::unique_ptr<Post[]> posts;
    Post& post(uint64_t epoch) const noexcept { return posts[epoch & (size - 1)]; }
  };
  static constexpr uint64_t kFirstPosts = 64;
  // One of the member's collectives that still reads.
  struct Reader {
    Reader *older, *newer;
    uint64_t epoch;
  };

  // Written when the ring is made and when it grows.
  alignas(64) std::atomic<Ring*> ring{nullptr};
  // How many executions of the rank wait, and whom to tell then.
  std::atomic<uint32_t> watchers{0};
  std::atomic<job::Rank*> rank{nullptr};

  // Read by others once in a while.
  alignas(64) std::atomic<uint64_t> done{0};  // it reads nothing of these any more
  std::atomic<uint64_t> come{0};              // it has begun these

  // For the member only.
  alignas(64) SpinLock<> lock;
  uint64_t begun = 0;
  uint64_t done_by_all = 0;              // as last seen
  std::atomic<uint64_t> come_by_all{0};  // likewise; several threads may find more
  Reader *oldest = nullptr, *newest = nullptr;  // those that still read, by epoch
  std::vector<std::unique_ptr<Ring>> rings;     // others may still look at older ones
};

// Caller: has found watchers.
[[gnu::cold]] void tell_rank(Trail& trail) noexcept;

// Held if several threads of the rank make calls at once. Otherwise the program lets them in one after the
// other. Clang's analysis cannot follow that.
class TrailLock {
 public:
  TrailLock(Trail& trail, bool is_needed) noexcept MPC_NO_THREAD_SAFETY_ANALYSIS
      : trail_(trail),
        is_needed_(is_needed) {
    if (is_needed_) trail_.lock.lock();
  }
  ~TrailLock() MPC_NO_THREAD_SAFETY_ANALYSIS {
    if (is_needed_) trail_.lock.unlock();
  }
  TrailLock(const TrailLock&) = delete;
  TrailLock& operator=(const TrailLock&) = delete;

 private:
  Trail& trail_;
  const bool is_needed_;
};

inline void tell_watchers(Trail& trail) noexcept {
  // seq_cst, pairs with watch(): either this sees the watcher, or that one sees what was stored before.
  if (trail.watchers.load(std::memory_order_seq_cst) != 0) [[unlikely]]
    tell_rank(trail);
}

// The member tells how far it is with its reads. Caller: holds the lock, if there is one.
void tell_done(Trail& own) noexcept;
// It tells how many it has begun.
void tell_come(Trail* trails, int size, int me, uint64_t epoch) noexcept;
// The least that any other member has told.
uint64_t least_of(Trail* trails, int size, int me,
                  std::atomic<uint64_t> Trail::*told) noexcept;
// The post of that epoch, which is the next one. Null: there is no memory.
Post* claim(Trail* trails, int size, int me, uint64_t epoch) noexcept;

// The post of that epoch; null: not shown yet.
inline const Post* look(const Trail& trail, uint64_t epoch) noexcept {
  // seq_cst: see watch(). Acquire pairs with the stores in grow() and begin().
  const Trail::Ring* const ring = trail.ring.load(std::memory_order_seq_cst);
  if (ring == nullptr) return nullptr;
  const Post& post = ring->post(epoch);
  return post.round.load(std::memory_order_seq_cst) == epoch ? &post : nullptr;
}

// Into the list of those that read, and out of it. Caller: as of tell_done().
void link(Trail& own, Trail::Reader& reader) noexcept;
void unlink(Trail& own, Trail::Reader& reader) noexcept;

}  // namespace mpc::nbc::direct

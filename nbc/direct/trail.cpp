#include "nbc/direct/trail.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/prefetch.h"
#include "nbc/direct/track.h"
#include "runtime/message/message.h"

namespace mpc::nbc::direct {

// ---- telling -----------------------------------------------------------------------------

void tell_rank(Trail& trail) noexcept {
  msg::notify(*trail.rank.load(std::memory_order_relaxed));
}

void tell_done(Trail& own) noexcept {
  const uint64_t all = own.oldest != nullptr ? own.oldest->epoch - 1 : own.begun;
  // Relaxed: only the member writes it. Release pairs with least_of(): its reads are over.
  if (all >= own.done.load(std::memory_order_relaxed) + kTellEvery)
    own.done.store(all, std::memory_order_release);
}

void tell_come(Trail* trails, int size, int me, uint64_t epoch) noexcept {
  trails[me].come.store(epoch, std::memory_order_seq_cst);  // see tell_watchers()
  for (int m = 0; m < size; ++m)
    if (m != me) tell_watchers(trails[m]);
}

uint64_t least_of(Trail* trails, int size, int me,
                  std::atomic<uint64_t> Trail::*told) noexcept {
  uint64_t least = ~uint64_t{0};
  for (int m = 0; m < size; ++m) {
    // seq_cst: see watch(); acquire pairs with tell_done().
    if (m != me)
      least = std::min(least, (trails[m].*told).load(std::memory_order_seq_cst));
  }
  return least;
}

// ---- posts -------------------------------------------------------------------------------

namespace {

// Members still need posts of the present ring: those from `first` to `last` move to a new one.
[[gnu::cold]] bool grow(Trail& own, uint64_t first, uint64_t last) noexcept {
  const Trail::Ring* const old = own.ring.load(std::memory_order_relaxed);
  try {
    uint64_t size = old != nullptr ? old->size : Trail::kFirstPosts;
    while (last + 1 - first >= size) size *= 2;
    auto made = std::make_unique<Trail::Ring>(size);
    for (uint64_t epoch = first; old != nullptr && epoch <= last; ++epoch) {
      const Post& from = old->post(epoch);
      Post& to = made->post(epoch);
      to.key = from.key;
      std::memcpy(to.data, from.data, sizeof to.data);
      to.round.store(from.round.load(std::memory_order_relaxed),
                     std::memory_order_relaxed);
    }
    own.rings.push_back(std::move(made));
  } catch (const std::bad_alloc&) {
    return false;
  }
  // seq_cst: pairs with look().
  own.ring.store(own.rings.back().get(), std::memory_order_seq_cst);
  return true;
}

}  // namespace

Post* claim(Trail* trails, int size, int me, uint64_t epoch) noexcept {
  Trail& own = trails[me];
  const Trail::Ring* ring = own.ring.load(std::memory_order_relaxed);
  if (ring == nullptr || epoch > own.done_by_all + ring->size) [[unlikely]] {
    own.done_by_all =
        std::max(own.done_by_all, least_of(trails, size, me, &Trail::done));
    if (ring == nullptr || epoch > own.done_by_all + ring->size) {
      if (!grow(own, own.done_by_all + 1, epoch - 1)) return nullptr;
      ring = own.ring.load(std::memory_order_relaxed);
    }
  }
  prefetch_for_write(&ring->post(epoch + kFetchAhead));
  return &ring->post(epoch);
}

// ---- those that read ---------------------------------------------------------------------

void link(Trail& own, Trail::Reader& r) noexcept {
  r.newer = nullptr;
  r.older = own.newest;
  (own.newest != nullptr ? own.newest->newer : own.oldest) = &r;
  own.newest = &r;
}

void unlink(Trail& own, Trail::Reader& r) noexcept {
  (r.older != nullptr ? r.older->newer : own.oldest) = r.newer;
  (r.newer != nullptr ? r.newer->older : own.newest) = r.older;
}

}  // namespace mpc::nbc::direct

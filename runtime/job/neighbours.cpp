#include "runtime/job/neighbours.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/mutex.h"

namespace mpc::job::neighbours {

constinit std::atomic<int> g_own_slot{0};

namespace {

// Below it a job's own ranks are: those that it starts, and those that it spawns.
constexpr int kFirstNumber = kRankNumbers / 2;

constinit std::atomic<uint64_t> g_generation{0};

// By number: the name of a neighbour's rank; 0: none. Only touched pages cost memory; used by atomic_ref.
constinit uint32_t g_names[kRankNumbers] = {};

// Ranks first .. first + count - 1 of a job have the numbers from `base` on.
struct Range {
  int first, count, base;
};

constinit Mutex g_lock;
std::array<std::vector<Range>, kMostJobs + 1>& ranges() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::array<std::vector<Range>, kMostJobs + 1>;
  return *all;
}
std::vector<Range>& unused() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::vector<Range>;
  return *all;
}
int g_next MPC_GUARDED_BY(g_lock) = kFirstNumber;  // never given out yet

// Numbers of ranks that have gone are given out again when there are no others: a group of theirs that
// somebody has kept is not mistaken for another one before.
int take_numbers(int count) MPC_REQUIRES(g_lock) {
  if (count <= kRankNumbers - g_next) {
    g_next += count;
    return g_next - count;
  }
  for (Range& range : unused()) {
    if (range.count < count) continue;
    range.count -= count;
    return range.base + range.count;
  }
  return -1;
}

int add_range(int slot, int first, int count) MPC_REQUIRES(g_lock) {
  const int base = take_numbers(count);
  if (base < 0) return -1;
  for (int i = 0; i < count; ++i) {
    const auto name = static_cast<uint32_t>(slot << kRankBits | (first + i));
    // release pairs with name_at().
    std::atomic_ref(g_names[base + i]).store(name, std::memory_order_release);
  }
  ranges()[static_cast<size_t>(slot)].push_back({first, count, base});
  return base;
}

uint32_t name_at(int rank) noexcept {
  return std::atomic_ref(g_names[rank]).load(std::memory_order_acquire);
}

}  // namespace

void join(int slot, uint64_t generation) noexcept {
  g_generation.store(generation, std::memory_order_relaxed);
  // release: the generation, and all that whoever sees the slot needs.
  g_own_slot.store(slot, std::memory_order_release);
}

uint64_t generation() noexcept { return g_generation.load(std::memory_order_relaxed); }

int add(int slot, int ranks) {
  const Locked lock(g_lock);
  return add_range(slot, 0, ranks);
}

void remove(int slot) noexcept {
  const Locked lock(g_lock);
  auto& gone = ranges()[static_cast<size_t>(slot)];
  for (const Range& range : gone) {
    for (int i = 0; i < range.count; ++i)
      std::atomic_ref(g_names[range.base + i])
          .store(static_cast<uint32_t>(kGoneSlot << kRankBits),
                 std::memory_order_release);
    unused().push_back(range);
  }
  gone.clear();
}

int slot_of(int rank) noexcept {
  return rank < kFirstNumber ? 0 : slot_in(static_cast<int>(name_at(rank)));
}

int name_of(int rank) noexcept {
  const int own = own_slot();
  if (own == 0) return rank;
  return rank < kFirstNumber ? own << kRankBits | rank
                             : static_cast<int>(name_at(rank));
}

int rank_of(int name) {
  const int slot = slot_in(name), rank = rank_in(name);
  if (slot == own_slot()) return rank;
  if (slot <= 0 || slot > kMostJobs) return -1;
  const Locked lock(g_lock);
  const auto& known = ranges()[static_cast<size_t>(slot)];
  if (known.empty()) return -1;
  for (const Range& range : known)
    if (rank >= range.first && rank < range.first + range.count)
      return range.base + rank - range.first;
  return add_range(slot, rank, 1);  // it has been spawned there meanwhile
}

}  // namespace mpc::job::neighbours

namespace mpc::job {

// Here, as a job's map does not know of others: with neighbours a process is a job's slot.
int ProcessMap::process_of(int world_rank) const noexcept {
  if (is_one_process()) {
    const int slot = neighbours::slot_of(world_rank);
    return slot != 0 ? slot : neighbours::own_slot();
  }
  const auto after = std::upper_bound(starts_.begin(), starts_.end() - 1, world_rank);
  return static_cast<int>(after - starts_.begin()) - 1;
}

}  // namespace mpc::job

#include "runtime/job/neighbours.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/mutex.h"
#include "runtime/job/job.h"

namespace mpc::job::neighbours {

constinit std::atomic<int> g_own_slot{0};

namespace {

constinit std::atomic<uint64_t> g_generation{0};
constinit Siblings g_siblings{};  // written before g_own_slot

// By number: the name of a neighbour's rank; 0: none. Only touched pages cost memory; accessed by
// atomic_ref.
constinit uint32_t g_names[kRankNumbers] = {};
// By slot: the number of a process of this job, plus one; 0: not known to be one.
constinit std::array<std::atomic<int>, kMostSlots + 1> g_processes{};

// Ranks first .. first + count - 1 of a job have the numbers from `base` on.
struct Range {
  int first, count, base;
};

constinit Mutex g_lock;
std::array<std::vector<Range>, kMostSlots + 1>& ranges() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::array<std::vector<Range>, kMostSlots + 1>;
  return *all;
}
std::vector<Range>& unused() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::vector<Range>;
  return *all;
}
int g_next MPC_GUARDED_BY(g_lock) = kFirstNumber;  // from here on never given out
// Slots by process of this job; 0: not known.
std::vector<int>& sibling_slots() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::vector<int>;
  return *all;
}

// Numbers of ranks that have ended are given out again only when no others are left: until then a
// stored group of such ranks is not mistaken for another one.
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

// Ranks that become known one by one, in order, are joined to one range.
void note_range(std::vector<Range>& known, Range fresh) MPC_REQUIRES(g_lock) {
  if (!known.empty()) {
    Range& last = known.back();
    if (last.first + last.count == fresh.first &&
        last.base + last.count == fresh.base) {
      last.count += fresh.count;
      return;
    }
  }
  known.push_back(fresh);
}

int add_range(int slot, int first, int count) MPC_REQUIRES(g_lock) {
  const int base = take_numbers(count);
  if (base < 0) return -1;
  for (int i = 0; i < count; ++i) {
    const auto name = static_cast<uint32_t>(slot << kRankBits | (first + i));
    // release pairs with name_at().
    std::atomic_ref(g_names[base + i]).store(name, std::memory_order_release);
  }
  note_range(ranges()[static_cast<size_t>(slot)], {first, count, base});
  return base;
}

// -1: the rank has no number yet.
int number_of(int slot, int rank) MPC_REQUIRES(g_lock) {
  for (const Range& range : ranges()[static_cast<size_t>(slot)])
    if (rank >= range.first && rank < range.first + range.count)
      return range.base + rank - range.first;
  return -1;
}

uint32_t name_at(int rank) noexcept {
  return std::atomic_ref(g_names[rank]).load(std::memory_order_acquire);
}

void note_sibling(int slot, int process) MPC_REQUIRES(g_lock) {
  std::vector<int>& slots = sibling_slots();
  if (slots.size() <= static_cast<size_t>(process))
    slots.resize(static_cast<size_t>(process) + 1);
  slots[static_cast<size_t>(process)] = slot;
  // relaxed: nothing else depends on this number.
  g_processes[static_cast<size_t>(slot)].store(process + 1, std::memory_order_relaxed);
}

}  // namespace

void join(int slot, uint64_t generation, int process, Siblings siblings) noexcept {
  g_generation.store(generation, std::memory_order_relaxed);
  g_siblings = siblings;
  {
    const Locked lock(g_lock);
    note_sibling(slot, process);
  }
  // release: publishes all of the above, and all that a thread that sees the slot relies on.
  g_own_slot.store(slot, std::memory_order_release);
}

uint64_t generation() noexcept { return g_generation.load(std::memory_order_relaxed); }

bool add(int slot, int first, int count) {
  const Locked lock(g_lock);
  for (int begin = first; begin < first + count;) {
    if (number_of(slot, begin) >= 0) {
      ++begin;
      continue;
    }
    int end = begin + 1;
    while (end < first + count && number_of(slot, end) < 0) ++end;
    if (add_range(slot, begin, end - begin) < 0) return false;
    begin = end;
  }
  return true;
}

std::vector<RankRange> numbers_of(int slot) {
  std::vector<RankRange> numbers;
  const Locked lock(g_lock);
  for (const Range& range : ranges()[static_cast<size_t>(slot)])
    numbers.push_back({range.base, range.base + range.count});
  return numbers;
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

int slot_of_process(int process) {
  if (!any()) return 0;
  {
    const Locked lock(g_lock);
    const std::vector<int>& slots = sibling_slots();
    if (static_cast<size_t>(process) < slots.size() &&
        slots[static_cast<size_t>(process)] != 0)
      return slots[static_cast<size_t>(process)];
  }
  const int slot = g_siblings.slot_of(process);
  if (slot <= 0) return 0;
  const Locked lock(g_lock);
  note_sibling(slot, process);
  return slot;
}

int process_in(int slot) {
  if (!any() || slot < 1 || slot > kMostSlots) return -1;
  if (const int known =
          g_processes[static_cast<size_t>(slot)].load(std::memory_order_relaxed))
    return known - 1;
  const int process = g_siblings.process_in(slot);
  if (process < 0) return -1;
  const Locked lock(g_lock);
  note_sibling(slot, process);
  return process;
}

int name_of(int rank) {
  if (!any()) return rank;
  if (rank >= kFirstNumber) return static_cast<int>(name_at(rank));
  const Job* const job = Job::existing();
  const int process = job != nullptr ? job->processes().process_of(rank) : 0;
  const int slot = slot_of_process(process);
  return slot != 0 ? slot << kRankBits | rank : -1;
}

int rank_of(int name) {
  const int slot = slot_in(name), rank = rank_in(name);
  if (slot <= 0 || slot > kMostSlots) return -1;
  {
    const Locked lock(g_lock);
    if (const int known = number_of(slot, rank); known >= 0) return known;
  }
  if (process_in(slot) >= 0) return rank;
  const Locked lock(g_lock);
  if (const int known = number_of(slot, rank); known >= 0) return known;
  return add_range(slot, rank, 1);
}

}  // namespace mpc::job::neighbours

namespace mpc::job {

// Defined here because a job's map does not know other jobs.
int ProcessMap::process_of(int world_rank) const noexcept {
  if (world_rank >= neighbours::kFirstNumber) [[unlikely]]
    if (const int slot = neighbours::slot_of(world_rank))
      return neighbours::far_process(slot);
  if (is_one_process()) return 0;
  const auto after = std::upper_bound(starts_.begin(), starts_.end() - 1, world_rank);
  return static_cast<int>(after - starts_.begin()) - 1;
}

}  // namespace mpc::job

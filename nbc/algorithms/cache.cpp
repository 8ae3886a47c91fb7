#include "nbc/algorithms/cache.h"

#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/settings.h"
#include "base/trace.h"

namespace mpc::nbc {

namespace {

IntSetting cache_entries{"nbc.cache_entries", 64, "schedules",
                         "Schedules that a communicator keeps for reuse.", 0};

constexpr trace::Site kBuild{"algorithms", "build schedule", {"nodes"}};
constexpr trace::Site kChoose{"algorithms", "choose", {"algorithm"}, true};
constexpr trace::Site kReuse{"algorithms", "reuse schedule", {"nodes"}};

uint64_t mix(uint64_t hash,
             uint64_t word) noexcept {  // one round of a multiply-fold hash
  const __uint128_t product =
      static_cast<__uint128_t>(hash ^ word) * 0x9e3779b97f4a7c15ull;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// All that a schedule depends on, as words. The visitor gets each of them.
template <class Visit>
void for_each_word(const Shape& s, Visit visit) {
  visit(static_cast<uint64_t>(s.coll) << 8 |
        static_cast<uint64_t>(s.is_nonblocking) << 3 |
        static_cast<uint64_t>(s.is_in_place) << 2 |
        static_cast<uint64_t>(s.is_commutative) << 1 |
        static_cast<uint64_t>(s.is_cartesian));
  visit(static_cast<uint64_t>(s.root));
  visit(static_cast<uint64_t>(s.size) << 32 | static_cast<uint64_t>(s.rank));
  visit(reinterpret_cast<uintptr_t>(s.algorithm));
  visit(static_cast<uint64_t>(s.split) << 32 | static_cast<uint64_t>(s.arity));
  visit(static_cast<uint64_t>(s.segment_bytes));
  auto type = [&](const TypeShape& t) {
    visit(static_cast<uint64_t>(t.size) << 1 | static_cast<uint64_t>(t.is_contiguous));
    visit(static_cast<uint64_t>(t.extent));
    visit(static_cast<uint64_t>(t.true_lb));
    visit(static_cast<uint64_t>(t.true_extent));
  };
  visit(static_cast<uint64_t>(s.send_count));
  visit(static_cast<uint64_t>(s.recv_count));
  type(s.send_type);
  type(s.recv_type);
  auto array = [&](const auto& values) {
    if (values.empty()) return;
    visit(values.size() << 1 | 1);
    for (const auto& value : values) visit(static_cast<uint64_t>(value));
  };
  array(s.send_counts);
  visit(1);  // a mark between arrays, as any of them may be absent
  array(s.send_displs);
  visit(2);
  array(s.recv_counts);
  visit(3);
  array(s.recv_displs);
  for (const TypeShape& t : s.send_types) type(t);
  visit(4);
  for (const TypeShape& t : s.recv_types) type(t);
  visit(5);
  array(s.sources);
  visit(6);
  array(s.destinations);
}

constexpr int kLooks = 4;

struct Entry {
  uint64_t hash;
  Coll coll;
  int root;
  std::vector<uint64_t> key;
  std::shared_ptr<const Schedule> schedule;
};

bool is_of(const Entry& entry, const Shape& shape) {
  const uint64_t* const key = entry.key.data();
  const size_t size = entry.key.size();
  size_t i = 0;
  uint64_t difference = 0;
  for_each_word(shape, [&](uint64_t word) {
    if (i < size) difference |= key[i] ^ word;
    ++i;
  });
  return difference == 0 && i == size;
}

}  // namespace

struct ScheduleCache::State {
  mutable std::mutex mutex;  // never held over a switch: nothing below waits
  std::list<Entry> entries;  // most recently used first
  std::unordered_map<uint64_t, std::list<Entry>::iterator> by_hash;
  uint64_t hits = 0, builds = 0;
};

ScheduleCache::ScheduleCache() : state_(std::make_unique<State>()) {}
ScheduleCache::~ScheduleCache() = default;

Result<std::shared_ptr<const Schedule>> ScheduleCache::get(const Shape& shape) {
  State& state = *state_;
  std::lock_guard lock(state.mutex);
  // A program's loop calls a few collectives in turn: comparing with the last ones costs less than
  // a hash.
  int looks = 0;
  for (const Entry& entry : state.entries) {
    if (entry.coll == shape.coll && entry.root == shape.root && is_of(entry, shape)) {
      ++state.hits;
      trace::instant(kReuse, {entry.schedule->nodes().size()});
      return entry.schedule;
    }
    if (++looks == kLooks) break;
  }
  uint64_t hash = 0x243f6a8885a308d3ull;
  for_each_word(shape, [&](uint64_t word) { hash = mix(hash, word); });
  if (auto found = state.by_hash.find(hash);
      found != state.by_hash.end() && is_of(*found->second, shape)) {
    ++state.hits;
    trace::instant(kReuse, {found->second->schedule->nodes().size()});
    if (found->second != state.entries.begin())
      state.entries.splice(state.entries.begin(), state.entries, found->second);
    return state.entries.front().schedule;
  }
  ++state.builds;
  const Algorithm& algorithm = select(shape);
  auto built = build(shape, algorithm);
  trace::instant(kChoose, {trace::text(algorithm.name)});
  if (built) trace::instant(kBuild, {(*built)->nodes().size()});
  if (!built || cache_entries.get() == 0) return built;
  if (auto found = state.by_hash.find(hash); found != state.by_hash.end()) {
    state.entries.erase(found->second);  // another shape with the same hash
    state.by_hash.erase(found);
  }
  Entry entry{hash, shape.coll, shape.root, {}, built.value()};
  for_each_word(shape, [&](uint64_t word) { entry.key.push_back(word); });
  state.entries.push_front(std::move(entry));
  state.by_hash[hash] = state.entries.begin();
  while (state.entries.size() > static_cast<size_t>(cache_entries.get())) {
    state.by_hash.erase(state.entries.back().hash);
    state.entries.pop_back();
  }
  return built;
}

size_t ScheduleCache::entries() const noexcept {
  std::lock_guard lock(state_->mutex);
  return state_->entries.size();
}
uint64_t ScheduleCache::hits() const noexcept {
  std::lock_guard lock(state_->mutex);
  return state_->hits;
}
uint64_t ScheduleCache::builds() const noexcept {
  std::lock_guard lock(state_->mutex);
  return state_->builds;
}

}  // namespace mpc::nbc

#include "mpi/objects/group_table.h"

#include <algorithm>
#include <unordered_map>

#include "nbc/algorithms/nest.h"
#include "runtime/job/host_map.h"
#include "runtime/job/job.h"
#include "runtime/job/neighbours.h"

namespace mpc::mpi {
namespace {

// All live tables by the hash of their content. Never destroyed: tables may outlive main(). Divided
// into parts with a lock each, because the members of a communicator that is split come here at the
// same time.
struct alignas(64) Registry {
  std::mutex mutex;
  std::unordered_multimap<uint64_t, std::weak_ptr<const GroupTable>> tables;
};
Registry& registry_of(uint64_t hash) {
  constexpr size_t kParts = 32;
  static Registry* const parts = new Registry[kParts];
  return parts[(hash >> 32) % kParts];
}

// The world table that was requested last.
struct World {
  std::mutex mutex;
  GroupRef table;
};
World& last_world() {
  static World* const w = new World;
  return *w;
}

uint64_t hash_of(std::span<const int> ranks) noexcept {
  uint64_t h = 0xcbf29ce484222325u ^ ranks.size();
  for (const int rank : ranks) {
    h = (h ^ static_cast<uint32_t>(rank)) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return h;
}

void forget(const GroupTable* table, uint64_t hash) {
  {
    Registry& r = registry_of(hash);
    const std::lock_guard lock(r.mutex);
    const auto [first, last] = r.tables.equal_range(hash);
    // Any expired entry of this hash will do: each dead table removes one.
    for (auto it = first; it != last; ++it) {
      if (it->second.expired()) {
        r.tables.erase(it);
        break;
      }
    }
  }
  delete table;
}

}  // namespace

GroupTable::GroupTable(PrivateTag, std::vector<int> world_ranks)
    : ranks_(std::move(world_ranks)) {
  if (ranks_.size() < 2) {
    stride_ = 1;
    return;
  }
  const int stride = ranks_[1] - ranks_[0];
  for (size_t i = 2; i < ranks_.size(); ++i)
    if (ranks_[i] - ranks_[i - 1] != stride) return;
  stride_ = stride;
}

GroupRef GroupTable::make(std::vector<int> world_ranks) {
  const uint64_t hash = hash_of(world_ranks);
  Registry& r = registry_of(hash);
  // Other tables of the same hash. They are dropped after the lock is released, because dropping
  // the last reference calls forget().
  std::vector<GroupRef> others;
  const std::lock_guard lock(r.mutex);
  const auto [first, last] = r.tables.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    GroupRef known = it->second.lock();
    if (!known) continue;
    if (known->ranks_ == world_ranks) return known;
    others.push_back(std::move(known));
  }
  GroupRef made(new GroupTable(PrivateTag{}, std::move(world_ranks)),
                [hash](const GroupTable* table) { forget(table, hash); });
  r.tables.emplace(hash, made);
  return made;
}

GroupRef GroupTable::world(int size) {
  World& w = last_world();
  {
    const std::lock_guard lock(w.mutex);
    if (w.table && w.table->size() == size) return w.table;
  }
  std::vector<int> ranks(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) ranks[static_cast<size_t>(i)] = i;
  GroupRef made = make(std::move(ranks));
  GroupRef old;  // dropped after the lock is released
  const std::lock_guard lock(w.mutex);
  old = std::exchange(w.table, made);
  return made;
}

GroupRef GroupTable::empty() { return make({}); }

int GroupTable::index_of(int world_rank) const noexcept {
  if (ranks_.empty()) return -1;
  if (stride_ != 0) {
    const int distance = world_rank - ranks_[0];
    const int index = distance / stride_;
    return index >= 0 && index < size() && index * stride_ == distance ? index : -1;
  }
  std::call_once(sorting_, [this] {
    sorted_.reserve(ranks_.size());
    for (int i = 0; i < size(); ++i)
      sorted_.emplace_back(ranks_[static_cast<size_t>(i)], i);
    std::sort(sorted_.begin(), sorted_.end());
  });
  const auto it = std::lower_bound(sorted_.begin(), sorted_.end(),
                                   std::pair<int, int>(world_rank, -1));
  return it != sorted_.end() && it->first == world_rank ? it->second : -1;
}

std::span<const int> GroupTable::places() const {
  std::call_once(placing_, [this] {
    const job::Job* job = job::Job::existing();
    if (job == nullptr || (job->size() == 1 && size() == 1)) return;
    // No places: the workers of different jobs are not numbered in common.
    if (has_far_members()) return;
    places_.reserve(ranks_.size());
    for (const int rank : ranks_) places_.push_back(job->tree_place_of(rank));
  });
  return places_;
}

bool GroupTable::has_far_members() const noexcept {
  return job::neighbours::any() && std::ranges::any_of(ranks_, [](int rank) {
           return job::neighbours::slot_of(rank) != 0;
         });
}

uint64_t GroupTable::hash() const {
  if (!has_far_members()) return hash_of(ranks_);
  std::vector<int> names(ranks_);
  for (int& rank : names) rank = job::neighbours::name_of(rank);
  return hash_of(names);
}

const ProcessList& GroupTable::processes(const job::ProcessMap& map) const {
  std::call_once(listing_, [&] {
    processes_ = std::make_unique<ProcessList>(
        map, std::initializer_list<std::span<const int>>{ranks_});
  });
  return *processes_;
}

namespace {

uint64_t identity_of_host(int process) {
  return job::neighbours::is_far_process(process)
             ? job::host_of_neighbour(job::neighbours::index_of_process(process))
             : job::host_map().identity_of(process);
}

// Hosts are counted in the order of the group's members, which is the same in all jobs.
int number_among(uint64_t identity, std::vector<uint64_t>* known) {
  const auto found = std::ranges::find(*known, identity);
  const auto number = static_cast<int>(found - known->begin());
  if (found == known->end()) known->push_back(identity);
  return number;
}

}  // namespace

const nbc::Homes* GroupTable::homes(const job::ProcessMap& map) const {
  std::call_once(housing_, [&] {
    std::vector<int> hosts, numbers;
    std::vector<uint64_t> known_hosts;
    for (const int rank : ranks_) {
      numbers.push_back(map.process_of(rank));
      hosts.push_back(number_among(identity_of_host(numbers.back()), &known_hosts));
    }
    const std::span<const int> known = places();
    const std::vector<int> nowhere(ranks_.size(), 0);
    auto made =
        std::make_shared<nbc::Homes>(hosts, numbers, known.empty() ? nowhere : known);
    if (made->has_groups()) homes_ = std::move(made);
  });
  return homes_.get();
}

const nbc::Homes* GroupTable::workers() const {
  std::call_once(sharing_, [&] {
    const std::span<const int> known = places();
    if (known.empty()) return;
    const std::vector<int> one(ranks_.size(), 0);
    auto made = std::make_shared<nbc::Homes>(one, known, one);
    if (made->has_groups()) workers_ = std::move(made);
  });
  return workers_.get();
}

}  // namespace mpc::mpi

#include "scheduler/stealing.h"

#include <algorithm>

#include "base/counter.h"

namespace mpc::sched {
namespace {

Counter steal_counter{"sched.steals", "Ready ranks taken by an idle worker"};

}  // namespace

void Stealing::build(const topo::Machine* machine) {
  for (const auto& worker : workers_) thefts_.push_back(make_theft(*worker, machine));
}

// The nearest victims first; among equals, the next ones in the order of workers.
std::unique_ptr<Theft> Stealing::make_theft(const Worker& thief,
                                            const topo::Machine* machine) const {
  if (group(thief.index()) != kPatient) return nullptr;
  const auto distance = [&](const Worker* other) {
    return machine == nullptr ? 0 : machine->distance(thief.core(), other->core());
  };
  std::vector<Worker*> others;
  for (size_t i = 1; i < workers_.size(); ++i) {
    Worker& other = after(thief, i);
    if (group(other.index()) == kPatient) others.push_back(&other);
  }
  if (others.empty()) return nullptr;
  std::stable_sort(others.begin(), others.end(), [&](const Worker* a, const Worker* b) {
    return distance(a) < distance(b);
  });
  std::vector<Theft::Neighbour> neighbours;
  for (Worker* other : others)
    neighbours.push_back(
        {other,
         machine != nullptr &&
             machine->shared_level(thief.core(), other->core()) > topo::Level::kNuma});
  return std::make_unique<Theft>(neighbours);
}

Ult* Stealing::take_for(Worker& thief) noexcept {
  if (bindings_.is_wide(thief.index())) return nullptr;
  Ult* ult = nullptr;
  if (Theft* theft = theft_of(thief)) {
    if (theft->is_due()) ult = theft->take();
  } else if (group(thief.index()) == kEager) {
    ult = take_at_once(thief);
  }
  if (ult != nullptr) steal_counter.add();
  return ult;
}

Ult* Stealing::take_at_once(Worker& thief) noexcept {
  for (size_t i = 1; i < workers_.size(); ++i) {
    Worker& victim = after(thief, i);
    if (group(victim.index()) != kEager || bindings_.is_wide(victim.index())) continue;
    if (Ult* ult = thief.steal(victim)) return ult;
  }
  return nullptr;
}

void Stealing::wake_thief(const Worker& victim) noexcept {
  const Group own = group(victim.index());
  if (own == kNobody) return;
  for (const auto& worker : workers_) {
    if (!worker->is_sleeping() || group(worker->index()) != own) continue;
    worker->wake();
    return;
  }
}

}  // namespace mpc::sched

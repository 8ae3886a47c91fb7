#include "scheduler/progress/core_choice.h"

#include "base/settings.h"
#include "scheduler/emulation/emulation.h"

namespace mpc::sched {
namespace {

IntSetting wake_bytes(
    "progress.wake_bytes", 256 << 10, "bytes",
    "Smallest copy or reduction for which a sleeping core with ranks of its "
    "own is woken",
    0);

constexpr int64_t kCopiedPerNs = 16;  // bytes, about: memory of today's servers
constexpr uint64_t kHighestWakeCostNs = 200'000;

}  // namespace

CoreChoice::CoreChoice(const std::vector<std::unique_ptr<Worker>>& workers,
                       const Bindings& bindings, const topo::Machine& machine,
                       const ProgressCores::Config& config)
    : config_(config), cores_(workers.size()) {
  for (const auto& worker : workers)
    core(worker->index())
        .stand_for(*worker, bindings, machine.core(worker->core()).numa,
                   worker->index() >= config.application_workers);
  order_by_distance(machine);
}

void CoreChoice::order_by_distance(const topo::Machine& machine) {
  const int n = core_count();
  for (int home = 0; home < n; ++home) {
    std::vector<int> dedicated, application, local;
    for (int step = 1; step <= n; ++step) {
      const int worker = (home + step) % n;  // ties: the next one, so that homes differ
      (core(worker).is_dedicated() ? dedicated : application).push_back(worker);
    }
    auto nearer = [&](int a, int b) {
      return machine.distance(core(home).core(), core(a).core()) <
             machine.distance(core(home).core(), core(b).core());
    };
    std::stable_sort(dedicated.begin(), dedicated.end(), nearer);
    std::stable_sort(application.begin(), application.end(), nearer);
    for (int worker : dedicated)
      if (core(worker).numa() == core(home).numa()) local.push_back(worker);
    if (local.empty()) local = dedicated.empty() ? application : dedicated;
    near_.push_back(std::move(dedicated));
    near_application_.push_back(std::move(application));
    numa_.push_back(std::move(local));
  }
}

ProgressCore* CoreChoice::choose(int rank, int home, ProgressCore* present,
                                 int64_t bytes) noexcept {
  const auto index = static_cast<size_t>(rank);
  switch (config_.policy) {
    case ProgressPolicy::kOff:
      return nullptr;
    case ProgressPolicy::kTasks:  // any idle core takes it: is there one?
    case ProgressPolicy::kClosest:
      return closest(home, present, bytes);
    case ProgressPolicy::kSame:
      return &core(home);
    case ProgressPolicy::kNext:
      return &core((home + 1) % core_count());
    case ProgressPolicy::kNuma: {
      const auto& local = numa_[static_cast<size_t>(home)];
      return &core(local[index % local.size()]);
    }
    case ProgressPolicy::kList:
      return &core(config_.list[index % config_.list.size()]);
  }
  return nullptr;
}

ProgressCore* CoreChoice::closest(int home, ProgressCore* present,
                                  int64_t bytes) noexcept {
  if (present != nullptr && present->is_dedicated() && present->is_free() &&
      present->numa() == core(home).numa() &&
      (present->is_awake() || is_worth_waking(*present, bytes)))
    return present;
  ProgressCore* fewest = nullptr;
  ProgressCore* idle = nullptr;
  ProgressCore* sleeping = nullptr;
  for (int worker : near_[static_cast<size_t>(home)]) {
    ProgressCore& candidate = core(worker);
    if (candidate.is_taken()) continue;
    if (candidate.is_polling()) return &candidate;
    if (candidate.is_free()) {
      const bool is_good = candidate.is_awake() || is_worth_waking(candidate, bytes);
      if (idle == nullptr && is_good) idle = &candidate;
      if (sleeping == nullptr) sleeping = &candidate;
      continue;
    }
    if (fewest == nullptr || candidate.busy_count() < fewest->busy_count())
      fewest = &candidate;
  }
  if (idle != nullptr) return idle;
  if (bytes >= wake_bytes.get()) {
    for (int worker : near_application_[static_cast<size_t>(home)])
      if (core(worker).is_free()) return &core(worker);
  }
  // The work waits behind others: a reason to wake that core next time.
  if (fewest != nullptr && sleeping != nullptr) sleeping->note_refused(bytes);
  return fewest;
}

// Is it worth the price to wake `core` for so many bytes, which the caller could copy itself? Bytes
// that ranks had to copy themselves lately count, too: a stream of pieces that are too small one by
// one wakes the core in the end.
bool CoreChoice::is_worth_waking(const ProgressCore& core,
                                 int64_t bytes) const noexcept {
  // The host's wake-ups are not those of the emulated machine.
  if (Emulation::is_on()) return true;
  const int64_t price = kCopiedPerNs * static_cast<int64_t>(wake_cost_ns_.get());
  return bytes + core.refused_bytes() >= price;
}

void CoreChoice::note_wake_cost(uint64_t ns) noexcept {
  wake_cost_ns_.note(std::min(ns, kHighestWakeCostNs));
}

}  // namespace mpc::sched

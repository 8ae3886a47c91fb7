#include "scheduler/binding.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
namespace mpc::sched {
namespace {

// Raw system call: libc's functions are replaced for ranks by ours, which mean the rank.
void bind(pid_t thread, const cpu_set_t& set) noexcept {
  if (CPU_COUNT(&set) > 0) syscall(SYS_sched_setaffinity, thread, sizeof set, &set);
}

}  // namespace

cpu_set_t cpus_of(const topo::Machine& machine, const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores)
    for (const int unit : machine.units(core)) CPU_SET(static_cast<size_t>(unit), &set);
  return set;
}

void Bindings::add(const cpu_set_t& start) {
  WorkerCpus& place = places_.emplace_back();
  place.now = place.share = start;
}

void Bindings::share_out(const topo::Machine& machine, const std::vector<int>& cores,
                         const std::vector<std::vector<int>>& shares) {
  for (size_t i = 0; i < shares.size(); ++i) {
    places_[i].share = cpus_of(machine, shares[i]);
    places_[i].share_cores = static_cast<int>(shares[i].size());
  }
  for (size_t lender = shares.size(); lender < cores.size(); ++lender)
    for (size_t i = 0; i < shares.size(); ++i)
      if (std::count(shares[i].begin(), shares[i].end(), cores[lender]) != 0)
        places_[lender].borrower = &places_[i];
}

void Bindings::follow(int worker) noexcept {
  const auto thread = static_cast<pid_t>(syscall(SYS_gettid));
  const Locked lock(lock_);
  const auto known =
      std::find_if(followers_.begin(), followers_.end(),
                   [&](const Follower& one) { return one.thread == thread; });
  if (known != followers_.end())
    known->worker = worker;
  else
    followers_.push_back({thread, worker});
  bind(thread, places_[index(worker)].now);
}

void Bindings::set(int worker, const cpu_set_t& set) noexcept {
  const Locked lock(lock_);
  WorkerCpus& place = places_[index(worker)];
  place.is_wide.store(true, std::memory_order_relaxed);
  if (CPU_EQUAL(&place.now, &set)) return;
  place.now = set;
  for (const Follower& one : followers_)
    if (one.worker == worker) bind(one.thread, set);
}

}  // namespace mpc::sched

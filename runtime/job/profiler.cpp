#include "runtime/job/profiler.h"

#include <time.h>

#include <algorithm>

#include "base/service_thread.h"
#include "base/settings.h"
#include "scheduler/active_wait.h"
#include "scheduler/thread_state.h"

namespace mpc::job {
namespace {

IntSetting period_setting{"job.profile_us",
                          1000,
                          "us",
                          "How often mpcrun --profile looks at the ranks; less often "
                          "where that would take more "
                          "than a hundredth of a core",
                          50,
                          1'000'000};

// The thread sleeps this many times as long as a sample takes.
constexpr uint64_t kSleepPerWork = 100;
// In larger collectives the profiler does not ask which members are late.
constexpr size_t kMostMembers = 1024;
// Up to this many late members share a wait; with more it is attributed to none.
constexpr size_t kMostLate = 16;

uint64_t own_cpu_ns() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(time.tv_nsec);
}

// Like the address of a worker: one rank at a time has it.
const void* thread_key(int thread) noexcept {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(thread));
}

bool is_alive(const Rank& rank) noexcept {
  const int phase = rank.phase.load(std::memory_order_relaxed);
  return phase != kStarting && phase != kEnded;
}

}  // namespace

Result<> Profiler::start() {
  const auto ranks = static_cast<size_t>(job_.local_ranks().size());
  found_.resize(ranks);
  known_.resize(ranks);
  {
    const Locked lock(lock_);
    times_.resize(ranks);
    for (size_t i = 0; i < ranks; ++i)
      times_[i].rank = job_.local_ranks().first + static_cast<int>(i);
  }
  const Result<pthread_t> thread =
      start_service_thread("the profiler", &thread_main, this);
  MPC_TRY(thread);
  thread_ = *thread;
  is_started_ = true;
  return {};
}

void Profiler::stop() noexcept {
  if (!is_started_) return;
  is_started_ = false;
  stop_.store(1, std::memory_order_release);
  futex_wake(stop_);
  pthread_join(thread_, nullptr);
}

void* Profiler::thread_main(void* self) {
  static_cast<Profiler*>(self)->run();
  return nullptr;
}

void Profiler::run() noexcept {
  const auto period_ns = static_cast<uint64_t>(period_setting.get()) * 1000;
  uint64_t last_ns = sched::now_ns(), cost_ns = 0;
  while (stop_.load(std::memory_order_acquire) == 0) {
    const uint64_t pause_ns = std::max(period_ns, kSleepPerWork * cost_ns);
    futex_wait_until(stop_, 0, last_ns + pause_ns);
    const uint64_t before_ns = own_cpu_ns(), now_ns = sched::now_ns();
    look(static_cast<int64_t>(now_ns - last_ns));
    last_ns = now_ns;
    const uint64_t this_ns = own_cpu_ns() - before_ns;
    cost_ns = cost_ns == 0 ? this_ns : (7 * cost_ns + this_ns) / 8;
  }
}

// ---- one sample ------------------------------------------------------------------------------

void Profiler::look(int64_t elapsed_ns) {
  std::fill(found_.begin(), found_.end(), Found{});
  elapsed_ns_ = static_cast<uint64_t>(elapsed_ns);
  job_.scheduler()->for_each_execution(
      [this](const sched::Execution& execution) { look_at(execution); });
  const Locked lock(lock_);
  add_up(elapsed_ns);
}

void Profiler::look_at(const sched::Execution& execution) {
  auto* const rank = static_cast<Rank*>(execution.identity());
  // Relaxed: only compared.
  if (rank == nullptr || !is_alive(*rank) ||
      std::atomic_ref(rank->execution).load(std::memory_order_relaxed) != &execution)
    return;
  const size_t index = index_of(rank->world_rank);
  Found& found = found_[index];
  found.is_there = true;
  found.call = execution.call();
  const bool is_in_call = found.call != nullptr;
  if (const sched::WaitReason* reason = execution.wait_reason()) {
    found.state = is_in_call ? profile::kWaiting : profile::kBlocked;
    if (is_in_call) ask_partner(execution, *reason, index);
    return;
  }
  found.turn = execution.worker();
  if (is_in_call) {
    found.state =
        sched::spins_on_its_worker(execution) ? profile::kWaiting : profile::kMoving;
    return;
  }
  // A rank that is ready has no thread; the one that it had may be a spare, which sleeps in the runtime.
  const int thread = execution.kernel_thread();
  const bool sleeps =
      execution.is_in_own_code() && sleeps_in_kernel(known_[index], thread);
  found.state = sleeps ? profile::kBlocked : profile::kComputing;
  // Others that last ran on this thread do not sleep there, but are ready.
  if (sleeps) found.turn = thread_key(thread);
}

// The thread that runs a rank sleeps in a system call: sleep(), poll(), read() of a pipe. Its state, a look at a file,
// is asked for only if it may have changed: not if it has run nearly all the time, or not at all since it slept.
bool Profiler::sleeps_in_kernel(Known& known, int thread) noexcept {
  const uint64_t cpu_ns = sched::thread_cpu_ns(thread);
  const bool is_same = thread == known.thread;
  const uint64_t ran_ns = is_same ? cpu_ns - known.cpu_ns : 0;
  const bool still_sleeps = is_same && known.sleeps && ran_ns == 0;
  known.thread = thread;
  known.cpu_ns = cpu_ns;
  known.sleeps = still_sleeps ||
                 (ran_ns < elapsed_ns_ / 10 * 9 && sched::thread_state(thread) != 'R');
  return known.sleeps;
}

void Profiler::ask_partner(const sched::Execution& execution,
                           const sched::WaitReason& reason, size_t index) {
  Known& known = known_[index];
  if (known.park_count != execution.park_count()) {
    known.park_count = execution.park_count();
    const WaitPartner partner = partner_of(reason);
    known.partner = partner.rank;
    known.members.clear();
    if (partner.members.size() <= kMostMembers)
      known.members.assign(partner.members.begin(), partner.members.end());
  }
  found_[index].partner = known.partner;
  found_[index].waits_for_members = !known.members.empty();
}

// Of several ranks that could run on one worker, or sleep on one thread, only one does. Which one is not known, so
// each of them gets its share of the time.
void Profiler::add_up(int64_t elapsed_ns) {
  turns_.clear();
  for (const Found& found : found_)
    if (found.turn != nullptr) turns_.emplace_back(found.turn, 1);
  std::sort(turns_.begin(), turns_.end());
  const auto sharing = [&](const void* turn) -> int64_t {
    const auto [first, last] =
        std::equal_range(turns_.begin(), turns_.end(), std::pair(turn, 1));
    return std::max<int64_t>(last - first, 1);
  };
  for (size_t i = 0; i < found_.size(); ++i) {
    const Found& found = found_[i];
    if (!found.is_there) continue;
    const int64_t ns =
        found.turn != nullptr ? elapsed_ns / sharing(found.turn) : elapsed_ns;
    times_[i].ns[found.state] += ns;
    times_[i].ns[profile::kReady] += elapsed_ns - ns;
    if (found.waits_for_members)
      add_members_wait(i, ns);
    else if (found.call != nullptr)
      add_call(i, ns);
  }
  ++samples_;
  all_ns_ += elapsed_ns;
}

void Profiler::add_call(size_t index, int64_t ns) {
  const Found& found = found_[index];
  Sum& sum = calls_[{static_cast<int>(index), found.partner, found.call}];
  (found.state == profile::kWaiting ? sum.waiting_ns : sum.moving_ns) += ns;
}

// Members that are not in the same call are late.
void Profiler::add_members_wait(size_t index, int64_t ns) {
  const char* const call = found_[index].call;
  const RankRange ranks = job_.local_ranks();
  std::array<int, kMostLate> late;
  size_t count = 0;
  for (const int member : known_[index].members) {
    if (ranks.contains(member) && found_[index_of(member)].call == call) continue;
    if (count < kMostLate) late[count] = member;
    ++count;
  }
  if (count == 0 || count > kMostLate) return add_call(index, ns);
  for (size_t i = 0; i < count; ++i)
    calls_[{static_cast<int>(index), late[i], call}].waiting_ns +=
        ns / static_cast<int64_t>(count);
}

profile::Profile Profiler::take() {
  const Locked lock(lock_);
  profile::Profile out;
  out.ranks = job_.size();
  out.seconds = static_cast<double>(all_ns_) * 1e-9;
  out.samples = samples_;
  out.times = times_;
  const int first = job_.local_ranks().first;
  for (const auto& [key, sum] : calls_) {
    const auto& [index, partner, call] = key;
    out.calls.push_back({first + index, partner, call, sum.waiting_ns, sum.moving_ns});
  }
  return out;
}

}  // namespace mpc::job

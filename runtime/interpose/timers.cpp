// timer_create() with SIGEV_THREAD: the thread in which libc calls the function belongs to the
// rank that created the timer, and a rank that waits for the function's effect is not deadlocked.
// The signals of alarm() and setitimer() are for the rank that called last.

#include <sys/time.h>

#include <csignal>
#include <ctime>

#include <atomic>
#include <list>
#include <mutex>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/interpose/rank_clock.h"
#include "runtime/interpose/rank_locale.h"
#include "runtime/interpose/signals.h"
#include "runtime/job/crash.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace mpc::interpose {
namespace {

// Not freed: libc may be about to call the function when the timer is deleted.
struct RankTimer {
  job::Rank* rank;
  void (*function)(sigval);
  sigval value;
  timer_t id = nullptr;
  bool is_deleted = true;  // or not created yet; guarded by g_mutex
};
std::mutex g_mutex;
std::list<RankTimer>& timers() {
  static auto* const list = new std::list<RankTimer>;
  return *list;
}

void call_as_rank(sigval argument) {
  const auto& timer = *static_cast<const RankTimer*>(argument.sival_ptr);
  {
    const std::lock_guard lock(g_mutex);
    if (timer.is_deleted) return;
  }
  sched::Execution::self().set_identity(timer.rank);
  const ThreadClock clock(*timer.rank);
  if (timer.rank->instance != nullptr) timer.rank->instance->enter_thread();
  use_rank_locale_here(*timer.rank);
  timer.function(timer.value);
}

int create(job::Rank& rank, clockid_t clock, const sigevent& wanted, timer_t* out) {
  RankTimer* timer = nullptr;
  {
    const std::lock_guard lock(g_mutex);
    timer = &timers().emplace_back(
        RankTimer{&rank, wanted.sigev_notify_function, wanted.sigev_value});
  }
  sigevent event = wanted;
  event.sigev_notify_function = &call_as_rank;
  event.sigev_value.sival_ptr = timer;
  const int result = NEXT(timer_create)(clock, &event, out);
  const std::lock_guard lock(g_mutex);
  timer->is_deleted = result != 0;
  if (result != 0) return result;
  timer->id = *out;
  sched::expect_kernel_thread();  // as long as the timer exists
  return 0;
}

// Caller holds g_mutex.
void forget(RankTimer& timer) {
  timer.is_deleted = true;
  sched::expected_kernel_thread_is_here();
}

// Timers that send a signal, by the kernel's number, which is that of the siginfo_t. Two with the same place in the table:
// the second one counts.
struct SignalTimer {
  std::atomic<const job::Rank*> rank{nullptr};
  std::atomic<int> number{0};
};
constexpr size_t kSignalTimers = 4096;
constinit SignalTimer g_signal_timers[kSignalTimers];

int number_of(timer_t id) noexcept {  // Source: glibc 2.36, timer_to_kernel_timerid()
  return static_cast<int>(reinterpret_cast<intptr_t>(id));
}
SignalTimer& place_of(int number) noexcept {
  return g_signal_timers[static_cast<unsigned>(number) % kSignalTimers];
}

void note_signal_timer(const job::Rank* rank, timer_t id) noexcept {
  SignalTimer& place = place_of(number_of(id));
  place.number.store(number_of(id), std::memory_order_relaxed);
  place.rank.store(rank, std::memory_order_release);
}
void forget_signal_timer(timer_t id) noexcept {
  SignalTimer& place = place_of(number_of(id));
  if (place.number.load(std::memory_order_relaxed) == number_of(id))
    place.rank.store(nullptr, std::memory_order_relaxed);
}

// Their signals would be for nobody.
void delete_signal_timers_of(const job::Rank& rank) noexcept {
  for (SignalTimer& place : g_signal_timers) {
    const job::Rank* owner = &rank;
    if (!place.rank.compare_exchange_strong(owner, nullptr, std::memory_order_acquire))
      continue;
    const intptr_t number = place.number.load(std::memory_order_relaxed);
    NEXT(timer_delete)(reinterpret_cast<timer_t>(number));
  }
}

void delete_timers_of(job::Rank& rank) {
  delete_signal_timers_of(rank);
  const std::lock_guard lock(g_mutex);
  for (RankTimer& timer : timers()) {
    if (timer.rank != &rank || timer.is_deleted) continue;
    NEXT(timer_delete)(timer.id);
    forget(timer);
  }
}

__attribute__((constructor)) void register_hooks() {
  job::Job::at_rank_end(job::HookOrder::kTimers, &delete_timers_of);
}

}  // namespace
}  // namespace mpc::interpose

MPC_EXPORT int timer_create(clockid_t clock, sigevent* event, timer_t* out) noexcept {
  using namespace mpc::interpose;
  mpc::job::Rank* rank = is_forked_child() ? nullptr : own_rank();
  if (rank != nullptr && event != nullptr && event->sigev_notify == SIGEV_THREAD)
    return create(*rank, clock, *event, out);
  const int result = NEXT(timer_create)(clock, event, out);
  const bool sends = event == nullptr || event->sigev_notify == SIGEV_SIGNAL;
  if (result == 0 && rank != nullptr && sends) note_signal_timer(rank, *out);
  return result;
}
MPC_EXPORT int timer_delete(timer_t id) noexcept {
  {
    const std::lock_guard lock(mpc::interpose::g_mutex);
    for (auto& timer : mpc::interpose::timers())
      if (timer.id == id && !timer.is_deleted) mpc::interpose::forget(timer);
  }
  mpc::interpose::forget_signal_timer(id);
  return NEXT(timer_delete)(id);
}

// --- alarm(), setitimer(): the process has one timer of each kind ----------------------------------

namespace mpc::interpose {
namespace {

// The ranks that have called alarm() or setitimer(): ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF.
constinit std::atomic<const job::Rank*> g_timer_owners[3] = {};

__attribute__((constructor)) void register_timer_owner() {
  job::crash::set_timer_owner(&timer_owner);
}

void owns_timer(int which) {
  if (which >= 0 && which < 3 && !is_forked_child())
    g_timer_owners[which].store(own_rank(), std::memory_order_relaxed);
}

}  // namespace

const job::Rank* timer_maker(const siginfo_t& info) noexcept {
  if (info.si_code != SI_TIMER) return nullptr;
  const SignalTimer& place = place_of(info.si_timerid);
  // Acquire pairs with note_signal_timer().
  const job::Rank* const rank = place.rank.load(std::memory_order_acquire);
  return place.number.load(std::memory_order_relaxed) == info.si_timerid ? rank
                                                                         : nullptr;
}

const job::Rank* timer_owner(int signal) noexcept {
  const int which = signal == SIGALRM     ? ITIMER_REAL
                    : signal == SIGVTALRM ? ITIMER_VIRTUAL
                    : signal == SIGPROF   ? ITIMER_PROF
                                          : -1;
  return which < 0 ? nullptr : g_timer_owners[which].load(std::memory_order_relaxed);
}

}  // namespace mpc::interpose

MPC_EXPORT unsigned alarm(unsigned seconds) noexcept {
  mpc::interpose::owns_timer(ITIMER_REAL);
  return NEXT(alarm)(seconds);
}
MPC_EXPORT int setitimer(__itimer_which_t which, const itimerval* wanted,
                         itimerval* before) noexcept {
  mpc::interpose::owns_timer(static_cast<int>(which));
  return NEXT(setitimer)(which, wanted, before);
}

#include "scheduler/poll/poller.h"

#include <sched.h>
#include <x86intrin.h>

#include <algorithm>

#include "base/counter.h"
#include "base/settings.h"
#include "scheduler/as_nobody.h"

namespace mpc::sched {
namespace {

const char* const kInterrupts[] = {"auto", "always", "never"};
EnumSetting interrupts_setting{
    "net.interrupts", 0, kInterrupts, 3,
    "When what comes from other processes interrupts ranks that compute, if no core is "
    "idle: auto (while something of theirs waits for it), always, or never (they find "
    "it when they wait or test, or within 10 ms)"};

IntSetting idle_spin_us{
    "net.spin_us",
    50,
    "us",
    "With several processes: how long a core without work polls the network before it "
    "sleeps; to be woken takes longer than a message",
    0,
    1'000'000};

Counter poll_counter{"net.polls", "Times that somebody looked for what has come"};
Counter useful_counter{"net.useful_polls", "Those of them that found something"};
Counter interrupt_counter{"net.interrupts",
                          "Wake-ups by the network of the thread that polls while all "
                          "cores compute"};
Counter futile_counter{"net.futile_interrupts", "Those of them that found nothing"};
Counter wake_counter{"net.wake_ups", "Sleeping cores woken by the network"};
Counter futile_wake_counter{"net.futile_wake_ups", "Those of them that found nothing"};
Counter arm_counter{"net.arms", "Times that the network was told to wake somebody"};
Counter late_counter{"net.late_finds",
                     "What has come and was found by the monitor's tick only"};

// Polls that have found something, and are not in the counters yet: the next poll that finds nothing has time
// for them. One of two threads that count at the same time may be overlooked.
struct Uncounted {
  std::atomic<uint64_t> polls{0}, useful{0};
  void add(uint64_t n) noexcept {
    polls.store(polls.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    useful.store(useful.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void count() noexcept {
    if (useful.load(std::memory_order_relaxed) == 0) return;
    poll_counter.add(polls.exchange(0, std::memory_order_relaxed));
    useful_counter.add(useful.exchange(0, std::memory_order_relaxed));
  }
};
constinit Uncounted g_uncounted;

// A poll of a network over sockets is a system call, 0.3 to 1 us. A rank that waits for a message
// of the same process has gone on before its first turn: SpinBudget::look_outside(). A rank that
// waits for one of another process does not wait for this period: turn_eagerly().
constexpr uint64_t kPeriodNs = 1'000;
constexpr uint64_t kPeriodWithoutDemandNs = 8'000;
// After this many polls in a row the waiting rank checks its
// own ring, which takes about as long as three.
constexpr int kEagerPolls = 8;
// For callers that come by, and arm again afterwards: some microseconds. The second one: which do nothing else.
constexpr uint64_t kVisitNs = 20'000, kVisitAgainNs = 400;
// At most a tick of the monitor, see Monitor::tick(); the
// second value where a descriptor is trusted.
constexpr uint64_t kLateNs = 9'000'000, kLateIfCoveredNs = 150'000'000;

// poll() and arm() must not come here again from within a poll().
thread_local constinit bool t_visits __attribute__((tls_model("initial-exec"))) = false;

class Visit {
 public:
  explicit Visit(std::atomic<int>& visitors) noexcept : visitors_(visitors) {
    t_visits = true;
    // seq_cst: either remove() sees us, or we see that the source was removed.
    visitors_.fetch_add(1, std::memory_order_seq_cst);
  }
  ~Visit() {
    visitors_.fetch_sub(1, std::memory_order_release);  // pairs with remove()
    t_visits = false;
  }
  Visit(const Visit&) = delete;

 private:
  const AsNobody as_nobody_;
  std::atomic<int>& visitors_;
};

}  // namespace

Poller::Poller(std::function<void()> begin_use, void (*on_kernel_thread)())
    : begin_use_(std::move(begin_use)),
      on_kernel_thread_(on_kernel_thread),
      watch_(outside_, static_cast<Interrupts>(interrupts_setting.get())) {}

Poller::~Poller() { listener_.stop(); }

PollCounts Poller::counts() noexcept {
  g_uncounted.count();
  return {poll_counter.get(),   useful_counter.get(), interrupt_counter.get(),
          futile_counter.get(), wake_counter.get(),   futile_wake_counter.get(),
          arm_counter.get(),    late_counter.get()};
}

uint64_t Poller::idle_spin_ns() const noexcept {
  return static_cast<uint64_t>(idle_spin_us.get()) * 1000 * processes_per_core();
}

// ---- sources -------------------------------------------------------------------------------

Result<> Poller::add(EventSource& source, EventReach reach) {
  {
    const Locked lock(lock_);
    if (!sleepers_.is_open()) MPC_TRY(sleepers_.open());
    if (!listener_.is_started()) MPC_TRY(grace_.open());
    MPC_TRY(listener_.start(&answer, {grace_.descriptor(), &end_grace}, this,
                            on_kernel_thread_));
    auto* const slot =
        std::find_if(std::begin(sources_), std::end(sources_), [](const Source& s) {
          return s.source.load(std::memory_order_relaxed) == nullptr;
        });
    if (slot == std::end(sources_))
      return {Errc::kSystem, "too many sources of events"};
    const int descriptor = source.descriptor();
    MPC_TRY(sleepers_.add(descriptor));
    if (Result<> added = listener_.set().add(descriptor); !added) {
      sleepers_.remove(descriptor);
      return added;
    }
    slot->reach = reach;
    slot->source.store(&source, std::memory_order_seq_cst);
    if (reach == EventReach::kOtherProcesses)
      outer_sources_.fetch_add(1, std::memory_order_relaxed);
    sources_in_use_.fetch_add(1, std::memory_order_relaxed);
  }
  begin_use_();
  // What was armed before did not include the new source.
  begin_look();
  end_look();
  return {};
}

void Poller::remove(EventSource& source) noexcept {
  const Locked lock(lock_);
  for (Source& slot : sources_) {
    if (slot.source.load(std::memory_order_relaxed) != &source) continue;
    slot.source.store(nullptr, std::memory_order_seq_cst);  // partner: Visit
    if (slot.reach == EventReach::kOtherProcesses)
      outer_sources_.fetch_sub(1, std::memory_order_relaxed);
    sources_in_use_.fetch_sub(1, std::memory_order_relaxed);
  }
  while (visitors_.load(std::memory_order_seq_cst) != 0) sched_yield();
  sleepers_.remove(source.descriptor());
  listener_.set().remove(source.descriptor());
}

void Poller::remove_all(EventReach reach) noexcept {
  for (Source& slot : sources_) {
    EventSource* source = nullptr;
    {
      const Locked lock(lock_);
      if (slot.reach == reach) source = slot.source.load(std::memory_order_relaxed);
    }
    if (source != nullptr) remove(*source);
  }
}

// ---- looking -------------------------------------------------------------------------------

bool Poller::poll_all(int most_polls) noexcept {
  if (t_visits) return false;
  bool found = false;
  int polls = 0;
  {
    const Visit visit(visitors_);
    for (; polls < most_polls && !found; ++polls)
      for (const Source& slot : sources_)
        if (EventSource* source = slot.source.load(std::memory_order_seq_cst))
          found = source->poll() || found;
  }
  count_polls(polls, found);
  return found;
}

void Poller::count_polls(int polls, bool found) noexcept {
  if (!found) {
    g_uncounted.count();
    return poll_counter.add(static_cast<uint64_t>(polls));
  }
  g_uncounted.add(static_cast<uint64_t>(polls));
  finds_.fetch_add(1, std::memory_order_relaxed);  // before the caller's end_look()
}

bool Poller::arm_all() noexcept {
  if (t_visits) return false;
  arm_counter.add();
  bool is_armed = true;
  const Visit visit(visitors_);
  for (const Source& slot : sources_)
    if (EventSource* source = slot.source.load(std::memory_order_seq_cst))
      is_armed = is_armed && source->arm();
  return is_armed;
}

// Relaxed, here and below: a hint. Two threads may poll at once; the source accepts one of them.
bool Poller::poll_at(uint64_t now_ns) noexcept {
  last_poll_ns_.store(now_ns, std::memory_order_relaxed);
  return poll_all();
}

bool Poller::is_due(uint64_t now_ns, Looker who) const noexcept {
  const bool is_frequent = who == Looker::kIdle || watch_.may_have_demand();
  return now_ns >= last_poll_ns_.load(std::memory_order_relaxed) +
                       (is_frequent ? kPeriodNs : kPeriodWithoutDemandNs);
}

bool Poller::turn_eagerly(uint64_t now_ns, const void* looker) noexcept {
  const void* eager = eager_.load(std::memory_order_relaxed);
  if (eager == nullptr) eager_.store(eager = looker, std::memory_order_relaxed);
  if (eager != looker) {
    return turn(now_ns, Looker::kWaits);
  }
  last_poll_ns_.store(now_ns, std::memory_order_relaxed);
  // What has not come by now is another process's to send, which may wait for this core.
  if (processes_per_core() > 1) {
    const bool found = poll_all();
    if (!found) give_way();
    return found;
  }
  return poll_all(kEagerPolls);
}

bool Poller::begin_close_look(const void* looker) noexcept {
  const void* nobody = nullptr;
  if (t_visits ||
      !eager_.compare_exchange_strong(nobody, looker, std::memory_order_relaxed))
    return false;
  begin_look();
  last_poll_ns_.store(now_ns(), std::memory_order_relaxed);
  t_visits = true;
  visitors_.fetch_add(1, std::memory_order_seq_cst);  // as Visit
  return true;
}

void Poller::end_close_look(const void* looker, int polls, bool has_found) noexcept {
  visitors_.fetch_sub(1, std::memory_order_release);
  t_visits = false;
  count_polls(polls, has_found);
  give_up_eagerness(looker);
  end_look(true);
}

uint64_t Poller::ticks() noexcept { return __rdtsc(); }

bool Poller::give_way() noexcept {
  if (processes_per_core() < 2) return false;
  const uint64_t before = ticks();
  sched_yield();
  turns_.note_yield(before, ticks());
  return true;
}

// The first call arms again afterwards what it has disarmed, which takes microseconds; who asks again at once
// leaves that as it is.
bool Poller::come_by(uint64_t now_ns, bool is_again) noexcept {
  const uint64_t last_ns = last_poll_ns_.load(std::memory_order_relaxed);
  if (now_ns < last_ns + (is_again ? kVisitAgainNs : kVisitNs)) return false;
  if (!is_again) begin_look();
  const bool found = poll_at(now_ns);
  if (!is_again) {
    look_away(true);
    end_look(true);
  }
  // The other process may need this core to send what is asked for.
  if (!found) give_way();
  return true;
}

// ---- demand --------------------------------------------------------------------------------

void Poller::keep_account(DemandAccount& account) noexcept {
  account_.store(&account, std::memory_order_release);  // pairs with the loads below
  raise(0, Urgency::kNow);
}

bool Poller::may_help_caller() const noexcept {
  DemandAccount* const account = account_.load(std::memory_order_acquire);
  return account != nullptr && account->may_help_caller();
}

void Poller::look_away(bool is_over) noexcept {
  if (DemandAccount* const account = account_.load(std::memory_order_acquire))
    account->look_away(is_over);
}

void Poller::tick(uint64_t now_ns) noexcept {
  if (sources_in_use_.load(std::memory_order_relaxed) == 0) return;
  if (now_ns < last_poll_ns_.load(std::memory_order_relaxed) +
                   (watch_.is_covered() ? kLateIfCoveredNs : kLateNs))
    return;
  begin_look();
  if (poll_at(now_ns)) late_counter.add();
  end_look();
}

// ---- sleeping ------------------------------------------------------------------------------

Poller::Bed Poller::go_to_sleep() noexcept {
  return {watch_.go_to_sleep() ? &sleepers_ : nullptr};
}

void Poller::wake_up(Bed bed, bool is_called) noexcept {
  watch_.wake_up(bed.descriptors != nullptr);
  if (!is_called) return;
  wake_counter.add();
  if (!poll_at(now_ns())) futile_wake_counter.add();
}

// ---- the listener --------------------------------------------------------------------------

bool Poller::answer(void* poller, bool by_descriptor) noexcept {
  return static_cast<Poller*>(poller)->answer_call(by_descriptor);
}

void Poller::end_grace(void* poller) noexcept {
  auto& self = *static_cast<Poller*>(poller);
  self.grace_.silence();
  if (self.grace_.is_over(self.watch_.is_deferred())) self.watch_.cover_deferred();
}

bool Poller::answer_call(bool by_descriptor) noexcept {
  const bool is_alone = watch_.begin_look();
  const bool found = is_alone && poll_at(now_ns());
  end_look();
  if (by_descriptor) interrupt_counter.add();
  if (by_descriptor && !found) futile_counter.add();
  return found || !is_alone;
}

}  // namespace mpc::sched

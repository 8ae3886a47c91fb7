#pragma once
// Watch: which threads poll the sources of events, which sleep until called, which are interrupted.
//
// Role:      the state behind Poller, in one word, and its moves.
// Users:     scheduler/poll/poller; the model test runs it with another Outside and another Word.
// Threads:   any.
// See also:  docs/design/0020-polling.md, tests/unit/scheduler/watch_model_test.cpp.
//
//   lookers   threads that will poll again by themselves: waiting ranks, workers without work
//   sleepers  workers that sleep
//   demand    what an arrival could advance; whether anybody counts it
//   seat      a worker sleeps on the descriptors; there is one such seat
//   covered   some thread has undertaken to arm the sources since the last looker left
//   deferred  ... which is not done at once: an alarm will ask for cover_deferred()
//   urgent    how much of the demand may not wait for the alarm; a word of its own
//
// The rule: no looker, and a call is wanted  =>  covered, or the next step of some thread sets it.
// A call is wanted where a core is idle anyway (sleepers), or else where there is demand, as
// Interrupts says.
//
// No event is lost.
//  1. `covered` is set only in a state without lookers, by the one thread whose step it is; and
//     cleared only by a thread that has become a looker. So while it is set, or has been set and
//     cleared by a thread that has not left since, the thread that set it has yet to arm, or has
//     armed, or has become a looker itself.
//  2. That thread arms the sources and then listens to their descriptors. If arm() says that there
//     is news, it polls, as a looker, and when it leaves the rule is checked again.
//  3. Only lookers poll, and polling ends an arming; so an arming holds while `covered` is set. An
//     arrival makes a descriptor readable, and it is listened to: the sleeper in the seat or the
//     listener wakes up and becomes a looker.
//  4. A looker that has cleared `covered` stops the listening before it leaves. So it cannot
//     disturb a later arming, which requires that it has left. A thread that is late may arm and
//     listen when that is not wanted any more: this causes a call that finds nothing.
//  5. `seat` is taken by a looker, and given back by one. So a thread that finds it taken in a
//     state without lookers knows that its holder sleeps, or is about to, or is about to become a
//     looker; in each case the holder hears the descriptors, or polls.
//  6. Who sets `deferred` sets the alarm afterwards, and what the alarm calls becomes the thread of (1), by
//     the step that clears it. A thread that raises urgent demand counts it first and then changes the
//     word: it finds `deferred` set, or the other thread finds its count after setting it.
// All steps are read-modify-writes of one word: they have a single order, and acq_rel makes
// what was done before one step (2, 4) happen before what is done after a later one.

#include <atomic>
#include <cstdint>

namespace mpc::sched {

// When ranks that compute are interrupted although no core is idle.
enum class Interrupts : uint8_t {
  kAuto,  // while there is demand; as kAlways until demand is raised for the first time
  kAlways,  // whenever something arrives
  kNone     // never: they find an arrival when they wait, test, or at a tick
};

// Who listens to the descriptors.
enum class Ear : uint8_t { kSleeper, kListener };

// Outside: poll(), arm() of all sources; listen(Ear), ignore() of the descriptors; call_listener():
// the listener then becomes a looker; set_alarm(): after a while the listener calls cover_deferred().
template <class Outside, class Word = std::atomic<uint64_t>>
class Watch {
 public:
  Watch(Outside& outside, Interrupts interrupts) noexcept
      : outside_(outside), word_(bits_of(interrupts)) {}
  Watch(const Watch&) = delete;

  // True: there was no other looker.
  bool begin_look() noexcept { return begin(kLooker); }
  // may_defer: the caller has work of its own; if no demand is urgent the sources are not armed yet.
  void end_look(bool may_defer = false) noexcept { end(kLooker, may_defer); }

  // A looker becomes a sleeper. True: it sleeps on the descriptors; otherwise it need not, because
  // another thread listens. It may have polled: if there is work now it does not sleep.
  bool go_to_sleep() noexcept {
    const bool has_seat = (word_.fetch_or(kSeat, kOrder) & kSeat) == 0;
    end(kLooker - kSleeper, false);
    return has_seat;
  }
  // The sleeper becomes a looker.
  void wake_up(bool has_seat) noexcept {
    begin(kLooker - kSleeper);
    if (has_seat) word_.fetch_and(~kSeat, kOrder);
  }

  // Raises the demand, of which `urgent` things are urgent from now on: of these or of earlier ones.
  // may_defer: as in end_look(), if nothing is urgent.
  void raise(uint32_t things, uint32_t urgent, bool may_defer = true) noexcept {
    if (urgent != 0) urgent_.fetch_add(urgent, kOrder);
    const uint64_t more = things * kDemand;
    const uint64_t before = word_.fetch_add(more, kOrder);
    if ((before & kKept) == 0) [[unlikely]]
      word_.fetch_or(kKept, kOrder);
    fulfil(take_over(before + more, may_defer && urgent == 0));
    if (urgent != 0 && (before & kDeferred) != 0) cover_deferred();
  }
  void lower(uint32_t things, uint32_t urgent) noexcept {
    if (urgent != 0) urgent_.fetch_sub(urgent, kOrder);
    word_.fetch_sub(things * kDemand, kOrder);
  }

  // Covers, if that was deferred, and nobody has become a looker since. Caller: any.
  void cover_deferred() noexcept {
    uint64_t word = load();
    while ((word & kDeferred) != 0)
      if (word_.compare_exchange_weak(word, word & ~kDeferred, kOrder)) return cover();
  }

  void set_interrupts(Interrupts interrupts) noexcept {
    begin_look();  // what was armed under the old rule is void
    word_.fetch_and(~kMode, kOrder);
    word_.fetch_or(bits_of(interrupts), kOrder);
    end_look();
  }

  // Hints, unless no thread changes the state.
  Interrupts interrupts() const noexcept {
    return static_cast<Interrupts>((load() & kMode) / kFirstMode);
  }
  uint32_t lookers() const noexcept { return field(kLooker, load()); }
  uint32_t sleepers() const noexcept { return field(kSleeper, load()); }
  uint32_t demand() const noexcept { return static_cast<uint32_t>(load() / kDemand); }
  bool is_covered() const noexcept { return (load() & kCovered) != 0; }
  bool is_deferred() const noexcept { return (load() & kDeferred) != 0; }
  // An execution may wait for an arrival: there is demand, or nobody counts it.
  bool may_have_demand() const noexcept {
    const uint64_t word = load();
    return (word & kKept) == 0 || word / kDemand != 0;
  }

 private:
  static constexpr std::memory_order kOrder = std::memory_order_acq_rel;
  static constexpr uint64_t kLooker = 1, kSleeper = 1 << 16;
  static constexpr uint64_t kFieldBits = 0xffff;
  static constexpr uint64_t kSeat = uint64_t{1} << 32, kCovered = uint64_t{1} << 33;
  static constexpr uint64_t kFirstMode = uint64_t{1} << 34, kMode = 3 * kFirstMode;
  static constexpr uint64_t kKept = uint64_t{1} << 36;  // demand has been raised once
  static constexpr uint64_t kDeferred = uint64_t{1} << 37;  // only while kCovered
  static constexpr uint64_t kDemand = uint64_t{1} << 38;    // 26 bits
  static constexpr int kMostTurns = 8;

  static constexpr uint64_t bits_of(Interrupts interrupts) noexcept {
    return static_cast<uint64_t>(interrupts) * kFirstMode;
  }
  static constexpr uint32_t field(uint64_t unit, uint64_t word) noexcept {
    return static_cast<uint32_t>(word / unit & kFieldBits);
  }
  // Acquire pairs with the moves: for a caller that asks whether everything is at rest.
  uint64_t load() const noexcept { return word_.load(std::memory_order_acquire); }

  static bool wants_call(uint64_t word) noexcept {
    if (field(kSleeper, word) != 0) return true;
    const auto interrupts = static_cast<Interrupts>((word & kMode) / kFirstMode);
    return interrupts == Interrupts::kAlways ||
           (interrupts == Interrupts::kAuto &&
            (word >= kDemand || (word & kKept) == 0));
  }
  static bool is_uncovered(uint64_t word) noexcept {
    return field(kLooker, word) == 0 && (word & kCovered) == 0 && wants_call(word);
  }

  // Adds `step`: the caller becomes a looker. True: it is the first one.
  bool begin(uint64_t step) noexcept {
    const uint64_t before = word_.fetch_add(step, kOrder);
    // No thread sets it while there are lookers, so it cannot be set again in between.
    if ((before & kCovered) != 0 &&
        (word_.fetch_and(~(kCovered | kDeferred), kOrder) & kCovered) != 0)
      outside_.ignore();
    return field(kLooker, before) == 0;
  }
  // What a thread has undertaken, by setting `covered`.
  enum class Duty : uint8_t { kNone, kCover, kDefer };

  // Subtracts `step`.
  void end(uint64_t step, bool may_defer) noexcept {
    fulfil(take_over(word_.fetch_sub(step, kOrder) - step, may_defer));
  }
  // Sets `covered` where the rule asks for it. kNone: the caller has not.
  Duty take_over(uint64_t word, bool may_defer) noexcept {
    while (is_uncovered(word)) {
      const bool defers = may_defer && can_wait(word);
      const uint64_t covered = word | kCovered | (defers ? kDeferred : 0);
      if (word_.compare_exchange_weak(word, covered, kOrder))
        return defers ? Duty::kDefer : Duty::kCover;
    }
    return Duty::kNone;
  }
  void fulfil(Duty duty) noexcept {
    if (duty == Duty::kNone) return;
    if (duty == Duty::kCover) return cover();
    if (has_urgent()) return cover_deferred();  // it came too late for our step: see 6
    outside_.set_alarm();
  }
  // No demand is urgent, and somebody would have said so if it were.
  bool can_wait(uint64_t word) const noexcept {
    return (word & kMode) == bits_of(Interrupts::kAuto) && (word & kKept) != 0 &&
           !has_urgent();
  }
  bool has_urgent() const noexcept {
    return urgent_.load(std::memory_order_acquire) != 0;
  }

  void cover() noexcept {
    for (int turn = 0; turn < kMostTurns; ++turn) {
      if (outside_.arm()) {
        outside_.listen((load() & kSeat) != 0 ? Ear::kSleeper : Ear::kListener);
        return;
      }
      begin(kLooker);
      outside_.poll();
      if (take_over(word_.fetch_sub(kLooker, kOrder) - kLooker, false) == Duty::kNone)
        return;
    }
    // News keeps coming, or the thread that polls it has no core: this is no work for a thread that
    // wanted to leave.
    outside_.call_listener();
  }

  Outside& outside_;
  Word word_;
  Word urgent_{0};
};

}  // namespace mpc::sched

#pragma once
// A model of the threads around a Watch: ranks, a network, the listener and its alarm.
//
// Role:      its threads are fibers of one kernel thread; each step of the watch's word, and each call of
//            the world outside, is a point at which another one may go on.
// Users:     watch_model_test.cpp.
// Threads:   one.
// See also:  scheduler/poll/watch.h, choices.h.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/context/fiber.h"
#include "scheduler/poll/watch.h"
#include "tests/unit/scheduler/choices.h"

namespace mpc::sched::watch_model {

class Model;
inline Model* g_model = nullptr;
inline void step();

// A word whose operations are steps.
struct SteppedWord {
  uint64_t value;
  explicit SteppedWord(uint64_t v) : value(v) {}
  uint64_t load(std::memory_order) const {
    step();
    return value;
  }
  uint64_t fetch_add(uint64_t by, std::memory_order) {
    step();
    value += by;
    return value - by;
  }
  uint64_t fetch_sub(uint64_t by, std::memory_order) {
    step();
    value -= by;
    return value + by;
  }
  uint64_t fetch_or(uint64_t bits, std::memory_order) {
    step();
    const uint64_t before = value;
    value |= bits;
    return before;
  }
  uint64_t fetch_and(uint64_t bits, std::memory_order) {
    step();
    const uint64_t before = value;
    value &= bits;
    return before;
  }
  bool compare_exchange_weak(uint64_t& expected, uint64_t wanted, std::memory_order) {
    step();
    if (value != expected) {
      expected = value;
      return false;
    }
    value = wanted;
    return true;
  }
};

struct Plan {
  int waiters =
      0;  // ranks that wait for each of their messages, on a worker of their own
  int computers =
      0;  // ranks that compute until an interrupt has brought them each of theirs
  int both = 0;               // ranks that ask, compute for a while, and wait then
  int messages = 1;           // for each rank
  bool keeps_account = true;  // of demand, from the start
  int refusals = 0;           // so many times arm() says that there is news
  // Ranks that ask, and leave, may defer the arming: the demand of the first so many is not urgent,
  // or becomes so later.
  int patient = 0;
  bool hastens = false;
  Interrupts interrupts = Interrupts::kAuto;
};

class Model {
 public:
  Model(const Plan& plan, Choices& choices, int most_preemptions)
      : plan_(plan),
        choices_(choices),
        preemptions_left_(most_preemptions),
        watch_(outside_, plan.interrupts) {}

  // Empty: every rank got its messages.
  std::string play() {
    g_model = this;
    main_.fs = context::current_fs();
    const int ranks = plan_.waiters + plan_.computers + plan_.both;
    ranks_.resize(static_cast<size_t>(ranks));
    for (int r = 0; r < ranks; ++r) add("rank", [this, r] { play_rank(r); });
    add("net", [this] { play_net(); });
    add("listener", [this] { play_listener(); });
    if (plan_.patient != 0) add("alarm", [this] { play_alarm(); });
    if (plan_.keeps_account) {
      watch_.raise(1, 1);
      watch_.lower(1, 1);
    }
    constexpr int kMostSteps = 20'000;
    for (int steps = 0; steps < kMostSteps; ++steps) {
      if (are_ranks_done()) return "";
      std::vector<Thread*> ready;
      for (auto& thread : threads_)
        if (!thread->is_done && (!thread->waits_for || thread->waits_for()))
          ready.push_back(thread.get());
      if (ready.empty()) return "nobody goes on: " + describe();
      resume(pick(ready));
    }
    return "it does not end: " + describe();
  }

  void step() {
    if (running_ != nullptr) suspend(nullptr);
  }

 private:
  struct Thread {
    const char* name;
    std::function<void()> body;
    std::function<bool()> waits_for;
    bool is_done = false;
    context::Fiber fiber;
    std::unique_ptr<char[]> stack{new char[kStackBytes]};
  };
  struct Rank {
    bool is_sleeping = false, is_woken = false;
    int delivered = 0, taken = 0;
    bool has_demand = false, is_patient = false;
  };
  // The world outside of the watch: one source with a descriptor, listened to by two ears.
  struct Outside {
    Model& model;
    bool poll() { return model.poll(); }
    bool arm() { return model.arm(); }
    void listen(Ear ear) {
      model.step();
      model.listens_[static_cast<int>(ear)] = true;
    }
    void ignore() {
      for (bool& listens : model.listens_) {
        model.step();
        listens = false;
      }
    }
    void call_listener() {
      model.step();
      model.is_called_ = true;
    }
    void set_alarm() {
      model.step();
      model.is_alarm_set_ = true;
    }
  };
  static constexpr size_t kStackBytes = 32 << 10;

  // ---- threads ----
  void add(const char* name, std::function<void()> body) {
    threads_.push_back(std::make_unique<Thread>());
    Thread& thread = *threads_.back();
    thread.name = name;
    thread.body = std::move(body);
    context::prepare(thread.fiber, thread.stack.get() + kStackBytes, kStackBytes,
                     context::current_fs(), &fiber_main);
  }
  static void fiber_main(void* argument) {
    Thread& thread = *static_cast<Thread*>(argument);
    thread.body();
    thread.is_done = true;
    g_model->suspend(nullptr);
  }
  void resume(Thread& thread) {
    running_ = &thread;
    context::switch_to(main_, thread.fiber, &thread);
  }
  void suspend(std::function<bool()> until) {
    running_->waits_for = std::move(until);
    context::switch_to(running_->fiber, main_, nullptr);
  }
  void wait_until(std::function<bool()> condition) { suspend(std::move(condition)); }
  // The one that has run goes on unless it is interrupted, which costs a preemption.
  Thread& pick(const std::vector<Thread*>& ready) {
    for (size_t i = 0; i < ready.size(); ++i) {
      if (ready[i] != running_) continue;
      if (preemptions_left_ == 0) return *running_;
      const size_t choice = choices_.choose(ready.size());
      if (choice == 0) return *running_;
      --preemptions_left_;
      return *ready[choice <= i ? choice - 1 : choice];
    }
    return *ready[choices_.choose(ready.size())];
  }

  // ---- the source ----
  bool poll() {
    step();
    if (is_polling_) return false;
    is_polling_ = true;
    step();
    const std::vector<int> news = std::move(news_);
    news_.clear();
    is_armed_ = false;
    for (const int r : news) {
      step();
      deliver(ranks_[static_cast<size_t>(r)]);
    }
    is_polling_ = false;
    return !news.empty();
  }
  void deliver(Rank& rank) {
    ++rank.delivered;
    if (rank.has_demand) watch_.lower(1, rank.is_patient ? 0 : 1);
    rank.has_demand = false;
    if (!rank.is_sleeping) return;
    rank.is_sleeping = false;
    rank.is_woken = true;
  }
  bool arm() {
    step();
    if (is_polling_ || !news_.empty() || refused_++ < plan_.refusals) return false;
    is_armed_ = true;
    return true;
  }
  bool has_call(Ear ear) const {
    return listens_[static_cast<int>(ear)] && is_armed_ && !news_.empty();
  }

  // ---- what the threads do ----
  void play_net() {
    for (int m = 0; m < plan_.messages; ++m)
      for (size_t r = 0; r < ranks_.size(); ++r) {
        step();
        news_.push_back(static_cast<int>(r));
      }
  }
  void play_rank(int number) {
    Rank& rank = ranks_[static_cast<size_t>(number)];
    const bool waits = number < plan_.waiters;
    const bool computes =
        number >= plan_.waiters && number < plan_.waiters + plan_.computers;
    for (int m = 0; m < plan_.messages; ++m) {
      if (!waits) ask(rank, number < plan_.patient);
      if (computes) {
        wait_until([&rank] { return rank.delivered > rank.taken; });
      } else {
        step();
        wait(rank);
      }
      ++rank.taken;
    }
  }
  void ask(Rank& rank, bool is_patient) {
    step();
    if (rank.delivered > rank.taken) return;
    rank.has_demand = true;
    rank.is_patient = is_patient;
    watch_.raise(1, is_patient ? 0 : 1);
    if (!is_patient || !plan_.hastens) return;
    step();
    if (!rank.has_demand) return;
    rank.is_patient = false;
    watch_.raise(0, 1);
  }
  // As WorkerLoop and Worker::sleep() do it.
  void wait(Rank& rank) {
    watch_.begin_look();
    while (rank.delivered == rank.taken) {
      poll();
      if (rank.delivered > rank.taken) break;
      const bool has_seat = watch_.go_to_sleep();
      step();
      rank.is_sleeping = true;
      rank.is_woken = false;
      step();
      bool is_called = false;
      if (rank.delivered == rank.taken) {
        wait_until([this, &rank, has_seat] {
          return rank.is_woken || (has_seat && has_call(Ear::kSleeper));
        });
        is_called = has_seat && has_call(Ear::kSleeper);
        if (is_called) listens_[static_cast<int>(Ear::kSleeper)] = false;
      }
      rank.is_sleeping = false;
      watch_.wake_up(has_seat);
      if (is_called) poll();
    }
    watch_.end_look(plan_.patient != 0);
  }
  void play_alarm() {
    for (;;) {
      wait_until([this] { return is_alarm_set_; });
      is_alarm_set_ = false;
      watch_.cover_deferred();
    }
  }
  void play_listener() {
    for (;;) {
      wait_until([this] { return is_called_ || has_call(Ear::kListener); });
      if (!is_called_) listens_[static_cast<int>(Ear::kListener)] = false;
      is_called_ = false;
      const bool is_alone = watch_.begin_look();
      const bool found = is_alone && poll();
      watch_.end_look();
      // It naps: somebody else has the core.
      if (!found) wait_until([this] { return !is_polling_; });
    }
  }

  bool are_ranks_done() const {
    for (size_t r = 0; r < ranks_.size(); ++r)
      if (!threads_[r]->is_done) return false;
    return true;
  }
  std::string describe() const {
    std::string text = is_armed_ ? "armed" : "not armed";
    if (listens_[static_cast<int>(Ear::kSleeper)]) text += ", a sleeper listens";
    if (listens_[static_cast<int>(Ear::kListener)]) text += ", the listener listens";
    return text + ", news: " + std::to_string(news_.size());
  }

  const Plan plan_;
  Choices& choices_;
  int preemptions_left_;
  Outside outside_{*this};
  Watch<Outside, SteppedWord> watch_;
  context::Fiber main_;
  Thread* running_ = nullptr;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Rank> ranks_;
  std::vector<int> news_;
  bool is_polling_ = false, is_armed_ = false, is_called_ = false,
       is_alarm_set_ = false;
  bool listens_[2] = {false, false};
  int refused_ = 0;
};

inline void step() { g_model->step(); }

}  // namespace mpc::sched::watch_model

#pragma once
// Networks of the tests of polling, and what ranks wait for there.
//
// Role:      fixture.
// Users:     tests/unit/scheduler.
// Threads:   send() any; the rest as EventSource says.
// See also:  scheduler/poll/poller.h.

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <mutex>
#include <vector>

#include "scheduler/poll/poller.h"
#include "tests/unit/scheduler/support.h"

namespace mpc::sched {

inline constexpr uint64_t kMs = 1'000'000;

// What a rank of a test waits for.
class Inbox {
 public:
  ~Inbox() { leave(); }
  // From within poll().
  void deliver() noexcept {
    delivering_.fetch_add(1, std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_seq_cst);
    // seq_cst: it sees the waiter, or the waiter sees the count.
    if (Execution* waiter = waiter_.load(std::memory_order_seq_cst)) waiter->unpark();
    delivering_.fetch_sub(1, std::memory_order_release);  // pairs with leave()
  }
  int count() const noexcept { return count_.load(std::memory_order_seq_cst); }
  // As waits of the message layer do it.
  void wait_for(int wanted) noexcept {
    SpinBudget spin;
    while (count() < wanted && spin.once()) {
    }
    const Waiting why("a message", false);
    waiter_.store(&Execution::self(), std::memory_order_seq_cst);
    while (count() < wanted) Execution::self().park(why);
    waiter_.store(nullptr, std::memory_order_seq_cst);
    leave();
  }
  // Without any call.
  void compute_until(int wanted, uint64_t end_ns = ~uint64_t{0}) const noexcept {
    while (count() < wanted && now_ns() < end_ns) __builtin_ia32_pause();
    leave();
  }

 private:
  // Who has brought a message may still look for the waiter.
  void leave() const noexcept {
    while (delivering_.load(std::memory_order_acquire) != 0) __builtin_ia32_pause();
  }

  std::atomic<int> count_{0}, delivering_{0};
  std::atomic<Execution*> waiter_{nullptr};
};

// A network in memory, with a descriptor that is written only if it is armed.
class FakeNet final : public EventSource {
 public:
  FakeNet() : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~FakeNet() override { close(event_); }
  void send(Inbox& to) {
    const std::lock_guard lock(lock_);
    queue_.push_back(&to);
    if (!is_armed_) return;
    const uint64_t one = 1;
    EXPECT_EQ(write(event_, &one, sizeof one), ssize_t{sizeof one});
  }
  bool poll() noexcept override {
    const std::unique_lock polling(polling_, std::try_to_lock);
    if (!polling) return false;
    EXPECT_FALSE(is_removed_);
    EXPECT_EQ(Execution::self().identity(), nullptr);
    std::vector<Inbox*> news;
    {
      const std::lock_guard lock(lock_);
      news.swap(queue_);
      is_armed_ = false;
      uint64_t count;
      while (read(event_, &count, sizeof count) > 0) {
      }
    }
    for (Inbox* inbox : news) inbox->deliver();
    polls_.fetch_add(1);
    return !news.empty();
  }
  int descriptor() const noexcept override { return event_; }
  bool arm() noexcept override {
    EXPECT_FALSE(is_removed_);
    const std::lock_guard lock(lock_);
    if (!queue_.empty() || (refusals_ != 0 && arms_++ % refusals_ != 0)) return false;
    return is_armed_ = true;
  }
  // Of so many tries to arm it, only one works.
  void refuse(int tries) {
    const std::lock_guard lock(lock_);
    refusals_ = tries;
  }
  void note_removed() { is_removed_ = true; }
  int polls() const { return polls_.load(); }

 private:
  const int event_;
  std::mutex lock_, polling_;
  std::vector<Inbox*> queue_;
  bool is_armed_ = false;
  int refusals_ = 0, arms_ = 0;
  std::atomic<int> polls_{0};
  std::atomic<bool> is_removed_{false};
};

// A pipe, as a connection is: readable as long as something is in it, armed or not.
class PipeNet final : public EventSource {
 public:
  explicit PipeNet(std::vector<Inbox>& inboxes) : inboxes_(inboxes) {
    EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0);
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~PipeNet() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  void send(size_t to) {
    const char number = static_cast<char>(to);
    EXPECT_EQ(write(ends_[1], &number, 1), 1);
  }
  bool poll() noexcept override {
    char numbers[64];
    const ssize_t count = read(ends_[0], numbers, sizeof numbers);
    for (ssize_t i = 0; i < count; ++i)
      inboxes_[static_cast<size_t>(numbers[i])].deliver();
    return count > 0;
  }
  int descriptor() const noexcept override { return ends_[0]; }
  bool arm() noexcept override { return true; }

 private:
  std::vector<Inbox>& inboxes_;
  int ends_[2];
};

class Polling : public Fixture {
 protected:
  void start_with_net(int workers, EventReach reach = EventReach::kOtherProcesses) {
    start(workers);
    add(net_, reach);
    before_ = Poller::counts();
  }
  void add(EventSource& source, EventReach reach = EventReach::kOtherProcesses) {
    const Result<> added = scheduler_->poller().add(source, reach);
    ASSERT_TRUE(added.ok()) << added.error().message;
  }
  void TearDown() override {
    if (scheduler_) {
      scheduler_->wait_all();
      scheduler_->poller().remove(net_);
      net_.note_removed();
    }
    Fixture::TearDown();
  }
  // All workers compute until they get a message.
  void interrupt_all(uint64_t patience_ns) {
    std::vector<Inbox> inboxes(static_cast<size_t>(scheduler_->worker_count()));
    std::atomic<int> begun{0};
    for (size_t i = 0; i < inboxes.size(); ++i)
      spawn(static_cast<int>(i), [&, i] {
        begun.fetch_add(1);
        inboxes[i].compute_until(1, now_ns() + patience_ns);
      });
    while (begun.load() != scheduler_->worker_count()) usleep(100);
    usleep(1000);
    for (Inbox& inbox : inboxes) net_.send(inbox);
    scheduler_->wait_all();
  }
  // A thread that looks may lose its core to one that computes: then a tick is first.
  bool are_interrupted() {
    constexpr int kTries = 20;
    for (int i = 0; i < kTries; ++i) {
      before_ = Poller::counts();
      interrupt_all(5000 * kMs);
      if (since().interrupts != 0) return true;
    }
    return false;
  }
  // A thread that was about to arm for a sleeper may lose its core until the worker computes: watch.h, 4.
  bool are_left_alone() {
    constexpr int kTries = 10, kMostInterrupted = 2;
    int interrupted = 0;
    for (int i = 0; i < kTries; ++i) {
      before_ = Poller::counts();
      interrupt_all(5000 * kMs);
      if (since().interrupts != 0)
        ++interrupted;
      else if (since().late_finds == 0)
        return false;
    }
    return interrupted <= kMostInterrupted;
  }
  PollCounts since() const {
    const PollCounts now = Poller::counts();
    return {now.polls - before_.polls,
            now.useful_polls - before_.useful_polls,
            now.interrupts - before_.interrupts,
            now.futile_interrupts - before_.futile_interrupts,
            now.wake_ups - before_.wake_ups,
            now.futile_wake_ups - before_.futile_wake_ups,
            now.arms - before_.arms,
            now.late_finds - before_.late_finds};
  }

  FakeNet net_;
  PollCounts before_{};
};

}  // namespace mpc::sched

// The deadlock detection: sees each one, and nothing else.
#include <dlfcn.h>
#include <pthread.h>

#include <thread>

#include "scheduler/as_nobody.h"
#include "scheduler/rest.h"
#include "tests/unit/scheduler/support.h"

namespace {
std::atomic<useconds_t> delay_of_threads_us{0};
}

// Found before the one of libc: a loaded machine takes long to make a thread.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) noexcept {
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (const useconds_t delay_us = delay_of_threads_us.load()) usleep(delay_us);
  return real(thread, attributes, start, argument);
}

namespace mpc::sched {
namespace {

class Quiescence : public Fixture {
 protected:
  void watch() {
    scheduler_->set_quiescence_handler([this] {
      calls_.fetch_add(1);
      if (on_call_) on_call_();
    });
  }
  // The handler's effect: lets everybody go.
  std::function<void()> on_call_;
  std::atomic<int> calls_{0};
  std::atomic<bool> go_{false};
  int identity_ = 0;
};

TEST_F(Quiescence, SeesThatAllUltsWaitForEachOther) {
  start(2);
  std::vector<Execution*> ults(3);
  on_call_ = [&] {
    int parked = 0;
    scheduler_->for_each_execution([&](const Execution& execution) {
      if (execution.wait_reason() != nullptr) ++parked;
    });
    EXPECT_EQ(parked, 3);
    go_ = true;
    for (Execution* ult : ults) ult->unpark();
  };
  watch();
  scheduler_->hold();
  for (size_t i = 0; i < ults.size(); ++i)
    ults[i] = spawn(static_cast<int>(i), [&] {
      while (!go_) Execution::self().park(Waiting{});
    });
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_EQ(calls_.load(), 1);
}

TEST_F(Quiescence, ATimedOrExternalWaitIsNoDeadlock) {
  start(2);
  watch();
  Execution* ult = spawn(0, [&] {
    while (!go_) Execution::self().park(Waiting{});
  });
  spawn(1, [&] {
    sleep_until(now_ns() + 300'000'000);
    go_ = true;
    ult->unpark();
  });
  scheduler_->wait_all();
  EXPECT_EQ(calls_.load(), 0);
  go_ = false;
  ult = spawn(0, [&] {
    while (!go_) Execution::self().park(Waiting("a file", true));
  });
  usleep(300'000);
  go_ = true;
  ult->unpark();
  scheduler_->wait_all();
  EXPECT_EQ(calls_.load(), 0);
}

TEST_F(Quiescence, AThreadInUserCodeOrInABlockingCallIsNoDeadlock) {
  start(2);
  watch();
  Execution* ult = spawn(0, [&] {
    while (!go_) Execution::self().park(Waiting{});
  });
  spawn(0, [&] {
    {
      BlockingRegion region;
      usleep(200'000);
    }
    usleep(200'000);
    go_ = true;
    ult->unpark();
  });
  scheduler_->wait_all();
  EXPECT_EQ(calls_.load(), 0);
}

TEST_F(Quiescence, AJobThatStartsSlowlyIsNoDeadlock) {
  start(2);
  watch();
  scheduler_->hold();
  delay_of_threads_us = 500'000;
  spawn(0, [] {});
  delay_of_threads_us = 0;
  scheduler_->release();
  scheduler_->wait_all();
  EXPECT_EQ(calls_.load(), 0);
  // The same when another one waits for the new one.
  Execution* ult = spawn(0, [&] {
    while (!go_) Execution::self().park(Waiting{});
  });
  delay_of_threads_us = 500'000;
  spawn(1, [&] {
    go_ = true;
    ult->unpark();
  });
  delay_of_threads_us = 0;
  scheduler_->wait_all();
  EXPECT_EQ(calls_.load(), 0);
}

TEST_F(Quiescence, AKernelThreadOfARankCountsAsRunningUntilItParks) {
  start(1);
  Execution* ult = nullptr;
  std::atomic<Execution*> kernel_thread{nullptr};
  std::atomic<int> calls_while_running{0};
  on_call_ = [&] {
    go_ = true;
    ult->unpark();
    kernel_thread.load()->unpark();
  };
  watch();
  ult = spawn(0, [&] {
    while (!go_) Execution::self().park(Waiting{});
  });
  std::thread helper([&] {
    Execution::self().set_identity(&identity_);
    kernel_thread = &Execution::self();
    usleep(300'000);
    calls_while_running = calls_.load();
    while (!go_) Execution::self().park(Waiting{});
  });
  helper.join();
  scheduler_->wait_all();
  EXPECT_EQ(calls_while_running.load(), 0);
  EXPECT_EQ(calls_.load(), 1);
}

TEST_F(Quiescence, AKernelThreadThatStartsSlowlyIsNoDeadlock) {
  start(1);
  watch();
  Execution* ult = spawn(0, [&] {
    while (!go_) Execution::self().park(Waiting{});
  });
  expect_kernel_thread();
  std::thread helper([&] {
    usleep(300'000);  // before anybody knows whose it is
    Execution::self().set_identity(&identity_);
    expected_kernel_thread_is_here();
    go_ = true;
    ult->unpark();
  });
  helper.join();
  scheduler_->wait_all();
  EXPECT_EQ(calls_.load(), 0);
}

// As one process of several: told of each rest, of that after what has come, and again if asked.
TEST_F(Quiescence, ARestOfOneProcessIsToldOfOnceUnlessItIsAskedFor) {
  start(2);
  std::atomic<uint64_t> traffic{0};
  const auto wait_for_call = [&](int count) {
    for (int i = 0; i < 5000 && calls_.load() < count; ++i) usleep(1000);
    usleep(250'000);
    EXPECT_EQ(calls_.load(), count);
  };
  watch_rest(
      *scheduler_, [this] { calls_.fetch_add(1); }, [&] { return traffic.load(); });
  wait_for_call(1);  // there are no Ults
  EXPECT_EQ(rest_of(*scheduler_).kind, Rest::kEmpty);
  Execution* ult = spawn(0, [&] {
    while (!go_) Execution::self().park(Waiting{});
  });
  wait_for_call(2);
  const Rest rest = rest_of(*scheduler_);
  EXPECT_EQ(rest.kind, Rest::kOfAll);
  EXPECT_EQ(rest_of(*scheduler_).epoch, rest.epoch);
  traffic = 1;
  wait_for_call(3);
  EXPECT_NE(rest_of(*scheduler_).epoch, rest.epoch);
  ask_rest(*scheduler_);
  wait_for_call(4);
  watch_rest(*scheduler_, nullptr, nullptr);
  go_ = true;
  ult->unpark();
  scheduler_->wait_all();
}

// Its identity is hidden while it is in a network: nobody is to take it for none.
TEST_F(Quiescence, AKernelThreadOfARankThatActsForNobodyCountsAsRunning) {
  start(1);
  watch();
  Execution* ult = spawn(0, [&] {
    while (!go_) Execution::self().park(Waiting{});
  });
  std::thread helper([&] {
    Execution::self().set_identity(&identity_);
    {
      const AsNobody as_nobody;
      EXPECT_EQ(Execution::self().identity(), nullptr);
      usleep(300'000);
    }
    EXPECT_EQ(Execution::self().identity(), &identity_);
    go_ = true;
    ult->unpark();
  });
  helper.join();
  scheduler_->wait_all();
  EXPECT_EQ(calls_.load(), 0);
}

TEST_F(Quiescence, AWaitingJobUsesNoCpu) {
  start(2);
  for (int i = 0; i < 100; ++i)
    spawn(i, [&] {
      while (!go_) Execution::self().park(Waiting("an event", true));
    });
  usleep(100'000);
  timespec before, after;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  usleep(500'000);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double used = static_cast<double>(after.tv_sec - before.tv_sec) +
                      1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
  go_ = true;
  scheduler_->for_each_execution([](const Execution& execution) {
    if (execution.is_ult()) const_cast<Execution&>(execution).unpark();
  });
  scheduler_->wait_all();
#ifdef __SANITIZE_THREAD__
  constexpr double kMost =
      0.1;  // the monitor's few looks take longer; the sanitizer's thread
#else
  constexpr double kMost = 0.02;
#endif
  EXPECT_LT(used, kMost * 0.5);
}

}  // namespace
}  // namespace mpc::sched

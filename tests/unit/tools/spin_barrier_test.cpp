// Threads that meet without falling asleep.
#include "tools/mpcinfo/spin_barrier.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>
#include <vector>

namespace mpc::tools {
namespace {

TEST(SpinBarrier, LetsNobodyGoBeforeAllHaveCome) {
  constexpr int kThreads = 3, kRounds = 300;
  SpinBarrier barrier(kThreads);
  // Plain: the barrier orders them, or ThreadSanitizer says so.
  int came[kThreads] = {};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int me = 0; me < kThreads; ++me)
    threads.emplace_back([&, me] {
      for (int round = 1; round <= kRounds; ++round) {
        came[me] = round;
        barrier.arrive_and_wait();
        for (int count : came)
          if (count != round)
            wrong.fetch_add(1, std::memory_order_relaxed);  // join orders
        barrier.arrive_and_wait();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(std::memory_order_relaxed), 0);
}

TEST(SpinBarrier, OfOneDoesNotWait) {
  SpinBarrier barrier(1);
  for (int round = 0; round < 3; ++round) barrier.arrive_and_wait();
}

// A core whose thread sleeps halts, and its cache answers slowly: calibrations were wrong by that.
TEST(SpinBarrier, KeepsThoseThatWaitAwake) {
  SpinBarrier barrier(2);
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    barrier.arrive_and_wait();
  });
  const auto sleeps = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;  // voluntary: not preempted, and not a yield
  };
  const long before = sleeps();
  barrier.arrive_and_wait();
  EXPECT_EQ(sleeps(), before);
  late.join();
}

}  // namespace
}  // namespace mpc::tools

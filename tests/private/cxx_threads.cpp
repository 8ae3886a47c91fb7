// C++20's threads in ranks: joining, stop tokens, thread_local destructors, once per rank, waits.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <vector>

#include "host_api.h"

namespace {

std::atomic<int> ended{0};
struct CountsEnd {
  ~CountsEnd() { ended.fetch_add(1); }
};
thread_local CountsEnd counts_end;
std::once_flag once;
std::atomic<int> times{0};

void check_jthreads() {
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([](std::stop_token stop) {
        static_cast<void>(&counts_end);
        std::call_once(once, [] { ++times; });
        while (!stop.stop_requested()) std::this_thread::yield();
      });
  }
  CHECK_THAT(ended == 3);  // the destructors have run when the thread is joined
  CHECK_THAT(times == 1);  // in each rank
}

void check_waits() {
  std::mutex mutex;
  std::condition_variable one;
  std::condition_variable_any any;
  for (int round = 0; round < 20; ++round) {
    bool is_done = false;
    std::jthread thread([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      const std::lock_guard lock(mutex);
      is_done = true;
      round % 2 ? one.notify_one() : any.notify_all();
    });
    std::unique_lock lock(mutex);
    if (round % 2)
      one.wait(lock, [&] { return is_done; });
    else
      CHECK_THAT(any.wait_for(lock, std::chrono::seconds(50), [&] { return is_done; }));
  }
  std::unique_lock lock(mutex);
  CHECK_THAT(one.wait_for(lock, std::chrono::milliseconds(2), [] { return false; }) ==
             false);
}

void check_others() {
  CHECK_THAT(std::async(std::launch::async, [] { return test_rank(); }).get() ==
             test_rank());
  std::counting_semaphore<> tokens(0);
  std::latch latch(1);
  std::jthread thread([&] {
    for (int i = 0; i < 10; ++i) tokens.release();
    latch.count_down();
  });
  for (int i = 0; i < 10; ++i) tokens.acquire();
  latch.wait();
}

}  // namespace

int main() {
  check_jthreads();
  check_waits();
  check_others();
  CHECK_THAT(std::thread::hardware_concurrency() >= 1);
  return check_failures;
}

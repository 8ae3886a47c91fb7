// The lock of a file: who may be in together.

#include <atomic>
#include <thread>
#include <vector>

#include "tests/unit/io/fixture.h"

namespace mpc::io {
namespace {

TEST(FileLock, LetsNobodyInBesideAWriter) {
  FileLock lock;
  int shared_value = 0;  // plain: the lock has to order it
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const bool is_shared = (t + i) % 3 != 0;
        const FileLocked here(&lock, is_shared);
        const int others = inside.fetch_add(1);
        if (!is_shared) {
          EXPECT_EQ(others, 0);
          ++shared_value;
        }
        inside.fetch_sub(1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(shared_value, 0);
}

TEST(FileLock, IsNotKeptForEverByWhoTakesItAgainAndAgain) {
  FileLock lock;
  std::atomic<bool> had_it{false}, has_begun{false};
  lock.lock(false);
  std::thread other([&] {
    has_begun = true;
    const FileLocked here(&lock, false);
    had_it = true;
  });
  while (!has_begun) std::this_thread::yield();
  while (!had_it) {
    lock.unlock();
    lock.lock(false);
  }
  lock.unlock();
  other.join();
}

TEST(FileLock, IsTheSameForTheSameFileOnly) {
  const auto a = FileLock::of(0, 1, 2), same = FileLock::of(0, 1, 2);
  EXPECT_EQ(a, same);
  EXPECT_NE(a, FileLock::of(0, 1, 3));
  EXPECT_NE(a, FileLock::of(1, 1, 2));
}

}  // namespace
}  // namespace mpc::io

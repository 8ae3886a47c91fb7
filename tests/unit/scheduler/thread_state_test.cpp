// What a kernel thread would do to a rank is right after each switch and move: errno,
// thread_local, C++ exceptions, pthread_self, mutex ownership.
#include <errno.h>
#include <pthread.h>

#include <cstring>
#include <stdexcept>

#include "tests/unit/scheduler/support.h"

namespace mpc::sched {
namespace {

thread_local int plain = 5;
thread_local std::string text = "abc";
std::atomic<int> destroyed{0};
struct Counted {
  int id = -1;
  ~Counted() { destroyed.fetch_add(1); }
};
thread_local Counted counted;

void check_mutexes() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutex_t checking, recursive;
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&checking, &attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attributes);
  Execution& self = Execution::self();
  ASSERT_EQ(pthread_mutex_lock(&checking), 0);
  ASSERT_EQ(pthread_mutex_lock(&recursive), 0);
  self.yield();
  EXPECT_EQ(pthread_mutex_lock(&checking), EDEADLK);
  EXPECT_EQ(pthread_mutex_lock(&recursive), 0);
  self.yield();
  EXPECT_EQ(pthread_mutex_unlock(&recursive), 0);
  EXPECT_EQ(pthread_mutex_unlock(&recursive), 0);
  EXPECT_EQ(pthread_mutex_unlock(&checking), 0);
}

void check_exceptions(int id) {
  Execution& self = Execution::self();
  try {
    throw std::runtime_error(std::to_string(id));
  } catch (std::exception& outer) {
    self.yield();
    EXPECT_EQ(outer.what(), std::to_string(id));
    try {
      self.yield();
      throw id;
    } catch (int inner) {
      self.yield();
      EXPECT_EQ(inner, id);
      EXPECT_EQ(std::uncaught_exceptions(), 0);
    }
    try {
      self.yield();
      throw;
    } catch (std::exception& again) {
      self.yield();
      EXPECT_EQ(&again, &outer);
    }
  }
}

void body(int id, pthread_key_t key) {
  Execution& self = Execution::self();
  const pthread_t me = pthread_self();
  int* const errno_address = &errno;
  EXPECT_EQ(plain, 5);
  EXPECT_EQ(text, "abc");
  plain = id;
  text = "ult" + std::to_string(id);
  counted.id = id;
  pthread_setspecific(key, &self);
  for (int round = 0; round < 20; ++round) {
    errno = 1000 + id;
    self.yield();
    EXPECT_EQ(errno, 1000 + id);
    EXPECT_EQ(errno_address, &errno);
    EXPECT_EQ(plain, id);
    EXPECT_EQ(text, "ult" + std::to_string(id));
    EXPECT_EQ(counted.id, id);
    EXPECT_TRUE(pthread_equal(pthread_self(), me));
    EXPECT_EQ(pthread_getspecific(key), &self);
    EXPECT_EQ(&Execution::self(), &self);
    check_mutexes();
    check_exceptions(id);
    std::vector<std::string> strings;
    for (size_t k = 0; k < 8; ++k) {
      strings.emplace_back(24 + k * 40, static_cast<char>('a' + id % 26));
      self.yield();
    }
    for (const auto& string : strings) EXPECT_EQ(string[5], 'a' + id % 26);
  }
}

class ThreadState : public SchedulerTest {};

TEST_P(ThreadState, BelongsToTheUlt) {
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key, nullptr), 0);
  destroyed = 0;
  constexpr int kUlts = 40;
  for (int i = 0; i < kUlts; ++i) spawn(i, [=] { body(i, key); });
  scheduler_->wait_all();
  EXPECT_EQ(destroyed.load(), kUlts);  // thread_local destructors have run
  pthread_key_delete(key);
}

INSTANTIATE_TEST_SUITE_P(Workers, ThreadState, testing::Values(1, 2, 4));

}  // namespace
}  // namespace mpc::sched

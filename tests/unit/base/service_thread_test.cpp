// The runtime's own threads leave the process's signals to others (base/service_thread.h).
#include "base/service_thread.h"

#include <gtest/gtest.h>

namespace mpc {
namespace {

bool is_blocked(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

void* note_mask(void* seen) {
  *static_cast<bool*>(seen) = is_blocked(SIGTERM) && is_blocked(SIGUSR1);
  return nullptr;
}

TEST(ServiceThread, TakesNoSignals) {
  bool seen = false;
  const Result<pthread_t> thread = start_service_thread("this test", &note_mask, &seen);
  ASSERT_TRUE(thread) << thread.error().message;
  pthread_join(*thread, nullptr);
  EXPECT_TRUE(seen);
  EXPECT_FALSE(is_blocked(SIGTERM));
}

TEST(ServiceThread, WithoutSignalsIsInheritedAndGivesBackWhatWas) {
  ASSERT_FALSE(is_blocked(SIGTERM));
  bool seen = false;
  {
    const WithoutSignals during;
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, &note_mask, &seen), 0);
    pthread_join(thread, nullptr);
  }
  EXPECT_TRUE(seen);
  EXPECT_FALSE(is_blocked(SIGTERM));
}

}  // namespace
}  // namespace mpc

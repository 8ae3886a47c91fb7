#pragma once
// NoMoreFiles: as long as it lives this process can open no file.
//
// Role:      shows what listeners do without descriptors.
// Users:     tests/unit.
// Threads:   one at a time; the limit is the process's.
// See also:  base/acceptor.h, getrlimit(2).

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/acceptor.h"
#include "base/clock.h"

namespace mpc::test {

class NoMoreFiles {
 public:
  NoMoreFiles() {
    // UBSan needs a descriptor where it sees a type for the first time: the warning has been said once.
    Acceptor("nobody").accept(-1);
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);  // the lowest number
    ::close(free);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(free);
    ::setrlimit(RLIMIT_NOFILE, &none);
    EXPECT_LT(::open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
  }
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreFiles(const NoMoreFiles&) = delete;

 private:
  rlimit before_{};
};

// The CPU time that this process takes while the calling thread sleeps for a second, in ms. A thread
// of it that never rests takes 1000, if the machine does nothing else.
inline uint64_t cpu_ms_of_a_second() {
  const auto cpu_ns = [] {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<uint64_t>(used.tv_sec) * 1000 * kMs +
           static_cast<uint64_t>(used.tv_nsec);
  };
  const uint64_t before = cpu_ns();
  ::usleep(1'000'000);
  return (cpu_ns() - before) / kMs;
}
constexpr uint64_t kRestingMs = 200;

}  // namespace mpc::test

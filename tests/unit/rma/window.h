#pragma once
// Window: a share and an access for each rank of a World, for tests of runtime/rma.
//
// Role:      what mpi makes of a window, without handles.
// Users:     tests/unit/rma.
// Threads:   each rank uses its own access.
// See also:  tests/unit/message/world.h.

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "runtime/rma/access.h"
#include "tests/unit/message/world.h"

namespace mpc::rma::test {

using msg::test::Why;
using msg::test::World;

inline const Why kWhy{"a window"};

// `bytes` of memory for each rank; one byte is a displacement.
struct Window {
  Window(World& world, size_t bytes, bool may_share = false)
      : share(world.size()), memory(static_cast<size_t>(world.size())) {
    for (int r = 0; r < world.size(); ++r) {
      auto& mine = memory[static_cast<size_t>(r)];
      mine.assign(bytes / sizeof(int64_t), 0);
      share.target(r).memory = {reinterpret_cast<char*>(mine.data()),
                                static_cast<Count>(bytes), 1};
      access.push_back(std::make_unique<Access>(share, r, world.rank(r), may_share));
    }
  }
  Access& of(const job::Rank& rank) {
    return *access[static_cast<size_t>(rank.world_rank)];
  }
  int64_t* of(int rank) { return memory[static_cast<size_t>(rank)].data(); }

  WindowShare share;
  std::vector<std::vector<int64_t>> memory;
  std::vector<std::unique_ptr<Access>> access;
};

// Without a call that could do anything for this rank.
template <class Ready>
void compute_until(Ready ready) {
  while (!ready()) sched::Execution::self().yield();
}

// As a program that looks at its window while others write it, which ThreadSanitizer calls a race: data are copied.
[[gnu::noinline]] __attribute__((no_sanitize("thread"))) inline bool has_come(
    const int64_t* word, int64_t value) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE) == value;
}

// For tests that load and store instead of calling operations: waits for the lock or the post.
inline Complaint reach_now(Access& access, int target) {
  Complaint complaint = access.reach(target, kWhy);
  while (complaint == kLater) {
    access.finish(target, false, kWhy);
    complaint = access.reach(target, kWhy);
  }
  return complaint;
}

inline std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

inline unsigned seed() {
  const char* text = std::getenv("MPC_TEST_SEED");
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 4711;
}

// For many ranks' findings: an expectation that fails on a rank is not told with its case.
inline std::string text_of(Complaint complaint) {
  return complaint == nullptr ? "" : complaint;
}

}  // namespace mpc::rma::test

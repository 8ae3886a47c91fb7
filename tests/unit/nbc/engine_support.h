#pragma once
// EngineSupport: what the tests of the engine share.
//
// Role:      what a test waits for, counters.
// Users:     tests/unit/nbc.
// Threads:   pure.
// See also:  tests/unit/message/world.h, tests/unit/nbc/player.h.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "nbc/engine/engine.h"
#include "tests/unit/message/world.h"
#include "tests/unit/nbc/findings.h"

namespace mpc::nbc::test {

inline const msg::test::Why kWhy{"a collective"};

inline std::vector<int> identity(int n) {
  std::vector<int> ranks;
  for (int i = 0; i < n; ++i) ranks.push_back(i);
  return ranks;
}

inline uint64_t counted(std::string_view name) {
  for (const Counter* counter : Counter::all())
    if (counter->name() == name) return counter->get();
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

inline bool all_complete(void* argument) {
  for (const auto& c : *static_cast<std::vector<CollectivePtr>*>(argument))
    if (!is_complete(*c)) return false;
  return true;
}

}  // namespace mpc::nbc::test

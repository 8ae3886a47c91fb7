#pragma once
// EngineSupport: what the tests of the engine share.
//
// Role:      seeds, findings of ranks, what a test waits for.
// Users:     tests/unit/nbc.
// Threads:   Findings: any; the others: pure.
// See also:  tests/unit/message/world.h, tests/unit/nbc/player.h.

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "nbc/engine/engine.h"
#include "tests/unit/message/world.h"

namespace mpc::nbc::test {

inline const msg::test::Why kWhy{"a collective"};

inline std::vector<int> identity(int n) {
  std::vector<int> ranks;
  for (int i = 0; i < n; ++i) ranks.push_back(i);
  return ranks;
}

// What ranks found wrong.
class Findings {
 public:
  void add(const std::string& text) {
    if (text.empty()) return;
    std::lock_guard guard(mutex_);
    if (texts_.size() < 5) texts_.push_back(text);
  }
  std::string all() const {
    std::string out;
    for (const auto& text : texts_) out += text + "\n";
    return out;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

inline unsigned seed() {
  const char* text = std::getenv("MPC_TEST_SEED");
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 4711;
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

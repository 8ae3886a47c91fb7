#pragma once
// Findings: what ranks found wrong, for the test's thread to say; the seed of random tests.
//
// Role:      an expectation that fails on a rank is not told with its case; this is.
// Users:     tests/unit/nbc.
// Threads:   add: any; all: when the ranks have ended.
// See also:  tests/unit/message/world.h.

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace mpc::nbc::test {

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

}  // namespace mpc::nbc::test

#pragma once
// Choices: what a model of threads does next, so that all of its schedules can be tried, or some.
//
// Role:      each schedule is a sequence of choices.
// Users:     tests/unit/scheduler.
// Threads:   the test's.
// See also:  tests/unit/scheduler/watch_model_test.cpp.

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

namespace mpc::sched {

// Which of `count` possibilities is taken next.
class Choices {
 public:
  virtual ~Choices() = default;
  virtual size_t choose(size_t count) = 0;
};

// All sequences of choices, one after the other.
class AllChoices final : public Choices {
 public:
  size_t choose(size_t count) override {
    if (at_ == path_.size()) path_.push_back({0, count});
    EXPECT_EQ(path_[at_].count, count) << "the model is not the same each time";
    return path_[at_++].taken;
  }
  bool next() {
    at_ = 0;
    while (!path_.empty() && path_.back().taken + 1 == path_.back().count)
      path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().taken;
    return true;
  }

 private:
  struct Choice {
    size_t taken, count;
  };
  std::vector<Choice> path_;
  size_t at_ = 0;
};

class RandomChoices final : public Choices {
 public:
  explicit RandomChoices(unsigned seed) : random_(seed) {}
  size_t choose(size_t count) override { return random_() % count; }

 private:
  std::mt19937 random_;
};

}  // namespace mpc::sched

// What the runtime relies on: never slower than blocking or S = 0, alike at all ranks, quick
// when asked again.
#include "nbc/model/chooser.h"

#include <gtest/gtest.h>

#include <random>

namespace mpc::nbc {
namespace {

Situation random_situation(std::mt19937& random) {
  const auto number = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  Situation s;
  s.coll = static_cast<Coll>(number(0, kCollCount - 1));
  s.application_cores = number(1, 64);
  s.communication_cores = number(0, 64);
  s.ranks = s.application_cores * (number(0, 3) == 0 ? number(1, 8) : 1);
  s.bytes = number(0, 4) == 0 ? 0 : int64_t{1} << number(0, 24);
  s.window_us = number(0, 3) == 0 ? -1 : number(0, 100000);
  s.commutative = number(0, 1) == 1;
  return s;
}

TEST(Chooser, IsNeverBehindBlockingNorBehindSplitZero) {
  std::mt19937 random(20180828);
  for (int i = 0; i < 250; ++i) {
    const Situation s = random_situation(random);
    const Parameters& p = builtin_parameters()[static_cast<size_t>(i) % 3];
    const Choice choice = choose(s, p);
    if (s.ranks < 2) continue;
    const double window = s.window_us < 0 ? nominal_window_us(s, p) : s.window_us;
    bool is_found = false;
    for (const Plan& plan : plans_for(s)) {
      if (choice.algorithm != nullptr && (plan.algorithm != choice.algorithm ||
                                          plan.segment_bytes != choice.segment_bytes))
        continue;
      is_found = true;
      const auto times = predict(s, plan, p);
      EXPECT_LE(choice.predicted_us, times.front().overlapped_us(window) * (1 + 1e-12));
      EXPECT_LE(choice.predicted_us, (window + times.back().kept_us) * (1 + 1e-12));
      if (choice.keeps_all) {
        EXPECT_EQ(choice.split, times.back().split);
      }
      break;
    }
    EXPECT_TRUE(is_found) << name_of(s.coll);
  }
}

TEST(Chooser, TakesTheSameAlgorithmWhateverTheWindow) {
  std::mt19937 random(4711);
  for (int i = 0; i < 60; ++i) {
    Situation s = random_situation(random);
    const Parameters& p = builtin_parameters()[static_cast<size_t>(i) % 3];
    const Choice one = choose(s, p);
    for (double window : {-1.0, 0.0, 10.0, 1e4, 1e7}) {
      s.window_us = window;
      const Choice other = choose(s, p);
      EXPECT_EQ(one.algorithm, other.algorithm);
      EXPECT_EQ(one.arity, other.arity);
      EXPECT_EQ(one.segment_bytes, other.segment_bytes);
    }
  }
}

TEST(Chooser, KeepsEverythingWithoutACommunicationCore) {
  Situation s;
  s.ranks = s.application_cores = 48;
  s.bytes = 2 << 20;
  const Choice choice = choose(s, *builtin_parameters("skylake48"));
  EXPECT_TRUE(choice.keeps_all);
  EXPECT_EQ(choice.algorithm, nullptr);
}

// Where S grows, with the built-in numbers of the paper's machines.
std::vector<int> switching_points(const char* machine, Coll coll, int cores) {
  std::vector<int> points;
  for (int ranks = 2; ranks < cores; ++ranks) {
    Situation s;
    s.coll = coll;
    s.ranks = s.application_cores = ranks;
    s.communication_cores = cores - ranks;
    s.bytes = 2 << 20;
    s.algorithm = "binomial";
    if (choose(s, *builtin_parameters(machine)).split ==
        static_cast<int>(points.size()) + 1)
      points.push_back(ranks);
  }
  return points;
}

// The paper counts ceil(edges / P) steps for each level. Cores that go on with the next level
// while others are still at this one need fewer, and so do kept levels that begin while others
// are still folded: a small S is good for longer.
void expect_not_before(const std::vector<int>& points, const std::vector<int>& paper) {
  ASSERT_EQ(points.size(), paper.size());
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_GE(points[i], paper[i]);
    EXPECT_LE(points[i], paper[i] + 4);
  }
}

TEST(Chooser, SwitchesNotBeforeThePaperOnItsMachines) {
  expect_not_before(switching_points("knl64", Coll::kBcast, 64), {52, 58, 62});
  expect_not_before(switching_points("skylake48", Coll::kBcast, 48), {39, 44, 47});
}

TEST(Chooser, AnswersTheSameQuestionFromMemory) {
  Chooser chooser(*builtin_parameters("knl64"));
  Situation s;
  s.ranks = s.application_cores = 60;
  s.communication_cores = 4;
  s.bytes = 2 << 20;
  const Choice first = chooser.choose(s);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(chooser.choose(s).split, first.split);
  EXPECT_EQ(chooser.misses(), 1u);
  for (double window : {0.0, 1000.0, 5000.0, 1e6}) {
    s.window_us = window;
    const Choice direct = choose(s, chooser.parameters());
    const Choice& remembered = chooser.choose(s);
    EXPECT_EQ(remembered.split, direct.split);
    EXPECT_DOUBLE_EQ(remembered.predicted_us, direct.predicted_us);
  }
  EXPECT_EQ(chooser.misses(), 1u);
  s.bytes = 4096;
  chooser.choose(s);
  EXPECT_EQ(chooser.misses(), 2u);
}

TEST(Chooser, SmallMessagesWithoutWindowAreNotHandedOver) {
  Situation s;
  s.ranks = s.application_cores = 63;
  s.communication_cores = 1;
  s.bytes = 8;
  s.window_us = 0;
  EXPECT_TRUE(choose(s, *builtin_parameters("knl64")).keeps_all);
}

}  // namespace
}  // namespace mpc::nbc

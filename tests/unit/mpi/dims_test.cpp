#include "mpi/topo/dims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>

namespace mpc::mpi {
namespace {

// Every non-increasing factorisation, the slow way.
void all_factorisations(int nodes, int count, int limit, std::vector<int>* now,
                        std::vector<std::vector<int>>* out) {
  if (count == 0) {
    if (nodes == 1) out->push_back(*now);
    return;
  }
  for (int d = std::min(nodes, limit); d >= 1; --d) {
    if (nodes % d != 0) continue;
    now->push_back(d);
    all_factorisations(nodes / d, count - 1, d, now, out);
    now->pop_back();
  }
}

int spread(const std::vector<int>& v) { return v.front() - v.back(); }

TEST(BalancedFactors, HaveTheLeastSpreadOfAllFactorisations) {
  for (int nodes = 1; nodes <= 400; ++nodes) {
    for (int count = 1; count <= 4; ++count) {
      std::vector<std::vector<int>> all;
      std::vector<int> now;
      all_factorisations(nodes, count, nodes, &now, &all);
      int least = INT_MAX;
      for (const auto& v : all) least = std::min(least, spread(v));
      const std::vector<int> got = balanced_factors(nodes, count);
      ASSERT_NE(std::find(all.begin(), all.end(), got), all.end())
          << nodes << ' ' << count;
      ASSERT_EQ(spread(got), least) << nodes << ' ' << count;
    }
  }
}

TEST(BalancedFactors, PadWithOnes) {
  EXPECT_EQ(balanced_factors(7, 3), (std::vector<int>{7, 1, 1}));
  EXPECT_EQ(balanced_factors(1, 5), (std::vector<int>{1, 1, 1, 1, 1}));
}

TEST(BalancedFactors, SolvesLargeInputsQuickly) {
  EXPECT_EQ(balanced_factors(1 << 30, 3), (std::vector<int>{1024, 1024, 1024}));
  EXPECT_EQ(balanced_factors(INT_MAX, 2), (std::vector<int>{INT_MAX, 1}));  // a prime
  EXPECT_EQ(balanced_factors(1 << 20, 20), std::vector<int>(20, 2));
}

}  // namespace
}  // namespace mpc::mpi

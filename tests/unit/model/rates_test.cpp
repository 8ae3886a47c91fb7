// Copies that share the bandwidth of NUMA nodes.
#include "nbc/model/rates.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mpc::nbc {
namespace {

using Numbers = std::vector<uint32_t>;

Numbers ended(Rates& rates, double now_us) {
  Numbers numbers;
  rates.take_ended(now_us, numbers);
  return numbers;
}

TEST(Rates, LetOneCopyHaveItsOwn) {
  Rates rates(10, 1);
  EXPECT_TRUE(std::isinf(rates.next_us()));
  rates.begin(5, 4000, 4, 0, 0, 7);
  EXPECT_NEAR(rates.next_us(), 6, 1e-9);
  EXPECT_EQ(ended(rates, 5.5), Numbers{});
  EXPECT_NEAR(rates.next_us(), 6, 1e-9);
  EXPECT_EQ(ended(rates, 6), Numbers{7});
  EXPECT_TRUE(std::isinf(rates.next_us()));
}

TEST(Rates, ShareOneNodeFromTheMomentThatAnotherCopyBegins) {
  Rates rates(6, 2);
  rates.begin(0, 8000, 4, 0, 0, 1);
  rates.begin(1, 8000, 4, 0, 0, 2);  // 3 GB/s each from here on
  rates.begin(1, 4000, 4, 1, 1, 3);  // another node
  EXPECT_NEAR(rates.next_us(), 2, 1e-9);
  EXPECT_EQ(ended(rates, 2), Numbers{3});
  EXPECT_NEAR(rates.next_us(), 1 + 4.0 / 3, 1e-9);
  EXPECT_EQ(ended(rates, rates.next_us()), Numbers{1});
  // 4000 bytes are left, alone again.
  EXPECT_NEAR(rates.next_us(), 1 + 4.0 / 3 + 1, 1e-9);
}

TEST(Rates, CountACopyBetweenTwoNodesInBoth) {
  Rates rates(6, 2);
  rates.begin(0, 3000, 6, 0, 1, 1);
  rates.begin(0, 3000, 6, 1, 0, 2);
  rates.begin(0, 3000, 6, 1, 1, 3);  // 2 GB/s each
  EXPECT_NEAR(rates.next_us(), 1.5, 1e-9);
  EXPECT_EQ(ended(rates, 1.5).size(), 3u);
}

TEST(Rates, HaveNoLimitWithoutOne) {
  Rates rates(0, 1);
  for (uint32_t number = 0; number < 100; ++number)
    rates.begin(0, 1000, 1, 0, 0, number);
  EXPECT_NEAR(rates.next_us(), 1, 1e-9);
}

}  // namespace
}  // namespace mpc::nbc

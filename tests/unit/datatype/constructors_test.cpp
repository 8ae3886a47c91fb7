// Bounds, sizes, layouts and history of each constructor, on examples small enough to check by hand.

#include <gtest/gtest.h>

#include <complex>
#include <numeric>
#include <vector>

#include "runtime/datatype/datatype.h"

namespace mpc::dt {
namespace {

const Datatype& type(uint32_t code) { return *predefined(code); }

TEST(Predefined, HasTheSizesOfThePlatform) {
  EXPECT_EQ(type(abi::kInt).size(), 4);
  EXPECT_EQ(type(abi::kLongDouble).size(), 16);
  EXPECT_EQ(type(abi::kComplex32).size(), 32);
  EXPECT_EQ(type(abi::kWchar).size(), static_cast<Count>(sizeof(wchar_t)));
  EXPECT_EQ(predefined(abi::kTypeNull), nullptr);
  EXPECT_EQ(predefined(0x204), nullptr);
  EXPECT_EQ(predefined(0x101), nullptr);
}

TEST(Predefined, PairsAreLaidOutAsCStructs) {
  EXPECT_EQ(type(abi::kDoubleInt).size(), 12);
  EXPECT_EQ(type(abi::kDoubleInt).extent(), 16);
  EXPECT_EQ(type(abi::kShortInt).size(), 6);
  EXPECT_EQ(type(abi::kShortInt).extent(), 8);
  EXPECT_EQ(type(abi::kShortInt).true_extent(), 8);
  EXPECT_EQ(type(abi::kLongDoubleInt).size(), 20);
  EXPECT_EQ(type(abi::kLongDoubleInt).extent(), 32);
  EXPECT_TRUE(type(abi::k2Int).is_contiguous());
  EXPECT_FALSE(type(abi::kDoubleInt).is_contiguous());
}

TEST(Predefined, FixedSizesFollowTheFormulaOfTheAbi) {
  for (uint32_t code = 0x240; code <= abi::kLastType; ++code)
    if (const Datatype* t = predefined(code)) {
      EXPECT_EQ(t->size(), Count{1} << ((code >> 3) & 7)) << code;
    }
}

TEST(Vector, CopiesAColumnOfAMatrix) {
  auto column = make_vector(3, 1, 4, type(abi::kDouble));
  ASSERT_TRUE(column.ok());
  EXPECT_EQ((*column)->size(), 24);
  EXPECT_EQ((*column)->extent(), 72);
  std::vector<double> matrix(12), packed(3);
  std::iota(matrix.begin(), matrix.end(), 0.0);
  EXPECT_EQ(pack(&matrix[1], **column, 1, 0, packed.data(), 24), 24u);
  EXPECT_EQ(packed, (std::vector<double>{1, 5, 9}));
  EXPECT_EQ(copy(packed.data(), type(abi::kDouble), 3, &matrix[2], **column, 1), 24u);
  EXPECT_EQ(packed, (std::vector<double>{2, 6, 10}));
  EXPECT_EQ(copy(&matrix[0], **column, 1, packed.data(), type(abi::kDouble), 2), 16u);
  EXPECT_EQ(matrix[0], 2);
  EXPECT_EQ(matrix[4], 6);
  EXPECT_EQ(matrix[8], 8);
}

TEST(Vector, WithAContiguousStrideIsOneBlock) {
  auto dense = make_vector(5, 2, 2, type(abi::kInt));
  EXPECT_TRUE((*dense)->is_contiguous());
  auto nested = make_contiguous(7, **dense);
  EXPECT_TRUE((*nested)->is_contiguous());
  EXPECT_EQ((*nested)->size(), 280);
}

TEST(Vector, NegativeStridesReachBelowTheBuffer) {
  auto back = make_vector(3, 1, -2, type(abi::kInt));
  EXPECT_EQ((*back)->lb(), -16);
  EXPECT_EQ((*back)->ub(), 4);
  std::vector<int> values{0, 1, 2, 3, 4, 5}, packed(3);
  pack(&values[4], **back, 1, 0, packed.data(), 12);
  EXPECT_EQ(packed, (std::vector<int>{4, 2, 0}));
}

TEST(Struct, IsPaddedLikeACStruct) {
  struct Particle {
    double x;
    char tag;
  };
  const std::vector<Count> at{0, 8};
  const Datatype* parts[] = {&type(abi::kDouble), &type(abi::kChar)};
  auto particle = make_struct(std::vector<int>{1, 1}, at, parts);
  EXPECT_EQ((*particle)->size(), 9);
  EXPECT_EQ((*particle)->extent(), static_cast<Count>(sizeof(Particle)));
  EXPECT_EQ((*particle)->true_extent(), 9);
}

TEST(Struct, TakesAbsoluteAddresses) {
  int a = 7;
  double b = 2.5;
  const std::vector<Count> at{reinterpret_cast<Count>(&a), reinterpret_cast<Count>(&b)};
  const Datatype* parts[] = {&type(abi::kInt), &type(abi::kDouble)};
  auto both = make_struct(std::vector<int>{1, 1}, at, parts);
  char packed[12];
  EXPECT_EQ(pack(nullptr, **both, 1, 0, packed, sizeof packed), 12u);
  a = 0;
  b = 0;
  EXPECT_EQ(unpack(nullptr, **both, 1, 0, packed, sizeof packed), 12u);
  EXPECT_EQ(a, 7);
  EXPECT_EQ(b, 2.5);
}

TEST(Resized, SetsTheBoundsAndKeepsTheData) {
  auto spaced = make_resized(type(abi::kInt), -4, 12);
  EXPECT_EQ((*spaced)->lb(), -4);
  EXPECT_EQ((*spaced)->extent(), 12);
  EXPECT_EQ((*spaced)->true_lb(), 0);
  EXPECT_EQ((*spaced)->true_extent(), 4);
  std::vector<int> values{1, 2, 3, 4, 5, 6, 7}, packed(3);
  pack(values.data(), **spaced, 3, 0, packed.data(), 12);
  EXPECT_EQ(packed, (std::vector<int>{1, 4, 7}));
}

TEST(Errors, NameTheArgument) {
  EXPECT_EQ(make_contiguous(-1, type(abi::kInt)).error().code, Errc::kCount);
  EXPECT_EQ(make_vector(1, -1, 1, type(abi::kInt)).error().code, Errc::kArg);
  auto big = make_contiguous(INT64_MAX, type(abi::kInt));
  EXPECT_EQ(big.error().code, Errc::kCount);
  auto far = make_hvector(3, 1, INT64_MAX / 2, type(abi::kInt));
  EXPECT_EQ(far.error().code, Errc::kCount);
}

TEST(Counting, ElementsOfAPartialStruct) {
  const Datatype* parts[] = {&type(abi::kInt), &type(abi::kDouble)};
  auto both = make_struct(std::vector<int>{2, 1}, std::vector<Count>{0, 8}, parts);
  EXPECT_EQ(elements_in(**both, 16), 3);
  EXPECT_EQ(elements_in(**both, 20), 4);
  EXPECT_EQ(elements_in(**both, 18), -1);
  EXPECT_EQ(count_in(**both, 32), 2);
  EXPECT_EQ(count_in(**both, 20), -1);
  EXPECT_EQ(elements_in(type(abi::kDoubleInt), 8), 1);
  EXPECT_EQ(bytes_of_elements(**both, 4), 20);
}

}  // namespace
}  // namespace mpc::dt

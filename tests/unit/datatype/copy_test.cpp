// Copies between two layouts that have a way of their own: short blocks, and columns of a matrix.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "runtime/datatype/datatype.h"

namespace mpc::dt {
namespace {

TypeRef vector_of(Count count, Count block_bytes, Count stride_bytes) {
  return make_hvector(count, block_bytes, stride_bytes, *predefined(abi::kByte))
      .value();
}

std::vector<char> noise(size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<char> data(bytes);
  for (char& c : data) c = static_cast<char>(random());
  return data;
}

// What `to` holds after the packed bytes of the one side were unpacked to the other.
std::vector<char> expected(std::vector<char> to, const Datatype& to_type,
                           Count to_count, const std::vector<char>& from,
                           const Datatype& type, Count count) {
  std::vector<char> packed(static_cast<size_t>(type.size() * count));
  pack(from.data(), type, count, 0, packed.data(), packed.size());
  const auto room = static_cast<size_t>(to_type.size() * to_count);
  unpack(to.data(), to_type, to_count, 0, packed.data(), std::min(room, packed.size()));
  return to;
}

TypeRef columns_of(Count rows, Count columns, Count row_bytes, Count element) {
  const TypeRef column = vector_of(rows, element, row_bytes);
  return make_contiguous(columns, *make_resized(*column, 0, element).value()).value();
}

TEST(Copy, ColumnsOfTheSameMatrixOnBothSides) {
  const auto from = noise(1 << 16, 1), before = noise(1 << 16, 2);
  for (const Count columns : {1, 3, 63, 64}) {
    for (const Count count : {1, 2}) {
      const TypeRef a = columns_of(32, columns, 512, 8),
                    b = columns_of(32, columns, 512, 8);
      std::vector<char> to = before;
      EXPECT_EQ(copy(to.data(), *a, count, from.data(), *b, count),
                static_cast<size_t>(a->size() * count));
      EXPECT_EQ(to, expected(before, *a, count, from, *b, count)) << columns;
    }
  }
}

TEST(Copy, ColumnsOfAnotherMatrix) {
  const auto from = noise(1 << 16, 1), before = noise(1 << 16, 2);
  const TypeRef a = columns_of(32, 16, 512, 8);
  for (const TypeRef& b : {columns_of(16, 32, 512, 8), columns_of(32, 16, 1024, 8),
                           columns_of(32, 32, 512, 4), columns_of(32, 17, 512, 8),
                           columns_of(32, 15, 512, 8)}) {
    std::vector<char> to = before;
    copy(to.data(), *a, 1, from.data(), *b, 1);
    EXPECT_EQ(to, expected(before, *a, 1, from, *b, 1));
  }
}

// Blocks of other lengths at other places on both sides, in sums around the buffer between them.
TEST(Copy, ShortBlocksOnBothSides) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<Count> lengths[2], places[2];
    for (int side = 0; side < 2; ++side) {
      Count at = 0;
      const int blocks = 1 + static_cast<int>(random() % 400);
      for (int b = 0; b < blocks; ++b) {
        lengths[side].push_back(1 + static_cast<Count>(random() % 24));
        places[side].push_back(at);
        at += lengths[side].back() + static_cast<Count>(random() % 16);
      }
    }
    const auto& byte = *predefined(abi::kByte);
    const TypeRef a = make_hindexed(lengths[0], places[0], byte).value();
    const TypeRef b = make_hindexed(lengths[1], places[1], byte).value();
    const auto from = noise(1 << 15, 4), before = noise(1 << 15, 5);
    std::vector<char> to = before;
    EXPECT_EQ(copy(to.data(), *a, 1, from.data(), *b, 1),
              static_cast<size_t>(std::min(a->size(), b->size())));
    EXPECT_EQ(to, expected(before, *a, 1, from, *b, 1)) << i;
  }
}

}  // namespace
}  // namespace mpc::dt

// Copies between two layouts that have a way of their own: short blocks, and columns of a matrix.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "runtime/datatype/datatype.h"
#include "runtime/datatype/layout_copy.h"

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

// By hand, so that neither side depends on the kernels.
TEST(Copy, BlocksWhosePlacesShareFewSetsOfTheCache) {
  constexpr Count kBlocks = 9;
  for (const Count bytes :
       {1, 2, 3, 4, 5, 8, 11, 12, 16, 24, 30, 32, 40, 48, 64, 100}) {
    const auto from = noise(kBlocks * 100, static_cast<unsigned>(bytes));
    for (const Count stride : {512, 1024, 1536, 4096, -512, -2048, 0x8000}) {
      const TypeRef type = vector_of(kBlocks, bytes, stride);
      const Count first = stride < 0 ? -stride * (kBlocks - 1) : 0;
      const auto room = static_cast<size_t>(std::abs(stride) * kBlocks);
      auto to = noise(room, 2), right = to;
      for (Count i = 0; i < kBlocks; ++i)
        std::copy_n(&from[static_cast<size_t>(i * bytes)], bytes,
                    &right[static_cast<size_t>(first + i * stride)]);
      unpack(to.data() + first, *type, 1, 0, from.data(),
             static_cast<size_t>(kBlocks * bytes));
      EXPECT_EQ(to, right) << bytes << " bytes each " << stride;
    }
  }
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

struct Matrix {
  Count rows, columns, row_bytes, element;
  Count bytes() const { return rows * columns * element; }
  size_t room() const { return static_cast<size_t>(rows * row_bytes); }
  TypeRef type() const { return columns_of(rows, columns, row_bytes, element); }
  // Column by column, byte by byte.
  std::vector<size_t> places() const {
    std::vector<size_t> all;
    for (Count c = 0; c < columns; ++c)
      for (Count r = 0; r < rows; ++r)
        for (Count b = 0; b < element; ++b)
          all.push_back(static_cast<size_t>(r * row_bytes + c * element + b));
    return all;
  }
};

std::vector<Matrix> matrices() {
  std::vector<Matrix> all;
  for (const Count element : {2, 4, 6, 8, 12, 16, 24, 32, 40})
    for (const Count rows : {17, 24, 67})
      for (const Count columns : {2, 5, 9, 33})
        for (const Count gap : {0, 4, 96})
          all.push_back({rows, columns, columns * element + gap, element});
  return all;
}

// From any byte on to any other one, wherever the lines of the matrix begin.
TEST(Copy, ColumnsArePackedAndUnpackedInTiles) {
  std::mt19937 random(5);
  for (const Matrix& m : matrices()) {
    const TypeRef type = m.type();
    const std::vector<size_t> places = m.places();
    const size_t shift = random() % 64;
    const auto memory = noise(m.room() + 64, 6), packed = noise(places.size(), 7);
    for (int i = 0; i < 6; ++i) {
      const size_t begin = i == 0 ? 0 : random() % places.size();
      const size_t end =
          i < 2 ? places.size() : begin + random() % (places.size() - begin);
      std::vector<char> out(places.size(), 'x'), want_out = out;
      std::vector<char> in = memory, want_in = memory;
      for (size_t at = begin; at < end; ++at) {
        want_out[at] = memory[shift + places[at]];
        want_in[shift + places[at]] = packed[at];
      }
      pack(memory.data() + shift, *type, 1, begin, out.data() + begin, end - begin);
      ASSERT_EQ(out, want_out) << m.rows << "x" << m.columns << " of " << m.element;
      unpack(in.data() + shift, *type, 1, begin, packed.data() + begin, end - begin);
      ASSERT_EQ(in, want_in) << m.rows << "x" << m.columns << " of " << m.element;
    }
  }
}

// The same with elements of a type that is one column.
TEST(Copy, ColumnsAsElementsArePackedAndUnpackedInTiles) {
  for (const Matrix& m : matrices()) {
    const TypeRef column =
        make_resized(*vector_of(m.rows, m.element, m.row_bytes), 0, m.element).value();
    const std::vector<size_t> places = m.places();
    const auto memory = noise(m.room(), 8);
    std::vector<char> out(places.size()), back(memory.size()), want(memory.size());
    for (size_t at = 0; at < places.size(); ++at) want[places[at]] = memory[places[at]];
    pack(memory.data(), *column, m.columns, 0, out.data(), out.size());
    unpack(back.data(), *column, m.columns, 0, out.data(), out.size());
    ASSERT_EQ(back, want) << m.rows << "x" << m.columns << " of " << m.element;
  }
}

// Parts in any order are the whole.
TEST(Copy, PartsTogetherAreTheWhole) {
  std::mt19937 random(9);
  for (const Matrix& m : matrices()) {
    const TypeRef columns = m.type(), same = m.type(),
                  plain = make_contiguous(m.bytes(), *predefined(abi::kByte)).value(),
                  shorter = columns_of(m.rows, m.columns - 1, m.row_bytes, m.element);
    const auto from = noise(m.room() + 64, 10), before = noise(m.room() + 64, 11);
    const TypeRef* pairs[][2] = {{&columns, &plain},   {&plain, &columns},
                                 {&columns, &same},    {&columns, &shorter},
                                 {&shorter, &columns}, {&plain, &plain},
                                 {&shorter, &plain}};
    for (const auto& [to_type, from_type] : pairs) {
      const size_t shift = random() % 64;
      std::vector<char> whole = before, parted = before;
      const auto n = static_cast<Count>(
          copy(whole.data() + shift, **to_type, 1, from.data(), **from_type, 1));
      const LayoutCopy copy(parted.data() + shift, **to_type, 1, from.data(),
                            **from_type, 1);
      ASSERT_EQ(copy.bytes(), n);
      const auto [first, step] = copy.parts(1 + static_cast<Count>(random() % 4096));
      ASSERT_GT(first, 0);
      ASSERT_GT(step, 0);
      std::vector<std::pair<Count, Count>> parts{{0, std::min(first, n)}};
      for (Count at = first; at < n; at += step)
        parts.emplace_back(at, std::min(step, n - at));
      std::shuffle(parts.begin(), parts.end(), random);
      for (const auto& [at, bytes] : parts) copy.run(at, bytes);
      ASSERT_EQ(parted, whole) << m.rows << "x" << m.columns << " of " << m.element;
    }
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

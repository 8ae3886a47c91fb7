// Which layouts are scattered, row by row.
#include "runtime/datatype/footprint.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "runtime/datatype/datatype.h"

namespace mpc::dt {
namespace {

const Datatype& doubles() { return *predefined(abi::kDouble); }

TypeRef vector_of(Count count, Count block_bytes, Count stride_bytes) {
  return make_hvector(count, block_bytes, stride_bytes, *predefined(abi::kByte))
      .value();
}

bool is_scattered(const TypeRef& type) {
  const bool first = dt::is_scattered(*type);
  EXPECT_EQ(dt::is_scattered(*type), first);
  return first;
}

std::vector<Count> random_places(int n, Count step) {
  std::mt19937_64 random(1);
  std::vector<Count> places;
  for (int i = 0; i < n; ++i)
    places.push_back(static_cast<Count>(random() % (1 << 20)) * step);
  return places;
}

TEST(Footprint, CountsLinesAndJumps) {
  const TypeRef face = vector_of(1000, 8, 512);
  const Footprint far = sample_footprint(face->layout(), face->extent());
  EXPECT_EQ(far.lines * 8, far.bytes);
  EXPECT_GE(far.jumps, far.lines - 4);
  const TypeRef half = vector_of(1000, 16, 32);
  const Footprint near = sample_footprint(half->layout(), half->extent());
  EXPECT_EQ(near.lines * 32, near.bytes);
  EXPECT_EQ(near.jumps, 0);
}

TEST(Footprint, LooksAtAFewBlocksOnly) {
  const TypeRef huge = vector_of(1 << 30, 1, 2);
  EXPECT_LE(sample_footprint(huge->layout(), huge->extent()).bytes, 128);
  const TypeRef whole = make_resized(*vector_of(1, Count{1} << 58, 0), 0, 8).value();
  EXPECT_GT(sample_footprint(whole->layout(), whole->extent()).bytes, 0);
  for (const Count extent :
       {Count{1} << 61, -(Count{1} << 61)}) {  // eight of it: too far
    const TypeRef wide = make_resized(*vector_of(1, 16, 0), 0, extent).value();
    EXPECT_EQ(sample_footprint(wide->layout(), wide->extent()).bytes, 16);
  }
  const TypeRef none = vector_of(0, 8, 512);
  EXPECT_EQ(sample_footprint(none->layout(), none->extent()).bytes, 0);
}

TEST(Footprint, BlocksMayBeginBelowDisplacementZero) {
  const std::vector<Count> lengths{16}, places{-8};  // over two lines
  const TypeRef type = make_hindexed(lengths, places, *predefined(abi::kByte)).value();
  const Footprint found = sample_footprint(type->layout(), type->extent());
  EXPECT_EQ(found.bytes % 16, 0);
  EXPECT_GT(found.lines, 0);
  EXPECT_LE(found.lines, found.bytes);
}

// Each of the figures of docs/design/0036-scattered-layouts.md.
TEST(Footprint, SaysWhichLayoutsAreScattered) {
  EXPECT_TRUE(is_scattered(vector_of(4096, 8, 512)));
  EXPECT_TRUE(is_scattered(vector_of(4096, 64, 512)));
  EXPECT_TRUE(is_scattered(vector_of(4096, 8, 64)));
  EXPECT_TRUE(is_scattered(vector_of(4096, 8, -512)));
  EXPECT_FALSE(is_scattered(vector_of(4096, 8, 16)));
  EXPECT_FALSE(is_scattered(vector_of(4096, 16, 32)));
  EXPECT_FALSE(is_scattered(vector_of(32, 256, 512)));
  EXPECT_FALSE(is_scattered(vector_of(1, 4096, 0)));
  EXPECT_TRUE(is_scattered(
      make_hindexed_block(8, random_places(8192, 8), *predefined(abi::kByte)).value()));
  EXPECT_TRUE(is_scattered(
      make_hindexed_block(64, random_places(8192, 8), *predefined(abi::kByte))
          .value()));
  EXPECT_FALSE(is_scattered(
      make_hindexed_block(4096, random_places(64, 8192), *predefined(abi::kByte))
          .value()));
  // One number of each of the structures that `count` of them lie in.
  EXPECT_TRUE(is_scattered(make_resized(doubles(), 0, 512).value()));
  EXPECT_FALSE(is_scattered(make_resized(doubles(), 0, 16).value()));
}

TEST(Footprint, IsThatOfTheTypeItIsADuplicateOf) {
  EXPECT_TRUE(is_scattered(make_dup(*vector_of(4096, 8, 512)).value()));
  EXPECT_FALSE(dt::is_scattered(doubles()));
  EXPECT_FALSE(dt::is_scattered(*predefined(abi::kDoubleInt)));
}

TypeRef columns_of(Count rows, Count columns, Count row_bytes, Count element) {
  const TypeRef column =
      make_resized(*vector_of(rows, element, row_bytes), 0, element).value();
  return make_contiguous(columns, *column).value();
}

// In tiles each of their lines is used as a whole.
TEST(Footprint, ColumnsOfAMatrixAreAsDenseAsItsRows) {
  EXPECT_FALSE(is_scattered(columns_of(512, 512, 4096, 8)));
  EXPECT_FALSE(is_scattered(columns_of(512, 64, 4096, 8)));
  EXPECT_TRUE(is_scattered(columns_of(512, 2, 4096, 8)));
  EXPECT_TRUE(is_scattered(columns_of(512, 512, 8192, 7)));  // no tiles
}

TEST(Footprint, AlternatingPartsAreSeenAllOver) {
  // A long dense part first: what follows counts, too.
  std::vector<Count> lengths{1 << 14}, places{0};
  for (int i = 0; i < 1 << 14; ++i) {
    lengths.push_back(8);
    places.push_back((1 << 20) + 512 * static_cast<Count>(i) * (1 + i % 3));
  }
  EXPECT_TRUE(
      is_scattered(make_hindexed(lengths, places, *predefined(abi::kByte)).value()));
}

}  // namespace
}  // namespace mpc::dt

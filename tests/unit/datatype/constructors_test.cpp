// Bounds, sizes, layouts and history of each constructor, on examples small enough to
// check by hand.

#include <gtest/gtest.h>

#include <complex>
#include <numeric>
#include <string>
#include <thread>
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
  EXPECT_EQ(predefined(abi::kDatatypeNull), nullptr);
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

// MPI-4.1 section 5.1.6: where there are markers, they alone give the bound.
TEST(Markers, OfPartsHideWhatLiesOutsideOfThem) {
  auto wide = make_resized(type(abi::kInt), -2, 10);
  ASSERT_TRUE(wide.ok());
  EXPECT_TRUE((*wide)->has_lb_marker() && (*wide)->has_ub_marker());
  const Datatype* parts[] = {wide->get(), &type(abi::kDouble)};
  auto both = make_struct(std::vector<int>{2, 1}, std::vector<int>{8, 64}, parts);
  ASSERT_TRUE(both.ok());
  EXPECT_EQ((*both)->lb(), 6);
  EXPECT_EQ((*both)->ub(), 26);
  EXPECT_EQ((*both)->true_extent(), 64);
  auto three = make_contiguous(3, **both);
  ASSERT_TRUE(three.ok());
  EXPECT_EQ((*three)->extent(), 60);
}

TEST(Markers, OfMpi1SetOneBoundEach) {
  const Datatype* parts[] = {&type(abi::kLb), &type(abi::kInt), &type(abi::kUb)};
  const std::vector<int> one{1, 1, 1};
  auto padded = make_struct(one, std::vector<int>{-3, 0, 6}, parts);
  ASSERT_TRUE(padded.ok());
  EXPECT_EQ((*padded)->lb(), -3);
  EXPECT_EQ((*padded)->extent(), 9);
  EXPECT_EQ((*padded)->size(), 4);
  EXPECT_EQ((*padded)->elements(), 1);
  const Datatype* ends[] = {&type(abi::kInt), &type(abi::kUb)};
  auto longer = make_struct(std::vector<int>{1, 1}, std::vector<int>{4, 100}, ends);
  ASSERT_TRUE(longer.ok());
  EXPECT_EQ((*longer)->lb(), 4);
  EXPECT_EQ((*longer)->ub(), 100);
  auto empty = make_struct(std::vector<int>{1}, std::vector<int>{12},
                           std::span<const Datatype* const>(parts, 1));
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ((*empty)->lb(), 12);
  EXPECT_EQ((*empty)->ub(), 0);
}

TEST(Markers, OfMpi1StayOneBoundInTypesMadeOfThem) {
  auto copy = make_dup(type(abi::kUb));
  auto two = make_contiguous(2, type(abi::kLb));
  ASSERT_TRUE(copy.ok() && two.ok());
  EXPECT_TRUE((*copy)->has_ub_marker() && !(*copy)->has_lb_marker());
  EXPECT_TRUE((*two)->has_lb_marker() && !(*two)->has_ub_marker());
  const Datatype* parts[] = {copy->get(), &type(abi::kInt), two->get()};
  auto all = make_struct(std::vector<int>{1, 1, 1}, std::vector<int>{2, 4, 20}, parts);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ((*all)->lb(), 20);
  EXPECT_EQ((*all)->ub(), 2);
}

TEST(Markers, OfResizedTypesAreErasedByTheNext) {
  auto far = make_resized(type(abi::kInt), -100, 400);
  ASSERT_TRUE(far.ok());
  auto near = make_resized(**far, 0, 4);
  ASSERT_TRUE(near.ok());
  const Datatype* parts[] = {near->get(), &type(abi::kChar)};
  auto both = make_struct(std::vector<int>{1, 1}, std::vector<int>{0, 9}, parts);
  ASSERT_TRUE(both.ok());
  EXPECT_EQ((*both)->lb(), 0);
  EXPECT_EQ((*both)->ub(), 4);
}

TEST(Markers, OfArraysAreSticky) {
  auto array = make_subarray(std::vector<int>{8}, std::vector<int>{2},
                             std::vector<int>{3}, abi::kOrderC, type(abi::kInt));
  ASSERT_TRUE(array.ok());
  const Datatype* parts[] = {array->get(), &type(abi::kDouble)};
  auto both = make_struct(std::vector<int>{1, 1}, std::vector<int>{0, 64}, parts);
  ASSERT_TRUE(both.ok());
  EXPECT_EQ((*both)->lb(), 0);
  EXPECT_EQ((*both)->ub(), 32);
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

TEST(Struct, OfOnePartKeepsItsExplicitExtent) {
  auto odd = make_resized(type(abi::kInt), -3, 9);
  const Datatype* parts[] = {odd->get(), &type(abi::kChar)};
  auto one = make_struct(std::vector<int>{1}, std::vector<Count>{5}, {parts, 1});
  EXPECT_EQ((*one)->lb(), 2);
  EXPECT_EQ((*one)->extent(), 9);
  auto two = make_struct(std::vector<int>{1, 1}, std::vector<Count>{0, 6}, parts);
  EXPECT_EQ((*two)->lb(), -3);
  EXPECT_EQ((*two)->extent(), 9);  // nor is an extent padded that was set
}

TEST(Struct, IgnoresEmptyBlocksButNotEmptyTypes) {
  const Datatype* parts[] = {&type(abi::kDouble), &type(abi::kChar)};
  auto first = make_struct(std::vector<int>{0, 1}, std::vector<Count>{40, 16}, parts);
  EXPECT_EQ((*first)->lb(), 16);
  EXPECT_EQ((*first)->extent(), 1);
  auto none = make_contiguous(0, type(abi::kInt));
  EXPECT_EQ((*none)->extent(), 0);
  const Datatype* with_none[] = {none->get(), &type(abi::kChar)};
  auto second =
      make_struct(std::vector<int>{1, 1}, std::vector<Count>{40, 16}, with_none);
  EXPECT_EQ((*second)->lb(), 16);
  EXPECT_EQ((*second)->extent(), 24);
  EXPECT_EQ((*second)->true_extent(), 1);
}

TEST(Subarray, CutsABoxOutOfAMatrix) {
  auto box = make_subarray(std::vector<int>{4, 5}, std::vector<int>{2, 3},
                           std::vector<int>{1, 2}, abi::kOrderC, type(abi::kInt));
  ASSERT_TRUE(box.ok());
  EXPECT_EQ((*box)->lb(), 0);
  EXPECT_EQ((*box)->extent(), 80);
  EXPECT_EQ((*box)->true_lb(), 28);
  std::vector<int> matrix(20), packed(6);
  std::iota(matrix.begin(), matrix.end(), 0);
  pack(matrix.data(), **box, 1, 0, packed.data(), 24);
  EXPECT_EQ(packed, (std::vector<int>{7, 8, 9, 12, 13, 14}));
  EXPECT_EQ(make_subarray(std::vector<int>{4}, std::vector<int>{3}, std::vector<int>{2},
                          abi::kOrderC, type(abi::kInt))
                .error()
                .code,
            Errc::kArg);
  EXPECT_EQ(make_subarray(std::vector<int>{4}, std::vector<int>{3}, std::vector<int>{1},
                          1, type(abi::kInt))
                .error()
                .code,
            Errc::kArg);
}

TEST(Darray, DealsOutBlocksInTurn) {
  const std::vector<int> cyclic{abi::kDistributeCyclic}, two{2};
  auto mine = make_darray(2, 1, std::vector<int>{9}, cyclic, two, two, abi::kOrderC,
                          type(abi::kChar));
  ASSERT_TRUE(mine.ok());
  char packed[4];
  EXPECT_EQ(pack("abcdefghi", **mine, 1, 0, packed, 4), 4u);
  EXPECT_EQ(std::string(packed, 4), "cdgh");
  EXPECT_EQ(make_darray(3, 1, std::vector<int>{9}, cyclic, two, two, abi::kOrderC,
                        type(abi::kChar))
                .error()
                .code,
            Errc::kArg);
}

TEST(BigCounts, GoBeyondTwoGigabytes) {
  const Count giga = Count{1} << 30;
  auto big = make_vector(giga, 1, 8, type(abi::kDouble), Binding::kLarge);
  ASSERT_TRUE(big.ok());
  EXPECT_EQ((*big)->size(), 8 * giga);
  EXPECT_EQ((*big)->extent(), 64 * giga - 56);
  EXPECT_TRUE((*big)->contents().integers.empty());
  EXPECT_EQ((*big)->contents().large_counts, (std::vector<Count>{giga, 1, 8}));
  EXPECT_EQ(elements_in(**big, static_cast<size_t>(8 * giga - 8)), giga - 1);
}

TEST(Sharing, ThreadsMayDeriveFromAndDropTheSameType) {
  TypeRef shared = make_vector(3, 1, 2, type(abi::kInt)).value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([shared] {
      for (int i = 0; i < 1000; ++i) {
        const TypeRef mine(shared);
        const TypeRef derived = make_contiguous(2, *mine).value();
        derived->commit();
        int values[16] = {}, packed[6];
        EXPECT_EQ(pack(values, *derived, 1, 0, packed, sizeof packed), sizeof packed);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared->size(), 12);
}

TEST(Errors, NameTheArgument) {
  EXPECT_EQ(make_contiguous(-1, type(abi::kInt)).error().code, Errc::kCount);
  EXPECT_EQ(make_vector(1, -1, 1, type(abi::kInt)).error().code, Errc::kArg);
  auto big = make_contiguous(INT64_MAX, type(abi::kInt));
  EXPECT_EQ(big.error().code, Errc::kCount);
  auto far = make_hvector(3, 1, INT64_MAX / 2, type(abi::kInt));
  EXPECT_EQ(far.error().code, Errc::kCount);
}

// Of the fuzzer (tests/fuzz/datatype.cpp): numbers whose products do not fit in 128 bits, or
// whose sums wrap around back to small ones.
TEST(Constructors, RefuseWhatIsFarOutOfRange) {
  constexpr Count kMost = INT64_MAX, kLeast = INT64_MIN;
  const auto large = Binding::kLarge;
  const Datatype& integer = type(abi::kInt);
  const auto refused = [](const Result<TypeRef>& made) {
    return !made.ok() && made.error().code == Errc::kCount;
  };
  EXPECT_TRUE(refused(make_vector(kMost, kMost, 1, integer, large)));
  EXPECT_TRUE(refused(make_vector(kMost, 1, kMost, integer, large)));
  EXPECT_TRUE(refused(make_vector(kMost, 1, kLeast, integer, large)));
  const std::vector<Count> lengths = {kMost, kMost}, places = {kLeast, kMost};
  EXPECT_TRUE(refused(make_indexed(lengths, places, integer, large)));
  const std::vector<const Datatype*> types = {&integer, &integer};
  EXPECT_TRUE(refused(make_struct(lengths, places, types, large)));
  const TypeRef wide = make_resized(integer, 0, kMost, large).value();
  EXPECT_TRUE(refused(make_vector(kMost, 1, kMost, *wide, large)));
  // 16 * 2^62 * 2^62 is 0 in 128 bits.
  constexpr Count kHuge = Count{1} << 62;
  const TypeRef huge = make_resized(integer, 0, kHuge, large).value();
  EXPECT_TRUE(refused(make_vector(17, 1, kHuge, *huge, large)));
  const TypeRef back = make_resized(integer, 0, kLeast, large).value();
  EXPECT_TRUE(refused(make_vector(kMost, kMost, kMost, *back, large)));
  const std::vector<Count> ones = {1, 1}, apart = {kLeast, kMost - 8};
  EXPECT_TRUE(refused(make_hindexed(ones, apart, integer, large)));
  const std::vector<Count> sizes = {kMost}, parts = {1}, starts = {kMost - 1};
  const TypeRef behind = make_hindexed(parts, starts, type(abi::kByte), large).value();
  const TypeRef narrow = make_resized(*behind, 0, 1, large).value();
  EXPECT_TRUE(
      refused(make_subarray(sizes, parts, starts, abi::kOrderC, *narrow, large)));
  // Elements that overlap: there is room for all of them, but not for the number of their bytes.
  const TypeRef column = make_vector(3, 1, 2, integer, large).value();
  const TypeRef dense = make_resized(*column, 0, 1, large).value();
  const std::vector<Count> most = {kMost / 4}, first = {0};
  EXPECT_TRUE(refused(make_subarray(most, most, first, abi::kOrderC, *dense, large)));
}

TEST(Constructors, TakeNoneOfBlocksOfAnyLength) {
  const auto none = make_vector(0, INT64_MAX, 3, type(abi::kInt), Binding::kLarge);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ((*none)->size(), 0);
}

// The block that would come after the first run lies beyond the address space.
TEST(Constructors, TakeRunsThatEndNearTheEndOfTheAddressSpace) {
  constexpr Count kStep = Count{1} << 56, kFar = Count{1} << 62;
  const TypeRef run =
      make_hvector(64, 1, kStep, type(abi::kByte), Binding::kLarge).value();
  const std::vector<Count> ones = {1, 1}, places = {kFar, 1};
  const auto both = make_hindexed(ones, places, *run, Binding::kLarge);
  ASSERT_TRUE(both.ok());
  EXPECT_EQ((*both)->size(), 128);
}

// Two moves that cancel each other almost, and a third: only where the data lie in the end matters.
TEST(Constructors, TakePartsThatAreMovedFarAndBack) {
  constexpr Count kMost = INT64_MAX, kAway = kMost - 1000;
  std::vector<Count> lengths, places;
  for (Count i = 0; i < 20; ++i) {
    lengths.push_back(1 + i % 2);
    places.push_back(kAway + 16 * i);
  }
  const TypeRef high =
      make_hindexed(lengths, places, type(abi::kInt), Binding::kLarge).value();
  const std::vector<Count> one = {1}, down = {-kMost}, further = {-kAway};
  const TypeRef low = make_hindexed(one, down, *high, Binding::kLarge).value();
  EXPECT_EQ(low->true_lb(), kAway - kMost);
  const TypeRef lowest = make_hindexed(one, further, *low, Binding::kLarge).value();
  EXPECT_EQ(lowest->true_lb(), -kMost);
  EXPECT_EQ(lowest->size(), 120);
  const std::vector<Count> back = {kMost};
  const TypeRef home = make_hindexed(one, back, *lowest, Binding::kLarge).value();
  std::vector<int> from(80, 0), to(30, 0);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int>(i);
  EXPECT_EQ(pack(from.data(), *home, 1, 0, to.data(), 120), 120U);
  EXPECT_EQ(to[0], 0);
  EXPECT_EQ(to[2], 5);
  EXPECT_EQ(to[29], 77);
}

// A block for each process is longer than any array; the first one has all of it.
TEST(Constructors, DealOutAnArrayOfAnyLength) {
  const std::vector<Count> sizes = {INT64_MAX};
  const std::vector<int> block = {abi::kDistributeBlock},
                         dflt = {abi::kDistributeDfltDarg}, two = {2};
  const auto half = make_darray(2, 0, sizes, block, dflt, two, abi::kOrderC,
                                type(abi::kByte), Binding::kLarge);
  ASSERT_TRUE(half.ok()) << half.error().message;
  EXPECT_EQ((*half)->size(), INT64_MAX / 2 + 1);
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

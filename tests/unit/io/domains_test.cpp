// Who accesses which part of the file: all of it, once, in windows; and whether anybody does so for others.

#include "runtime/io/domains.h"

#include <gtest/gtest.h>

#include "runtime/io/shipment.h"
#include "tests/unit/io/fixture.h"

namespace mpc::io {
namespace {

Extent extent(Count first, Count last, Count bytes, Count pieces) {
  Extent out;
  out.first = first;
  out.last = last;
  out.bytes = bytes;
  out.pieces = pieces;
  out.window_bytes = Count{1} << 20;
  return out;
}

TEST(Domains, CoverTheFileOnceWhateverTheHints) {
  for (const int processes : {2, 3, 7})
    for (const Count window : {4096, 5000, 1 << 20})
      for (const Count aggregators : {0, 1, 2, 100})
        for (const Count span : {1, 4096, 70000, 5000000}) {
          std::vector<Extent> all(static_cast<size_t>(processes),
                                  extent(777, 777 + span, span, span));
          all[0].window_bytes = window;
          all[0].aggregators = aggregators;
          const Domains domains = divide(all);
          ASSERT_TRUE(domains.is_exchanged());
          if (aggregators > 0) {
            EXPECT_LE(static_cast<Count>(domains.aggregators.size()), aggregators);
          }
          EXPECT_LT(domains.aggregators.back(), processes);
          Count at = domains.begin;
          for (size_t i = 0; i < domains.aggregators.size(); ++i)
            for (Count round = 0; round < domains.windows_each; ++round) {
              const auto [begin, end] = domains.window_of(i, round);
              if (begin == end) continue;
              EXPECT_EQ(begin, at);
              EXPECT_LE(end - begin, window);
              at = end;
            }
          EXPECT_LE(domains.begin, 777);
          EXPECT_EQ(at, 777 + span);
        }
}

TEST(Domains, AreForPiecesThatInterleaveFinely) {
  const Extent first = extent(0, 1000, 500, 50), second = extent(10, 1010, 500, 50);
  EXPECT_TRUE(divide(std::vector{first, second}).is_exchanged());
  EXPECT_FALSE(divide(std::vector{first, extent(1000, 2000, 500, 50)}).is_exchanged());
  EXPECT_FALSE(divide(std::vector{first, Extent{}}).is_exchanged());
  EXPECT_FALSE(
      divide(std::vector{extent(0, 900000, 900000, 9), extent(100, 900100, 900000, 9)})
          .is_exchanged());
  EXPECT_FALSE(  // sparse
      divide(std::vector{extent(0, 90000, 90, 9), extent(100, 90100, 90, 9)})
          .is_exchanged());
}

TEST(Domains, FollowTheHintsOfTheFirstProcess) {
  std::vector<Extent> apart{extent(0, 1000, 500, 50), extent(1000, 2000, 500, 50)};
  apart[0].hint = Switch::kEnable;
  EXPECT_TRUE(divide(apart).is_exchanged());
  apart[1].is_ordered = false;
  EXPECT_FALSE(divide(apart).is_exchanged());
  std::vector<Extent> mixed{extent(0, 1000, 500, 50), extent(10, 1010, 500, 50)};
  mixed[0].hint = Switch::kDisable;
  EXPECT_FALSE(divide(mixed).is_exchanged());
}

using ShipmentTest = FileTest;

TEST_F(ShipmentTest, DescribesRegularPiecesBriefly) {
  const View view(5, 1, comb(4, 12));
  std::string data = letters(4 * 1000);
  const std::vector<Part> parts{Part(view, 0, bytes_of(data))};
  const Shipment all = describe(parts, 0, 1 << 20);
  EXPECT_EQ(all.bytes, 4000);
  ASSERT_EQ(all.groups.size(), 1u);
  EXPECT_EQ(all.groups[0].offset, 5);
  EXPECT_EQ(all.groups[0].stride, 12);
  EXPECT_EQ(all.groups[0].count, 1000);
}

TEST_F(ShipmentTest, WritesWhatOthersHaveSentAndReadsItBack) {
  set_contents(std::string(3000, '.'));
  const View even(0, 1, comb(3, 10)), odd(0, 1, comb(4, 10, 3));
  std::string a = letters(300), b(400, 'B');
  const std::vector<Part> of_a{Part(even, 0, bytes_of(a))},
      of_b{Part(odd, 0, bytes_of(b))};
  for (const Count begin : {0, 500}) {
    std::vector<Shipment> all;
    for (const auto& parts : {of_a, of_b}) {
      all.push_back(describe(parts, begin, begin + 500));
      ASSERT_TRUE(all.back().make_room(all.back().bytes));
      load(parts, begin, begin + 500, all.back());
    }
    EXPECT_EQ(write_shipments(target(), all).error, 0);
  }
  const std::string file = contents();
  for (size_t i = 0; i < 1000; ++i) {
    const size_t in = i % 10;
    const char want = in < 3 ? a[i / 10 * 3 + in] : in < 7 ? 'B' : '.';
    ASSERT_EQ(file[i], want) << i;
  }
  std::string back(300, '?');
  const std::vector<Part> reader{Part(even, 0, bytes_of(back))};
  std::vector<Shipment> all;
  all.push_back(describe(reader, 0, 1000));
  ASSERT_TRUE(all.back().make_room(all.back().bytes));
  EXPECT_EQ(read_shipments(target(), all).error, 0);
  unload(reader, 0, 1000, all.back(), kNotStopped);
  EXPECT_EQ(back, a);
}

TEST_F(ShipmentTest, ReadingStopsWhereTheFileEnds) {
  set_contents(letters(55));
  const View view(0, 1, comb(3, 10));
  std::string back(300, '?');
  const std::vector<Part> reader{Part(view, 0, bytes_of(back))};
  std::vector<Shipment> all;
  all.push_back(describe(reader, 0, 1000));
  ASSERT_TRUE(all.back().make_room(all.back().bytes));
  const WindowOutcome outcome = read_shipments(target(), all);
  EXPECT_EQ(outcome.error, 0);
  EXPECT_EQ(outcome.stopped_at, 55);
  unload(reader, 0, 1000, all.back(), outcome.stopped_at);
  EXPECT_EQ(back.substr(0, 18), "abcklmuvwefgopqyza");
  EXPECT_EQ(back[18], '?');
}

}  // namespace
}  // namespace mpc::io

// Views: places in the file, the way back, what lies together.

#include "tests/unit/io/fixture.h"

namespace mpc::io {
namespace {

// Byte by byte, from the filetype's own pack.
std::vector<Count> places_of(const View& view, Count n) {
  std::vector<Count> places;
  FileRuns runs(view, 0, n);
  for (FileRuns::Run run; runs.next(&run);)
    for (Count i = 0; i < run.bytes; ++i) places.push_back(run.offset + i);
  return places;
}

void expect_both_ways(const View& view, Count n) {
  ASSERT_TRUE(view.is_ordered());
  const std::vector<Count> places = places_of(view, n);
  ASSERT_EQ(places.size(), static_cast<size_t>(n));
  Count next = 0;
  for (Count at = 0; at <= places.back() + 1; ++at) {
    EXPECT_EQ(view.stream_before(at), next) << "before " << at;
    if (next < n && places[static_cast<size_t>(next)] == at) {
      EXPECT_EQ(view.offset_of(next), at);
      ++next;
      EXPECT_EQ(view.end_of(next), at + 1);
    }
  }
}

TEST(View, FindsPlacesAndBytesOfACombInBothDirections) {
  expect_both_ways(View(7, 1, comb(3, 8, 2)), 20);
}

TEST(View, FindsPlacesOfAVectorOfVectors) {
  auto inner = dt::make_hvector(3, 2, 5, byte_type());
  auto outer = dt::make_hvector(4, 1, 30, **inner);
  expect_both_ways(View(1, 1, *dt::make_resized(**outer, 0, 140)), 50);
}

TEST(View, FindsPlacesOfBlocksOfDifferentLengths) {
  const std::vector<Count> lengths{1, 4, 2, 3}, places{2, 5, 20, 31};
  auto blocks = dt::make_hindexed(lengths, places, byte_type());
  expect_both_ways(View(0, 1, *dt::make_resized(**blocks, 0, 40)), 35);
}

TEST(View, FindsPlacesOfAListOfUnlikeParts) {
  auto vector = dt::make_hvector(3, 1, 4, byte_type());
  auto wide = dt::make_hvector(2, 3, 10, byte_type());
  const std::vector<Count> lengths{1, 1, 2}, places{3, 20, 50};
  const std::vector<const dt::Datatype*> types{vector->get(), wide->get(),
                                               &byte_type()};
  auto all = dt::make_struct(lengths, places, types);
  expect_both_ways(View(5, 1, *dt::make_resized(**all, 0, 60)), 40);
}

TEST(View, FindsPlacesOfASubarray) {
  const std::vector<Count> sizes{6, 8}, subsizes{3, 2}, starts{2, 5};
  auto part = dt::make_subarray(sizes, subsizes, starts, dt::abi::kOrderC, byte_type());
  expect_both_ways(View(0, 1, *part), 15);
}

TEST(View, TellsWhatDoesNotOnlyGoUp) {
  const std::vector<Count> lengths{2, 2}, back{4, 0}, overlap{0, 1};
  EXPECT_FALSE(View(0, 1, *dt::make_hindexed(lengths, back, byte_type())).is_ordered());
  EXPECT_FALSE(
      View(0, 1, *dt::make_hindexed(lengths, overlap, byte_type())).is_ordered());
}

TEST(View, TellsTilesThatOverlapFromATileThatGoesBack) {
  const std::vector<Count> lengths{4, 2}, up{0, 6}, back{4, 0};
  const View longer_than_its_extent(
      0, 1, *dt::make_resized(**dt::make_hindexed(lengths, up, byte_type()), 0, 3));
  EXPECT_FALSE(longer_than_its_extent.is_ordered());
  EXPECT_TRUE(longer_than_its_extent.has_ordered_tiles());
  EXPECT_EQ(longer_than_its_extent.offset_of(5), 7);
  EXPECT_EQ(longer_than_its_extent.offset_of(6), 3);
  EXPECT_FALSE(
      View(0, 1, *dt::make_hindexed(lengths, back, byte_type())).has_ordered_tiles());
}

TEST(FileRuns, JoinsWhatTouchesAcrossTiles) {
  const std::vector<Count> lengths{2, 2}, places{0, 6};
  const View view(0, 1, *dt::make_hindexed(lengths, places, byte_type()));
  FileRuns runs(view, 1, 8);
  FileRuns::Run run;
  ASSERT_TRUE(runs.next(&run));
  EXPECT_EQ(run.offset, 1);
  EXPECT_EQ(run.bytes, 1);
  ASSERT_TRUE(runs.next(&run));
  EXPECT_EQ(run.offset, 6);
  EXPECT_EQ(run.bytes, 4);  // the end of one tile and the start of the next
  ASSERT_TRUE(runs.next(&run));
  EXPECT_EQ(run.bytes, 2);
  EXPECT_FALSE(runs.next(&run));
}

TEST(View, OfNoDataIsEmpty) {
  const View view(10, 1, *dt::make_contiguous(0, byte_type()));
  EXPECT_TRUE(view.is_empty());
  EXPECT_EQ(view.stream_before(100), 90);
}

}  // namespace
}  // namespace mpc::io

// Many parts at once: each byte where it belongs, nothing else touched, whatever the windows are.

#include <algorithm>
#include <thread>

#include "runtime/io/collective.h"
#include "tests/unit/io/fixture.h"

namespace mpc::io {
namespace {

// Parts that interleave: part p has block p of `parts` blocks, and a gap after all of them.
struct Interleaved {
  Interleaved(int parts, Count block, Count gap, Count blocks) {
    const Count stride = parts * block + gap;
    for (int p = 0; p < parts; ++p) {
      views.push_back(std::make_unique<View>(3, 1, comb(block, stride, p * block)));
      data.push_back(std::string(static_cast<size_t>(block * blocks),
                                 static_cast<char>('A' + p % 26)));
    }
  }
  std::vector<Part> make_parts() {
    std::vector<Part> parts;
    for (size_t p = 0; p < views.size(); ++p)
      parts.emplace_back(*views[p], 0, bytes_of(data[p]));
    return parts;
  }
  void put_into(std::string& image) const {
    for (size_t p = 0; p < views.size(); ++p)
      for (size_t i = 0; i < data[p].size(); ++i) {
        const auto at = static_cast<size_t>(views[p]->offset_of(static_cast<Count>(i)));
        if (at >= image.size()) image.resize(at + 1, '\0');
        image[at] = data[p][i];
      }
  }
  std::vector<std::unique_ptr<View>> views;
  std::vector<std::string> data;
};

void work_with_threads(Collective& access, int threads) {
  std::vector<std::thread> workers;
  std::atomic<int> ends{0};
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&] { ends += access.work() ? 1 : 0; });
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(ends, 1);  // exactly one is told that all is done
}

using CollectiveTest = FileTest;

TEST_F(CollectiveTest, WritesInterleavedPartsWithAndWithoutGaps) {
  for (const Count gap : {0, 5})
    for (const bool may_rewrite : {true, false}) {
      std::string image(40000, '.');
      set_contents(image);
      Interleaved all(7, 9, gap, 300);
      Target to = target();
      to.tuning.collective_window_bytes = 4096;
      to.may_rewrite = may_rewrite;
      Collective access(to, all.make_parts(), true);
      ASSERT_TRUE(access.has_windows());
      work_with_threads(access, 3);
      all.put_into(image);
      EXPECT_EQ(contents(), image) << "gap " << gap << ", rewrite " << may_rewrite;
      for (size_t p = 0; p < 7; ++p) EXPECT_EQ(access.outcome(p).bytes, 2700);
    }
}

TEST_F(CollectiveTest, KeepsGapsWhereOverlapsHideThemFromTheSum) {
  std::string image(100, '.');
  set_contents(image);
  // Two parts of 10 bytes on the same place, in a window of 20: as many bytes as the span.
  std::string one(10, 'x'), two(10, 'x'), last(10, 'y');
  const View at0(0, 1, dt::TypeRef(&byte_type())),
      at20(20, 1, dt::TypeRef(&byte_type()));
  Collective access(
      target(),
      {{at0, 0, bytes_of(one)}, {at0, 0, bytes_of(two)}, {at20, 0, bytes_of(last)}},
      true);
  ASSERT_TRUE(access.has_windows());
  EXPECT_TRUE(access.work());
  std::fill_n(image.begin(), 10, 'x');
  std::fill_n(image.begin() + 20, 10, 'y');
  EXPECT_EQ(contents(), image);
}

TEST_F(CollectiveTest, ReadsWhatWasWrittenAndStopsAtTheEnd) {
  Interleaved all(5, 8, 2, 100);
  std::string image;
  all.put_into(image);
  image.resize(image.size() - 30);  // the last blocks of parts 2 to 4 are not there
  set_contents(image);
  const std::vector<std::string> written = all.data;
  for (std::string& data : all.data) std::fill(data.begin(), data.end(), '?');
  Target from = target();
  from.tuning.collective_window_bytes = 4096;
  Collective access(from, all.make_parts(), false);
  ASSERT_TRUE(access.has_windows());
  work_with_threads(access, 2);
  for (size_t p = 0; p < 5; ++p) {
    const auto there = static_cast<size_t>(
        all.views[p]->stream_before(static_cast<Count>(image.size())));
    const size_t bytes = std::min<size_t>(there, 800);
    EXPECT_EQ(access.outcome(p).bytes, static_cast<Count>(bytes)) << p;
    EXPECT_EQ(all.data[p].substr(0, bytes), written[p].substr(0, bytes));
    EXPECT_EQ(all.data[p].substr(bytes), std::string(800 - bytes, '?'));
  }
}

TEST_F(CollectiveTest, LeavesLargeAndSparsePiecesToTheirOwners) {
  Interleaved large(2, 100'000, 0, 2), sparse(2, 10, 10'000, 20), apart(1, 10, 10, 20);
  EXPECT_FALSE(Collective(target(), large.make_parts(), true).has_windows());
  EXPECT_FALSE(Collective(target(), sparse.make_parts(), true).has_windows());
  EXPECT_FALSE(Collective(target(), apart.make_parts(), true).has_windows());
  Tuning always;
  always.collective_writes = Switch::kEnable;
  EXPECT_TRUE(Collective(target(always), sparse.make_parts(), true).has_windows());
  EXPECT_FALSE(Collective(target(always), {}, true).has_windows());
}

TEST(FullDevice, FailsAllWhoseDataAreLost) {
  std::shared_ptr<SharedFile> full;
  ASSERT_EQ(SharedFile::open("/dev/full", O_RDWR, 0, {0, true, true}, &full), 0);
  Interleaved all(4, 8, 0, 50);
  Collective access(full->target({}), all.make_parts(), true);
  ASSERT_TRUE(access.has_windows());
  EXPECT_TRUE(access.work());
  for (size_t p = 0; p < 4; ++p) {
    EXPECT_EQ(access.outcome(p).error, ENOSPC);
    EXPECT_EQ(access.outcome(p).bytes, 0);
  }
}

}  // namespace
}  // namespace mpc::io

// One rank's accesses: what is in the file afterwards, and what stays as it was.

#include <algorithm>

#include "tests/unit/io/fixture.h"

namespace mpc::io {
namespace {

using TransferTest = FileTest;

Tuning sieving(Switch choice, Count window = 4096) {
  Tuning tuning;
  tuning.sieve_reads = tuning.sieve_writes = choice;
  tuning.read_window_bytes = tuning.write_window_bytes = window;
  return tuning;
}

TEST_F(TransferTest, WritesACombAndKeepsWhatIsBetween) {
  for (const Switch choice : {Switch::kEnable, Switch::kDisable, Switch::kAutomatic}) {
    set_contents(std::string(60000, '.'));
    const View view(5, 1, comb(3, 7, 2));
    std::string data = letters(3 * 5000);
    const Outcome done = write(target(sieving(choice)), view, 4, bytes_of(data));
    EXPECT_EQ(done.error, 0);
    EXPECT_EQ(done.bytes, 15000);
    const std::string all = contents();
    ASSERT_EQ(all.size(), 60000u);
    std::string expected(60000, '.');
    for (Count i = 0; i < 15000; ++i)
      expected[static_cast<size_t>(view.offset_of(4 + i))] =
          data[static_cast<size_t>(i)];
    EXPECT_EQ(all, expected) << "choice " << static_cast<int>(choice);
  }
}

// Gaps that are moved, and gaps that are passed: by their length, without a hint.
TEST_F(TransferTest, GapsOfAnyLengthKeepWhatTheyHave) {
  for (const Count stride : {300, 4000, 5000, 8000, 9000, 20000}) {
    constexpr Count kPieces = 50, kBlock = 256;
    set_contents(std::string(static_cast<size_t>(stride * kPieces), '.'));
    const View view(0, 1, comb(kBlock, stride, 7));
    std::string data = letters(kPieces * kBlock);
    EXPECT_EQ(write(target(), view, 0, bytes_of(data)).bytes, kPieces * kBlock);
    const std::string all = contents();
    EXPECT_EQ(std::count(all.begin(), all.end(), '.'), (stride - kBlock) * kPieces);
    std::string back(data.size(), '?');
    EXPECT_EQ(read(target(), view, 0, bytes_of(back)).bytes, kPieces * kBlock);
    EXPECT_EQ(back, data) << "every " << stride;
  }
}

TEST_F(TransferTest, MakesZerosBetweenPiecesBehindTheEnd) {
  std::string data = letters(20);
  write(target(sieving(Switch::kEnable)), View(3, 1, comb(1, 4)), 0, bytes_of(data));
  const std::string all = contents();
  ASSERT_EQ(all.size(), 3u + 19 * 4 + 1);
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i], i >= 3 && (i - 3) % 4 == 0 ? data[(i - 3) / 4] : '\0');
}

TEST_F(TransferTest, ReadsUpToTheEndOfTheFileAndSaysSo) {
  set_contents(letters(1000));
  for (const Switch choice : {Switch::kEnable, Switch::kDisable}) {
    const View view(0, 1, comb(2, 10, 4));
    std::string data(300, '?');
    const Outcome done = read(target(sieving(choice, 256)), view, 10, bytes_of(data));
    EXPECT_EQ(done.error, 0);
    EXPECT_EQ(done.bytes, 190);
    for (Count i = 0; i < 190; ++i)
      EXPECT_EQ(data[static_cast<size_t>(i)],
                letters(1000)[static_cast<size_t>(view.offset_of(10 + i))]);
    EXPECT_EQ(data[190], '?');
  }
}

TEST_F(TransferTest, MovesMemoryWithGapsLargerThanItsBuffer) {
  const auto type = dt::make_hvector(1000, 700, 1000, byte_type());
  std::string memory = letters(2'000'000);
  const Buffer from{memory.data(), type->get(), 2};
  const View view(11, 1, dt::TypeRef(&byte_type()));
  EXPECT_EQ(write(target(), view, 0, from).bytes, 1'400'000);
  std::string back(2'000'000, '?');
  EXPECT_EQ(read(target(), view, 0, {back.data(), type->get(), 2}).bytes, 1'400'000);
  for (size_t i = 0; i < back.size(); ++i) {
    const size_t in_type = i % 999'700;  // its extent
    if (i >= 1'999'400) break;
    ASSERT_EQ(back[i], in_type % 1000 < 700 ? memory[i] : '?') << i;
  }
}

TEST_F(TransferTest, OfADirectoryIsRefused) {
  std::shared_ptr<SharedFile> none;
  EXPECT_EQ(SharedFile::open("/tmp", O_RDONLY, 0, {0, true, true}, &none), EISDIR);
  EXPECT_EQ(SharedFile::open("/no/such/place", O_RDWR | O_CREAT, 0600, {0, true, true},
                             &none),
            ENOENT);
}

TEST(FullDevice, SaysHowMuchIsLost) {
  std::shared_ptr<SharedFile> full;
  ASSERT_EQ(SharedFile::open("/dev/full", O_RDWR, 0, {0, true, true}, &full), 0);
  std::string data = letters(100);
  const Outcome done =
      write(full->target({}), View(0, 1, dt::TypeRef(&byte_type())), 0, bytes_of(data));
  EXPECT_EQ(done.error, ENOSPC);
  EXPECT_EQ(done.bytes, 0);
}

}  // namespace
}  // namespace mpc::io

// Accesses through a ring: a kernel that does what a test wants, and the real one where it may be used.

#include <poll.h>
#include <sys/mman.h>

#include <cerrno>
#include <functional>
#include <optional>

#include "base/settings.h"
#include "runtime/io/ring_transfers.h"
#include "tests/unit/io/fixture.h"

namespace mpc::io {
namespace {

constexpr Count kMiB = Count{1} << 20;

struct CountedDemand final : sched::Demand {
  void raise(uint32_t things, sched::Urgency) noexcept override {
    present += static_cast<int>(things);
  }
  void call_now() noexcept override {}
  bool come_by(uint64_t, bool) noexcept override { return false; }
  void hasten(uint32_t) noexcept override {}
  void lower(uint32_t things, sched::Urgency) noexcept override {
    present -= static_cast<int>(things);
  }
  int present = 0;
};

// A kernel that waits until it is told to work.
class FakeRing final : public Ring {
 public:
  int descriptor() const noexcept override { return -1; }
  bool has_news() const noexcept override { return !ends_.empty(); }
  void push(const Piece& piece) noexcept override { pushed_.push_back(piece); }
  int submit() noexcept override {
    if (refuses) return EBUSY;
    taken.insert(taken.end(), pushed_.begin(), pushed_.end());
    pushed_.clear();
    most_taken = std::max(most_taken, taken.size());
    return 0;
  }
  int reap(std::span<End> ends) noexcept override {
    const size_t count = std::min(ends.size(), ends_.size());
    std::copy_n(ends_.begin(), count, ends.begin());
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<long>(count));
    return static_cast<int>(count);
  }

  // Does the piece, or at most so many bytes of it; returns what the kernel would.
  static int do_it(const Piece& piece, Count most = Count{1} << 30) {
    const auto bytes = static_cast<size_t>(std::min(piece.bytes, most));
    const ssize_t n = piece.is_write
                          ? ::pwrite(piece.fd, piece.data, bytes, piece.offset)
                          : ::pread(piece.fd, piece.data, bytes, piece.offset);
    return n < 0 ? -errno : static_cast<int>(n);
  }
  // All that has been taken, the last first.
  void work(const std::function<int(const Piece&)>& how) {
    std::vector<Piece> now;
    now.swap(taken);
    for (auto piece = now.rbegin(); piece != now.rend(); ++piece)
      ends_.push_back({piece->tag, how(*piece)});
  }

  std::vector<Piece> taken;
  size_t most_taken = 0;
  bool refuses = false;

 private:
  std::vector<Piece> pushed_;
  std::vector<End> ends_;
};

class RingTest : public FileTest {
 protected:
  RingTest() {
    auto made = std::make_unique<FakeRing>();
    kernel_ = made.get();
    transfers_.emplace(std::move(made), demand_);
  }
  bool start(std::string& text, bool is_write, const View& view, Count begin = 0) {
    const Buffer buffer = bytes_of(text);
    return transfers_->start(
        target(), view, begin, buffer, is_write,
        [this](const Outcome& outcome) { ended_.push_back(outcome); });
  }
  // Until nothing is left.
  void run(const std::function<int(const Ring::Piece&)>& how) {
    for (int rounds = 0; rounds < 10000 && !kernel_->taken.empty(); ++rounds) {
      kernel_->work(how);
      EXPECT_FALSE(transfers_->arm());
      EXPECT_TRUE(transfers_->poll());
    }
    EXPECT_TRUE(transfers_->arm());
    EXPECT_FALSE(transfers_->poll());
  }
  void run() {
    run([](const Ring::Piece& piece) { return FakeRing::do_it(piece); });
  }
  void expect_one(Count bytes, int error) {
    ASSERT_EQ(ended_.size(), 1U);
    EXPECT_EQ(ended_[0].bytes, bytes);
    EXPECT_EQ(ended_[0].error, error);
    EXPECT_EQ(demand_.present, 0);
  }

  const View whole_{0, 1, dt::TypeRef(&byte_type())};
  CountedDemand demand_;
  FakeRing* kernel_;
  std::optional<RingTransfers> transfers_;
  std::vector<Outcome> ended_;
};

TEST_F(RingTest, WritesALongPieceInPartsThatEndInAnyOrder) {
  std::string text = letters(static_cast<size_t>(21 * kMiB + 5));
  ASSERT_TRUE(start(text, true, whole_));
  EXPECT_EQ(demand_.present, 1);
  EXPECT_TRUE(ended_.empty());
  EXPECT_GT(kernel_->taken.size(), 1U);
  run();
  expect_one(21 * kMiB + 5, 0);
  EXPECT_TRUE(contents() == text);
}

TEST_F(RingTest, GoesOnAfterShortTransfersAndWhatWasInterruptedOrCancelled) {
  std::string text = letters(static_cast<size_t>(9 * kMiB)), back(text.size(), '?');
  int calls = 0;
  const auto unwilling = [&](const Ring::Piece& piece) {
    const int errors[] = {EINTR, ECANCELED, EAGAIN};
    return ++calls % 4 != 0 ? -errors[calls % 4 - 1] : FakeRing::do_it(piece, 1000003);
  };
  ASSERT_TRUE(start(text, true, whole_));
  run(unwilling);
  expect_one(9 * kMiB, 0);
  ended_.clear();
  ASSERT_TRUE(start(back, false, whole_));
  run(unwilling);
  expect_one(9 * kMiB, 0);
  EXPECT_TRUE(back == text);
}

TEST_F(RingTest, GivesUpWhatIsCancelledForEver) {
  std::string text = letters(100);
  ASSERT_TRUE(start(text, true, whole_));
  run([](const Ring::Piece&) { return -ECANCELED; });
  expect_one(0, ECANCELED);
}

TEST_F(RingTest, CountsWhatIsInTheFileForCertainWhenTheDeviceIsFull) {
  std::string text = letters(static_cast<size_t>(20 * kMiB));
  const Count full = 5 * kMiB + 77;  // within the second part
  ASSERT_TRUE(start(text, true, whole_));
  run([&](const Ring::Piece& piece) {
    if (piece.offset >= 12 * kMiB) return FakeRing::do_it(piece);  // was quicker
    return piece.offset >= full ? -ENOSPC : FakeRing::do_it(piece, full - piece.offset);
  });
  expect_one(full, ENOSPC);
  EXPECT_TRUE(contents().substr(0, static_cast<size_t>(full)) ==
              text.substr(0, static_cast<size_t>(full)));
}

TEST_F(RingTest, AWriteOfNothingIsAFullDevice) {
  std::string text = letters(100);
  ASSERT_TRUE(start(text, true, whole_));
  run([](const Ring::Piece&) { return 0; });
  expect_one(0, ENOSPC);
}

TEST_F(RingTest, AReadEndsWhereTheFileEnds) {
  const std::string all = letters(static_cast<size_t>(6 * kMiB + 3));
  set_contents(all);
  std::string back(static_cast<size_t>(30 * kMiB), '?');
  ASSERT_TRUE(start(back, false, whole_, kMiB));
  run();
  expect_one(5 * kMiB + 3, 0);
  EXPECT_TRUE(back.substr(0, static_cast<size_t>(5 * kMiB + 3)) ==
              all.substr(static_cast<size_t>(kMiB)));
}

TEST_F(RingTest, AnErrorBehindTheEndOfTheFileIsNone) {
  set_contents(letters(100));
  std::string back(static_cast<size_t>(8 * kMiB), '?');
  ASSERT_TRUE(start(back, false, whole_));
  run([](const Ring::Piece& piece) {
    return piece.offset > 100 ? -EIO : FakeRing::do_it(piece);
  });
  expect_one(100, 0);
}

TEST_F(RingTest, PassesTheGapsOfAView) {
  constexpr Count kRun = 40000, kStride = 100000;
  set_contents(std::string(static_cast<size_t>(50 * kStride), '.'));
  std::string text = letters(static_cast<size_t>(49 * kRun - 7));
  const View view(1000, 1, comb(kRun, kStride));
  ASSERT_TRUE(RingTransfers::suits(target(), view, bytes_of(text), true));
  ASSERT_TRUE(start(text, true, view, 7));
  run();
  expect_one(49 * kRun - 7, 0);
  const std::string all = contents();
  for (size_t i = 0; i < all.size(); ++i) {
    const Count at = static_cast<Count>(i) - 1000;
    const Count byte = at / kStride * kRun + at % kStride - 7;
    const bool is_ours = at >= 7 && at % kStride < kRun && byte < 49 * kRun - 7;
    ASSERT_EQ(all[i], is_ours ? text[static_cast<size_t>(byte)] : '.') << i;
  }
}

TEST_F(RingTest, AccessesTakeTurnsWhereTheRingIsFull) {
  std::string text = letters(static_cast<size_t>(32 * kMiB));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(start(text, false, whole_));
  EXPECT_EQ(demand_.present, 100);
  run([](const Ring::Piece& piece) { return static_cast<int>(piece.bytes); });
  EXPECT_EQ(kernel_->most_taken, static_cast<size_t>(RingTransfers::kMostPieces));
  ASSERT_EQ(ended_.size(), 100U);
  for (const Outcome& outcome : ended_) EXPECT_EQ(outcome.bytes, 32 * kMiB);
  EXPECT_EQ(demand_.present, 0);
}

TEST_F(RingTest, GivesTheKernelLaterWhatItDoesNotTakeAtOnce) {
  std::string text = letters(1000);
  kernel_->refuses = true;
  ASSERT_TRUE(start(text, true, whole_));
  EXPECT_TRUE(kernel_->taken.empty());
  EXPECT_FALSE(transfers_->poll());
  kernel_->refuses = false;
  EXPECT_FALSE(transfers_->poll());
  run();
  expect_one(1000, 0);
}

TEST_F(RingTest, HoldsTheLockOfTheFileWhileItWrites) {
  std::string text = letters(1000);
  {
    const FileLocked other(&file_->lock(), false);
    EXPECT_FALSE(start(text, true, whole_));
    EXPECT_TRUE(start(text, false, whole_));
  }
  run();
  ended_.clear();
  ASSERT_TRUE(start(text, true, whole_));
  EXPECT_FALSE(file_->lock().try_lock(false));
  EXPECT_TRUE(file_->lock().try_lock(true));
  file_->lock().unlock();
  run();
  EXPECT_TRUE(file_->lock().try_lock(false));
  file_->lock().unlock();
}

TEST_F(RingTest, TakesOnlyWhatItIsGoodFor) {
  std::string text = letters(1000), none;
  EXPECT_TRUE(RingTransfers::suits(target(), whole_, bytes_of(text), true));
  EXPECT_FALSE(RingTransfers::suits(target(), whole_, bytes_of(none), true));
  const View small(0, 1, comb(100, 300));
  EXPECT_FALSE(RingTransfers::suits(target(), small, bytes_of(text), true));
  const View large(0, 1, comb(100000, 300000));
  EXPECT_TRUE(RingTransfers::suits(target(), large, bytes_of(text), false));
  Tuning sieves;
  sieves.sieve_reads = Switch::kEnable;
  EXPECT_FALSE(RingTransfers::suits(target(sieves), large, bytes_of(text), false));
  const auto gaps = comb(1, 2);
  EXPECT_FALSE(
      RingTransfers::suits(target(), whole_, {text.data(), gaps.get(), 500}, true));
  std::shared_ptr<SharedFile> device;
  ASSERT_EQ(SharedFile::open("/dev/zero", O_RDWR, 0600, {0, true, true}, &device), 0);
  EXPECT_FALSE(RingTransfers::suits(device->target({}), whole_, bytes_of(text), false));
}

// Whether the system's cache has this page of the file. Where /tmp is nothing but a cache it has all.
bool is_resident(int fd, off_t number) {
  constexpr off_t kPage = 4096;
  void* const page = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, fd, number * kPage);
  EXPECT_NE(page, MAP_FAILED);
  unsigned char state = 0;
  EXPECT_EQ(::mincore(page, kPage, &state), 0);
  ::munmap(page, kPage);
  return (state & 1) != 0;
}

TEST_F(RingTest, ReadsWhatTheSystemHasToFetch) {
  constexpr Count kBytes = 1 << 20;
  constexpr off_t kLastPage = kBytes / 4096 - 1;
  set_contents(letters(static_cast<size_t>(kBytes)));
  const int fd = file_->descriptor().number();
  ASSERT_EQ(file_->descriptor().sync(), 0);
  const auto is_preferred = [&](bool is_write) {
    return RingTransfers::is_preferred(target(), whole_, 0, kBytes, is_write);
  };
  EXPECT_FALSE(is_preferred(true));
  EXPECT_FALSE(is_preferred(false));
  ASSERT_EQ(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
  EXPECT_FALSE(is_preferred(true));
  EXPECT_EQ(is_preferred(false), !is_resident(fd, 0));
  // The beginning has been read, as when the system reads ahead of the access before.
  ASSERT_EQ(::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
  char byte;
  ASSERT_EQ(::pread(fd, &byte, 1, 0), 1);
  ASSERT_TRUE(is_resident(fd, 0));
  EXPECT_EQ(is_preferred(false), !is_resident(fd, kLastPage));
  for (const auto& [setting, expected] :
       {std::pair{"uring", true}, {"threads", false}}) {
    ASSERT_TRUE(Settings::assign(std::string("io.async=") + setting).ok());
    EXPECT_EQ(is_preferred(true), expected);
    EXPECT_EQ(is_preferred(false), expected);
  }
  ASSERT_TRUE(Settings::assign("io.async=auto").ok());
}

// The kernel's own.
TEST_F(RingTest, MovesFilesThroughTheKernelsRing) {
  auto ring = Ring::open(RingTransfers::kMostPieces);
  if (!ring) GTEST_SKIP() << ring.error().message;
  Ring* const real = ring->get();
  transfers_.emplace(std::move(*ring), demand_);
  std::string text = letters(static_cast<size_t>(70 * kMiB + 9));
  std::string back(text.size() + 100, '?');
  const auto wait = [&] {
    while (ended_.empty()) {
      pollfd news{real->descriptor(), POLLIN, 0};
      ASSERT_GT(::poll(&news, 1, 10000), 0);
      transfers_->poll();
    }
  };
  ASSERT_TRUE(start(text, true, whole_));
  wait();
  expect_one(70 * kMiB + 9, 0);
  ended_.clear();
  ASSERT_TRUE(start(back, false, whole_));
  wait();
  expect_one(70 * kMiB + 9, 0);
  EXPECT_TRUE(back.substr(0, text.size()) == text);
}

}  // namespace
}  // namespace mpc::io

// Long messages between processes of a host: who copies which part, and memory of other processes.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/transport/host/claims.h"
#include "runtime/transport/host/other_memory.h"
#include "tests/unit/transport/nets.h"

namespace mpc::transport::host {
namespace {

using test::message;

TEST(Chunks, CoverEachLengthOnce) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{kLeastChunkBytes},
                               uint64_t{kLeastChunkBytes} + 1, uint64_t{1} << 30,
                               (uint64_t{1} << 33) + 5, uint64_t{1} << 42}) {
    const Chunks chunks(bytes);
    ASSERT_LE(chunks.count, kMostChunks);
    uint64_t end = 0;
    for (uint64_t i = 0; i < chunks.count; ++i) {
      ASSERT_EQ(chunks.at(i), end);
      ASSERT_GT(chunks.length(i), 0U);
      end += chunks.length(i);
    }
    EXPECT_EQ(end, bytes);
  }
}

// One receiver, whose messages follow each other in one slot, and helpers that never know whether the message
// that they look at is still there. ThreadSanitizer follows this one.
struct Claims : testing::Test {
  static constexpr uint64_t kCount = 7;
  static constexpr uint64_t kBytes = (kCount - 1) * kLeastChunkBytes + 100;
  struct Message {
    int copies[kCount] = {};  // not atomic: each chunk belongs to who has claimed it
  };
};

TEST_F(Claims, GiveEachChunkOfEachMessageToOneThread) {
  constexpr int kMessages = 6000, kHelpers = 2;
  Slot slot{};
  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> wrong{0};
  std::vector<Message> messages(kMessages);
  std::vector<std::thread> helpers;
  for (int h = 0; h < kHelpers; ++h)
    helpers.emplace_back([&] {
      while (!is_over.load(std::memory_order_relaxed)) {
        Help help;
        uint64_t index = 0;
        if (!help_of(slot, &help) || !claim_back(slot, help, &index)) {
          std::this_thread::yield();
          continue;
        }
        wrong += help.target != help.number + 1 || help.bytes != kBytes ? 1 : 0;
        ++messages[help.number].copies[index];
        finish_back(slot, true);
      }
    });
  const Chunks chunks(kBytes);
  ASSERT_EQ(chunks.count, kCount);
  for (uint64_t i = 0; i < kMessages; ++i) {
    open(slot, i, i + 1, kBytes);
    uint64_t index = 0;
    // Every fifth is given up in the middle, as when its rank ends.
    for (int mine = 0; (i % 5 != 0 || mine < 2) && claim_front(slot, chunks, &index);
         ++mine) {
      ++messages[i].copies[index];
      if (i % 3 == 0) std::this_thread::yield();
    }
    const Claimed claimed = close(slot);
    while (slot.helped.load(std::memory_order_seq_cst) != claimed.back)
      std::this_thread::yield();
    uint64_t copied = 0;
    for (const int n : messages[i].copies) {
      EXPECT_LE(n, 1);
      copied += static_cast<uint64_t>(n);
    }
    EXPECT_EQ(copied, claimed.front + claimed.back);
    if (i % 5 != 0) {
      EXPECT_EQ(copied, kCount);
    }
  }
  is_over = true;
  for (std::thread& helper : helpers) helper.join();
  EXPECT_EQ(wrong, 0U);
  // A helper that comes late finds the slot closed.
  Help help;
  EXPECT_FALSE(help_of(slot, &help));
}

TEST_F(Claims, OfAMessageThatHasEndedFail) {
  Slot slot{};
  open(slot, 1, 2, kBytes);
  Help help;
  ASSERT_TRUE(help_of(slot, &help));
  close(slot);
  uint64_t index = 0;
  EXPECT_FALSE(claim_back(slot, help, &index));
  open(slot, 2, 3, kBytes);  // the word looks the same but for its generation
  EXPECT_FALSE(claim_back(slot, help, &index));
}

struct OtherMemoryTest : testing::Test {
  Mark mark = random_mark();
  OtherMemory own() const {
    return {::getpid(), reinterpret_cast<uint64_t>(&mark), mark};
  }
  static uint64_t place(const void* there) { return reinterpret_cast<uint64_t>(there); }
};

TEST_F(OtherMemoryTest, IsReadAndWritten) {
  const std::vector<char> data = message(300000, 1);
  std::vector<char> copy(data.size());
  ASSERT_TRUE(own().is_open());
  EXPECT_EQ(own().read(copy.data(), place(data.data()), data.size()), Access::kDone);
  EXPECT_EQ(copy, data);
  const std::vector<char> other = message(300000, 2);
  EXPECT_EQ(own().write(place(copy.data()), other.data(), other.size()), Access::kDone);
  EXPECT_EQ(copy, other);
}

TEST_F(OtherMemoryTest, OfAnotherProgramIsNotTouched) {
  char data[8] = "before", copy[8] = "nothing";
  Mark wrong = mark;
  ++wrong.words[0];
  const OtherMemory other(::getpid(), place(&mark), wrong);
  EXPECT_FALSE(other.is_open());
  EXPECT_EQ(other.read(copy, place(data), sizeof data), Access::kGone);
  EXPECT_EQ(other.write(place(data), copy, sizeof data), Access::kGone);
  EXPECT_STREQ(data, "before");
  EXPECT_FALSE(OtherMemory().is_open());
}

TEST_F(OtherMemoryTest, SaysWhetherTheProcessOrTheMemoryIsNotThere) {
  char* const page =
      static_cast<char*>(::mmap(nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(::munmap(page + kPageBytes, kPageBytes), 0);
  std::vector<char> copy(2 * kPageBytes);
  EXPECT_EQ(own().read(copy.data(), place(page), copy.size()), Access::kRefused);
  EXPECT_EQ(own().write(place(page), copy.data(), copy.size()), Access::kRefused);
  ::munmap(page, kPageBytes);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const OtherMemory other(child, place(&mark), mark);
  EXPECT_TRUE(other.is_open());
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(other.read(copy.data(), place(&mark), 8), Access::kGone);
}

}  // namespace
}  // namespace mpc::transport::host

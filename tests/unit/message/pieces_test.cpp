// Pieces of scattered layouts that pass packed between two cores: the choice, row by row, and the
// hand-over, also under ThreadSanitizer.
#include "runtime/message/pieces.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "runtime/message/copy_way.h"
#include "runtime/message/shared_copy.h"
#include "runtime/message/slots.h"

namespace mpc::msg {
namespace {

TEST(CopyWay, IsOneCopyUnlessTheOtherEndsLinesAreManyAndItHelps) {
  constexpr int64_t kBytes = 32 << 10;
  EXPECT_EQ(choose_way({false, false, true, kBytes}), CopyWay::kOneCopy);
  EXPECT_EQ(choose_way({true, false, true, kBytes}), CopyWay::kOneCopy);
  EXPECT_EQ(choose_way({false, true, false, kBytes}), CopyWay::kOneCopy);
  EXPECT_EQ(choose_way({true, true, false, kBytes}), CopyWay::kOneCopy);
  EXPECT_EQ(choose_way({true, true, true, kBytes}), CopyWay::kAtOtherEnd);
  EXPECT_EQ(choose_way({false, true, true, kBytes}), CopyWay::kPacked);
}

TEST(CopyWay, IsOneCopyBelowAndAboveItsLimits) {
  EXPECT_EQ(choose_way({false, true, true, kLeastInPieces - 1}), CopyWay::kOneCopy);
  EXPECT_EQ(choose_way({false, true, true, kLeastInPieces}), CopyWay::kPacked);
  EXPECT_EQ(choose_way({false, true, true, kMostInPieces}), CopyWay::kPacked);
  EXPECT_EQ(choose_way({false, true, true, kMostInPieces + 1}), CopyWay::kOneCopy);
}

constexpr size_t kWords = 40'000;  // ten times as long as all slots

// One number out of four, or all of them.
dt::TypeRef type_of(bool is_contiguous) {
  const dt::Datatype& number = *dt::predefined(dt::abi::kInt);
  return is_contiguous ? dt::make_contiguous(kWords, number).value()
                       : dt::make_vector(kWords, 1, 4, number).value();
}

struct Memory {
  explicit Memory(bool is_contiguous)
      : step(is_contiguous ? 1 : 4),
        type(type_of(is_contiguous)),
        words(kWords * step, -1) {}
  void fill(int seed) {
    for (size_t i = 0; i < kWords; ++i) words[i * step] = static_cast<int>(i) ^ seed;
  }
  void clear() { std::fill(words.begin(), words.end(), -1); }
  // The first `count` of them have come, nothing else.
  bool has(size_t count, int seed) const {
    for (size_t i = 0; i < words.size(); ++i) {
      const bool is_data = i % step == 0 && i / step < count;
      if (words[i] != (is_data ? static_cast<int>(i / step) ^ seed : -1)) return false;
    }
    return true;
  }
  Pieces::End end() { return {words.data(), type.get(), 1}; }

  const size_t step;
  const dt::TypeRef type;
  std::vector<int> words;
};

size_t length_of_round(int round) {
  constexpr size_t kSlot = Pieces::kMostPiece / 4, kShort = Pieces::kLeastPiece / 4;
  const size_t lengths[] = {1,          kSlot - 1,      kSlot,      kSlot + 1,
                            8 * kSlot,  8 * kSlot + 1,  9 * kSlot,  17 * kSlot,
                            kWords,     3 * kSlot + 7,  kShort - 1, kShort,
                            kShort + 1, 16 * kShort + 1};
  return lengths[static_cast<size_t>(round) % std::size(lengths)];
}

// `helper_packs`: the copier receives. `copier`: its type is contiguous.
void run_rounds(SharedCopy& theirs, SharedCopy& own, bool helper_packs, bool copier,
                int rounds, int patience) {
  Memory here(copier), there(false);
  for (int round = 0; round < rounds; ++round) {
    const size_t words = length_of_round(round);
    Memory& from = helper_packs ? there : here;
    Memory& to = helper_packs ? here : there;
    from.clear();
    from.fill(round);
    to.clear();
    const Slots slots;
    Pieces pieces(here.end(), there.end(), helper_packs, words * 4, slots.data());
    while (!pieces.run(theirs, own, patience)) std::this_thread::yield();
    ASSERT_TRUE(to.has(words, round)) << "round " << round << ", " << words;
  }
}

TEST(Pieces, AreMadeAloneIfNobodyHelps) {
  SharedCopy theirs, own;
  for (const bool packs : {false, true})
    for (const bool contiguous : {false, true})
      run_rounds(theirs, own, packs, contiguous, 10, 3);
  EXPECT_FALSE(theirs.help());
}

// Two copiers, one helper's mailbox, two threads that help; patience from none to a lot.
TEST(Pieces, AreMadeByCopiersAndHelpersAtTheSameTime) {
  for (const int patience : {0, 20, 100'000}) {
    SharedCopy theirs, own[2];
    std::atomic<int> copying{2};
    std::vector<std::thread> threads;
    for (int c = 0; c < 2; ++c)
      threads.emplace_back([&, c] {
        for (const bool contiguous : {false, true})
          run_rounds(theirs, own[c], c == 0, contiguous, 20, patience);
        copying.fetch_sub(1);
      });
    for (int h = 0; h < 2; ++h)
      threads.emplace_back([&] {
        while (copying.load() > 0)
          if (!theirs.help()) std::this_thread::yield();
      });
    for (auto& thread : threads) thread.join();
  }
}

// A halo exchange in step: both are copiers, and each is the other's helper while it waits.
TEST(Pieces, AreMadeByTwoCopiersForEachOther) {
  for (const bool packs : {false, true}) {
    SharedCopy mailboxes[2];
    std::atomic<int> copying{2};
    std::vector<std::thread> threads;
    for (int c = 0; c < 2; ++c)
      threads.emplace_back([&, c] {
        run_rounds(mailboxes[1 - c], mailboxes[c], packs, false, 40, 100'000);
        copying.fetch_sub(1);
        while (copying.load() > 0)
          if (!mailboxes[c].help()) std::this_thread::yield();
      });
    for (auto& thread : threads) thread.join();
  }
}

// Contiguous copies and pieces in turn, offered to the same rank.
TEST(Pieces, TakeTurnsWithContiguousCopies) {
  SharedCopy theirs, own;
  std::atomic<bool> is_over{false};
  std::thread helper([&] {
    while (!is_over.load())
      if (!theirs.help()) std::this_thread::yield();
  });
  std::vector<int> from(100'000, 7), to(100'000);
  for (int i = 0; i < 30; ++i) {
    run_rounds(theirs, own, i % 2 == 0, false, 2, 1000);
    std::fill(to.begin(), to.end(), 0);
    ASSERT_TRUE(theirs.offer(to.data(), from.data(), from.size() * 4));
    ASSERT_EQ(to, from);
  }
  is_over.store(true);
  helper.join();
}

}  // namespace
}  // namespace mpc::msg

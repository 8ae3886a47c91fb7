// When work comes regularly, and when it does not.
#include "scheduler/progress/rhythm.h"

#include <gtest/gtest.h>

#include <random>

namespace mpc::sched {
namespace {

constexpr uint64_t kUs = 1000, kStart = 1'000'000'000;

TEST(Rhythm, KnowsNothingAtFirst) {
  Rhythm rhythm;
  EXPECT_FALSE(rhythm.is_steady());
  EXPECT_EQ(rhythm.next(kStart).to, 0u);
  rhythm.note_burst(kStart);
  EXPECT_FALSE(rhythm.is_steady());
  EXPECT_EQ(rhythm.next(kStart + 1).to, 0u);
}

TEST(Rhythm, ARegularProgramIsExpectedAroundItsInterval) {
  Rhythm rhythm;
  uint64_t now = kStart;
  for (int i = 0; i < 6; ++i) rhythm.note_burst(now += 800 * kUs);
  ASSERT_TRUE(rhythm.is_steady());
  const Rhythm::Window window = rhythm.next(now + 10 * kUs);
  EXPECT_LT(window.from, now + 800 * kUs);
  EXPECT_GT(window.from, now + 700 * kUs);
  EXPECT_GT(window.to, now + 800 * kUs);
  EXPECT_LT(window.to, now + 900 * kUs);
  // Within it, it is still the next one; after it, there is none.
  EXPECT_EQ(rhythm.next(now + 800 * kUs).to, window.to);
  EXPECT_EQ(rhythm.next(window.to).to, 0u);
}

TEST(Rhythm, ALoopWithSeveralCollectivesHasSeveralIntervals) {
  Rhythm rhythm;
  uint64_t now = kStart;
  for (int i = 0; i < 8; ++i) {
    rhythm.note_burst(now += 300 * kUs);
    rhythm.note_burst(now += 2000 * kUs);
    rhythm.note_burst(now += 500 * kUs);
  }
  ASSERT_TRUE(rhythm.is_steady());
  Rhythm::Window window = rhythm.next(now);
  EXPECT_TRUE(window.from < now + 300 * kUs && window.to > now + 300 * kUs);
  window = rhythm.next(window.to);
  EXPECT_TRUE(window.from < now + 500 * kUs && window.to > now + 500 * kUs);
  window = rhythm.next(window.to);
  EXPECT_TRUE(window.from < now + 2000 * kUs && window.to > now + 2000 * kUs);
  EXPECT_EQ(rhythm.next(window.to).to, 0u);
}

TEST(Rhythm, NoiseBelowTheMarginDoesNotMatterAndWindowsMerge) {
  Rhythm rhythm;
  uint64_t now = kStart;
  for (int i = 0; i < 16; ++i)
    rhythm.note_burst(now += (980 + 40 * static_cast<uint64_t>(i % 2)) * kUs);
  ASSERT_TRUE(rhythm.is_steady());
  const Rhythm::Window window = rhythm.next(now);
  EXPECT_LT(window.from, now + 980 * kUs);
  EXPECT_GT(window.to, now + 1020 * kUs);
  EXPECT_EQ(rhythm.next(window.to).to, 0u);
}

TEST(Rhythm, TheMoreRegularItIsTheLaterOneNeedsToBeAwake) {
  const auto lead_after = [](uint64_t noise_us) {
    Rhythm rhythm;
    std::mt19937 random(5);
    uint64_t now = kStart;
    for (int i = 0; i < 200; ++i)
      rhythm.note_burst(now += 1000 * kUs + random() % (noise_us * kUs + 1));
    return now + 1000 * kUs - rhythm.next(now).from;
  };
  EXPECT_LT(lead_after(0), 3 * kUs);
  EXPECT_LT(lead_after(2), lead_after(200));
  EXPECT_LT(lead_after(200), 63 * kUs);
}

TEST(Rhythm, IrregularWorkIsNotExpected) {
  Rhythm rhythm;
  std::mt19937 random(3);
  uint64_t now = kStart;
  uint64_t interval = 150 * kUs;
  int steady = 0;
  for (int i = 0; i < 200; ++i) {
    // Each differs from the last 16 by more than a sixteenth.
    interval =
        interval > 9'000 * kUs ? 150 * kUs + random() % 1000 : interval * 115 / 100;
    rhythm.note_burst(now += interval);
    if (rhythm.is_steady()) ++steady;
  }
  EXPECT_EQ(steady, 0);
}

TEST(Rhythm, ALongPauseEndsItAndItIsSoonFoundAgain) {
  Rhythm rhythm;
  uint64_t now = kStart;
  for (int i = 0; i < 20; ++i) rhythm.note_burst(now += 500 * kUs);
  ASSERT_TRUE(rhythm.is_steady());
  rhythm.note_burst(now += Rhythm::kLongest + 1);
  EXPECT_FALSE(rhythm.is_steady());
  for (int i = 0; i < 3; ++i) rhythm.note_burst(now += 500 * kUs);
  EXPECT_TRUE(rhythm.is_steady());
}

TEST(Rhythm, AnOtherRhythmIsLearned) {
  Rhythm rhythm;
  uint64_t now = kStart;
  for (int i = 0; i < 20; ++i) rhythm.note_burst(now += 500 * kUs);
  for (int i = 0; i < 20; ++i) rhythm.note_burst(now += 1500 * kUs);
  ASSERT_TRUE(rhythm.is_steady());
  const Rhythm::Window window = rhythm.next(now);
  EXPECT_GT(window.from, now + 1300 * kUs);
}

TEST(Nap, GetsLongerAsNothingComes) {
  EXPECT_EQ(nap_length(kStart, kStart, 100 * kUs), 100 * kUs);
  EXPECT_EQ(nap_length(kStart + 800 * kUs, kStart, 50 * kUs), 100 * kUs);
}

// Its beginner has looked at the clock, and a rank offers work just then.
TEST(Nap, IsShortIfWorkComesAsItBegins) {
  EXPECT_EQ(nap_length(kStart, kStart + 1, 100 * kUs), 100 * kUs);
  EXPECT_EQ(nap_length(kStart, kStart + 50 * kUs, 0), 0u);
}

}  // namespace
}  // namespace mpc::sched

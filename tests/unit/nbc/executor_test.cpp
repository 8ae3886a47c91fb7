// The table that says who runs a node: one case for each row, and what must hold for all facts.
#include "nbc/engine/executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mpc::nbc {
namespace {

struct RowCase {
  const char* name;
  size_t row;
  Executor executor;
  uint32_t facts;
};

// A non-blocking call's large reduction, found ready by another rank.
constexpr uint32_t kLargeReduction =
    kReduction | kLocalWork | kLarge | kSomeRankHere | kHasProgressThread | kMayLeave;

const RowCase kCases[] = {
    {"KeptLevelsRunWhereTheirRankIs", 0, Executor::kHere,
     kKeptForRank | kSend | kRankHere | kSomeRankHere},
    {"KeptReductionsGoOnTowardsTheRoot", 1, Executor::kHere,
     kKeptForRank | kReduction | kLocalWork | kGoesUp | kSomeRankHere},
    {"KeptSendsBehindAReductionGoOnTowardsTheRoot", 2, Executor::kHere,
     kKeptForRank | kSend | kGoesUp | kSomeRankHere},
    {"KeptSendsAwayFromTheRootAreLeftToTheirRank", 3, Executor::kRank,
     kKeptForRank | kSend | kSomeRankHere},
    {"LargeSendsOfABlockingCallAreLeftToTheRankThatWaits", 4, Executor::kRank,
     kSend | kBlocking | kLarge | kSomeRankHere},
    {"OtherMessagesAreStartedAtOnce", 5, Executor::kHere, kSend | kLarge},
    {"UserCodeIsLeftToCallsOfItsRank", 6, Executor::kRank,
     kLargeReduction | kUserCode | kRankHere},
    {"UserCodeOfABlockingCallIsLeftToTheRankThatWaits", 7, Executor::kRank,
     kReduction | kLocalWork | kUserCode | kAnyThread | kBlocking | kWaiterHere |
         kRankHere},
    {"LargeWorkOfABlockingCallIsLeftToTheRankThatWaits", 8, Executor::kRank,
     kLargeReduction | kBlocking},
    {"ARankThatWaitsDoesItsOwnWork", 9, Executor::kHere,
     kReduction | kLocalWork | kLarge | kBlocking | kWaiterHere | kRankHere},
    {"TheProgressThreadDoesWhatItFindsReady", 10, Executor::kHere,
     kReduction | kLocalWork | kUserCode | kAnyThread | kLarge | kHasProgressThread |
         kOwnProgressHere | kMayLeave},
    {"LargeWorkIsLeftToTheProgressThread", 11, Executor::kProgressThread,
     kLargeReduction},
    {"UserCodeThatNoProgressThreadTakesIsLeftToItsRank", 12, Executor::kRank,
     kReduction | kLocalWork | kUserCode | kAnyThread | kSomeRankHere},
    {"SmallWorkIsDoneAtOnce", 13, Executor::kHere,
     kReduction | kLocalWork | kHasProgressThread | kMayLeave},
};

class ExecutorRowTest : public ::testing::TestWithParam<RowCase> {};

TEST_P(ExecutorRowTest, Decides) {
  const RowCase& c = GetParam();
  EXPECT_EQ(executor_row(FixedFacts{c.facts}), c.row) << kExecutorRows[c.row].why;
  EXPECT_EQ(choose_executor(FixedFacts{c.facts}), c.executor);
}

INSTANTIATE_TEST_SUITE_P(ExecutorTable, ExecutorRowTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ExecutorTable, HasACaseForEachRowAndNoOther) {
  ASSERT_EQ(std::size(kCases), kExecutorRowCount);
  for (size_t row = 0; row < kExecutorRowCount; ++row)
    EXPECT_EQ(kCases[row].row, row) << kExecutorRows[row].why;
}

TEST(ExecutorTable, HasARowForEverything) {
  EXPECT_EQ(kExecutorRows[kExecutorRowCount - 1].yes, 0u);
  EXPECT_EQ(kExecutorRows[kExecutorRowCount - 1].no, 0u);
  for (const ExecutorRow& row : kExecutorRows) {
    EXPECT_EQ(row.yes & row.no, 0u) << row.why;
    EXPECT_LT(row.yes | row.no, 1u << kFactCount) << row.why;
  }
}

constexpr uint32_t kAllFacts = (1u << kFactCount) - 1;

// The lookup is unrolled and asks for one fact after the other; this one is neither.
size_t row_by_search(uint32_t facts) {
  for (size_t row = 0; row < kExecutorRowCount; ++row)
    if ((facts & kExecutorRows[row].yes) == kExecutorRows[row].yes &&
        (facts & kExecutorRows[row].no) == 0)
      return row;
  return kExecutorRowCount;
}

TEST(ExecutorTable, TheUnrolledLookupFindsTheFirstRow) {
  for (uint32_t facts = 0; facts <= kAllFacts; ++facts)
    ASSERT_EQ(executor_row(FixedFacts{facts}), row_by_search(facts)) << facts;
}

TEST(ExecutorTable, UserCodeNeverRunsInsideOfACompletion) {
  for (uint32_t facts = 0; facts <= kAllFacts; ++facts) {
    if ((facts & kUserCode) == 0 || (facts & kLocalWork) == 0 ||
        (facts & kReduction) == 0 || (facts & kSend) != 0)
      continue;
    const Executor executor = choose_executor(FixedFacts{facts});
    if ((facts & kKeptForRank) != 0 && (facts & kRankHere) != 0) continue;  // in a call
    if ((facts & kAnyThread) == 0 || (facts & kOwnProgressHere) == 0)
      ASSERT_NE(executor, Executor::kHere) << facts;
    if ((facts & kAnyThread) == 0)
      ASSERT_NE(executor, Executor::kProgressThread) << facts;
  }
}

TEST(ExecutorTable, ARefusedNodeRunsAsIfThereWereNoProgressThread) {
  for (uint32_t facts = 0; facts <= kAllFacts; ++facts) {
    if (choose_executor(FixedFacts{facts}) != Executor::kProgressThread) continue;
    ASSERT_EQ(choose_executor(FixedFacts{facts & ~kHasProgressThread}),
              executor_if_refused((facts & kUserCode) != 0))
        << facts;
  }
}

}  // namespace
}  // namespace mpc::nbc

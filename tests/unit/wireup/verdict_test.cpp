#include "runtime/wireup/verdict.h"

#include <gtest/gtest.h>

namespace mpc::wireup {
namespace {

TEST(Verdict, IsZeroWhereNothingIsReported) {
  Verdict verdict;
  verdict.end_of(0, 0);
  verdict.end_of(1, 0);
  EXPECT_EQ(verdict.status(), 0);
  EXPECT_EQ(verdict.messages(), "");
}

TEST(Verdict, OnlyTheFirstReasonCounts) {
  Verdict verdict;
  EXPECT_TRUE(verdict.end(7, "first"));
  EXPECT_FALSE(verdict.end(8, "second"));
  EXPECT_FALSE(verdict.end_by_crash(1));
  verdict.end_of(0, 1);
  EXPECT_EQ(verdict.status(), 7);
  EXPECT_EQ(verdict.messages(), "first\n");
}

TEST(Verdict, ACrashHasTheStatusOfItsProcess) {
  Verdict verdict;
  EXPECT_TRUE(verdict.end_by_crash(1));
  EXPECT_FALSE(verdict.end(1, "process 0 ended"));
  verdict.end_of(0, 1);
  EXPECT_EQ(verdict.status(), 0);
  verdict.end_of(1, 139);
  EXPECT_EQ(verdict.status(), 139);
  EXPECT_EQ(verdict.messages(), "");
}

TEST(Verdict, AFailureThatWasNotedComesBeforeTheEnd) {
  Verdict verdict;
  verdict.note_failure(5, "rank 2 failed");
  verdict.note_failure(6, "rank 3 failed");
  verdict.end(130, "interrupted");
  EXPECT_EQ(verdict.status(), 5);
  EXPECT_EQ(verdict.messages(), "rank 2 failed\ninterrupted\n");
}

TEST(Verdict, ARefusalCountsOnlyInAJobThatWouldEndWithZero) {
  Verdict verdict;
  verdict.note_refusal(122, "output is missing");
  EXPECT_EQ(verdict.status(), 122);
  verdict.note_failure(5, "rank 2 failed\n");
  EXPECT_EQ(verdict.status(), 5);
  EXPECT_EQ(verdict.messages(), "output is missing\nrank 2 failed\n");
}

}  // namespace
}  // namespace mpc::wireup

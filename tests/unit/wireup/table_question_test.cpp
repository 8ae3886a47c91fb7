#include "runtime/wireup/table_question.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace mpc::wireup {
namespace {

using Why = TableQuestion::Why;

class TableQuestions : public testing::Test {
 protected:
  std::set<size_t> running_{0, 1, 2};
  std::vector<size_t> asked_;
  std::vector<std::string> answers_;
  Why why_ = Why::kNothing;
  TableQuestion question_{3,
                          [this](size_t process) {
                            if (!running_.contains(process)) return false;
                            asked_.push_back(process);
                            return true;
                          },
                          [this](Why why, const std::string& table) {
                            why_ = why;
                            answers_.push_back(table);
                          }};
};

TEST_F(TableQuestions, OneProcessAnswersForAll) {
  question_.begin(Why::kUser);
  EXPECT_EQ(asked_, std::vector<size_t>{0});
  EXPECT_NE(question_.deadline_ns(), 0U);
  question_.take(0, "table");
  EXPECT_EQ(answers_, std::vector<std::string>{"table"});
  EXPECT_EQ(why_, Why::kUser);
  EXPECT_EQ(question_.deadline_ns(), 0U);
}

TEST_F(TableQuestions, TheNextIsAskedForWhoHasEnded) {
  running_ = {1, 2};
  question_.begin(Why::kUser);
  running_ = {2};
  question_.lose(1);
  EXPECT_EQ(asked_, (std::vector<size_t>{1, 2}));
  EXPECT_TRUE(answers_.empty());
  question_.take(2, "table");
  EXPECT_EQ(answers_.size(), 1U);
}

TEST_F(TableQuestions, TheEndOfAnotherOneChangesNothing) {
  question_.begin(Why::kUser);
  running_ = {0, 1};
  question_.lose(2);
  EXPECT_EQ(asked_, std::vector<size_t>{0});
}

TEST_F(TableQuestions, WhoIsLateMayStillAnswer) {
  question_.begin(Why::kUser);
  question_.keep_deadline(question_.deadline_ns() - 1);
  EXPECT_EQ(asked_, std::vector<size_t>{0});
  question_.keep_deadline(question_.deadline_ns());
  EXPECT_EQ(asked_, (std::vector<size_t>{0, 1}));
  question_.take(0, "late");
  EXPECT_EQ(answers_, std::vector<std::string>{"late"});
  question_.take(1, "second");
  EXPECT_EQ(answers_.size(), 1U);
}

TEST_F(TableQuestions, AnEmptyAnswerIsNone) {
  question_.begin(Why::kUser);
  for (size_t process = 0; process < 3; ++process) question_.take(process, "");
  EXPECT_EQ(asked_, (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(answers_, std::vector<std::string>{"  no process answers\n"});
}

TEST_F(TableQuestions, WhereNoneRunsNoneAnswers) {
  running_.clear();
  question_.begin(Why::kTimeout);
  EXPECT_EQ(answers_, std::vector<std::string>{"  no process answers\n"});
}

TEST_F(TableQuestions, TheTimeLimitCountsMoreThanTheUser) {
  question_.begin(Why::kTimeout);
  question_.begin(Why::kUser);
  question_.take(0, "table");
  EXPECT_EQ(why_, Why::kTimeout);
  EXPECT_EQ(answers_.size(), 1U);
}

}  // namespace
}  // namespace mpc::wireup

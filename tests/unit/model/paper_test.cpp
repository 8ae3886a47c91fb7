// The paper's model against a table made independently from its corrected equations, and
// against what the paper's text says of its own figures.
#include "nbc/model/paper.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace mpc::nbc {
namespace {

TEST(PaperModel, EqualsEveryRowOfTheReferenceTable) {
  std::ifstream file(MPC_TEST_DATA "/split_tree_model.tsv");
  ASSERT_TRUE(file);
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    int cores, ranks, height, best;
    std::string kind;
    double compute, blocking_plus_compute, value;
    in >> cores >> kind >> ranks >> height >> compute >> blocking_plus_compute;
    const auto weight = weight_of_name(kind);
    ASSERT_TRUE(weight) << line;
    const PaperRow row = paper_row({*weight}, cores, ranks, 6);
    EXPECT_EQ(row.height, height) << line;
    EXPECT_NEAR(row.compute, compute, 1e-6) << line;
    EXPECT_NEAR(row.blocking + row.compute, blocking_plus_compute, 1e-6) << line;
    for (double time : row.nonblocking) {
      in >> value;
      EXPECT_NEAR(time, value, 1e-6) << line;
    }
    for (double time : row.overlapped) {
      in >> value;
      EXPECT_NEAR(time, value, 1e-6) << line;
    }
    in >> best;
    ASSERT_TRUE(in) << line;
    EXPECT_EQ(row.best_split, best) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 216);
}

// The N at which the best S becomes 1, 2, 3.
std::vector<int> switching_points(const std::vector<PaperRow>& table) {
  std::vector<int> points;
  for (const PaperRow& row : table)
    if (row.best_split == static_cast<int>(points.size()) + 1)
      points.push_back(row.ranks);
  return points;
}

TEST(PaperModel, SwitchesWhereThePaperSaysOn64Cores) {
  const auto table = paper_table({}, 64);
  EXPECT_EQ(switching_points(table), (std::vector<int>{52, 58, 62}));
  EXPECT_EQ(paper_best_ranks(table), 51);
  EXPECT_EQ(table[51 - 2].best_split, 0);
}

TEST(PaperModel, SwitchesWhereThePaperSaysOn48Cores) {
  const auto table = paper_table({}, 48);
  EXPECT_EQ(switching_points(table), (std::vector<int>{39, 44, 47}));
  EXPECT_EQ(paper_best_ranks(table), 38);
}

TEST(PaperModel, AllreduceTakesTwiceTheTimeOfAReduceAndTheSameSplit) {
  for (int cores : {17, 48, 64}) {
    const auto once = paper_table({}, cores), twice = paper_table({.passes = 2}, cores);
    for (size_t i = 0; i < once.size(); ++i) {
      EXPECT_EQ(once[i].best_split, twice[i].best_split);
      EXPECT_DOUBLE_EQ(2 * once[i].best(), twice[i].best());
    }
  }
}

TEST(PaperModel, KeepsAllLevelsWhenNoCoreIsFree) {
  const PaperRow row = paper_row({}, 16, 16, 4);
  EXPECT_EQ(row.best_split, 4);
  EXPECT_DOUBLE_EQ(row.best(), row.compute + row.blocking);
}

TEST(PaperModel, IsNeverBehindBlockingNorBehindSplitZero) {
  for (int cores = 3; cores < 140; ++cores)
    for (Weight weight : {Weight::kConstant, Weight::kDoubling})
      for (const PaperRow& row : paper_table({weight}, cores)) {
        EXPECT_LE(row.best(), row.compute + row.blocking);
        EXPECT_LE(row.best(), row.overlapped[0]);
      }
}

}  // namespace
}  // namespace mpc::nbc

// Rows of several processes become one table, and cross between processes.
#include <gtest/gtest.h>

#include "runtime/job/state_table.h"

namespace mpc::job {
namespace {

StateRow row(const char* text, std::vector<int> ranks, uint32_t threads,
             int64_t longest_ns) {
  StateRow out;
  out.text = text;
  out.ranks = std::move(ranks);
  out.threads = threads;
  out.longest_ns = longest_ns;
  return out;
}

TEST(StateTable, RowsOfTheSameTextAreOneLine) {
  const StateTable table = merged(
      {row("waits in MPI_Recv", {5, 4}, 2, 2'000'000'000), row("ended", {2}, 1, 0),
       row("waits in MPI_Recv", {1, 0}, 2, 3'240'000'000),
       row("a thread of the rank waits in x", {3, 3}, 2, 0)});
  EXPECT_EQ(to_text(table),
            "  ranks 0-1,4-5: wait in MPI_Recv, since 3.2 s\n"
            "  rank 2: ended\n"
            "  rank 3: a thread of the rank waits in x (2 threads)\n");
}

TEST(StateTable, CrossesProcesses) {
  const StateTable table =
      merged({row("waits in MPI_Recv", {0, 7}, 3, 5), row("", {3}, 1, 0)});
  StateTable there;
  ASSERT_TRUE(decode(encode(table), &there));
  ASSERT_EQ(there.size(), 2u);
  EXPECT_EQ(there[0].ranks, (std::vector<int>{0, 7}));
  EXPECT_EQ(there[0].threads, 3u);
  EXPECT_EQ(there[0].longest_ns, 5);
  EXPECT_EQ(there[1].text, "");
  EXPECT_EQ(to_text(there), to_text(table));
  ASSERT_TRUE(decode({}, &there));
}

TEST(StateTable, BytesThatAreNoTableAreRefused) {
  const auto bytes = encode(merged({row("waits in MPI_Recv", {0, 7}, 2, 5)}));
  for (size_t n = 1; n < bytes.size(); ++n) {
    StateTable there;
    EXPECT_FALSE(decode(std::span(bytes).first(n), &there)) << n;
  }
}

}  // namespace
}  // namespace mpc::job

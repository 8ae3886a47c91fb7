// Whom the time of an MPI call is put down to.

#include "tools/mpcinfo/trace_waits.h"

#include <gtest/gtest.h>

namespace mpc::tools {
namespace {

CallSlice call(int rank, const char* name, double begin, double end) {
  CallSlice slice;
  slice.rank = rank;
  slice.name = name;
  slice.begin = begin;
  slice.end = end;
  return slice;
}

double waited(const TraceWaits& waits, int rank, int partner, const std::string& name) {
  for (const Wait& wait : waits.waits)
    if (wait.rank == rank && wait.partner == partner && wait.call == name)
      return wait.us;
  return 0;
}

TEST(TraceWaits, AReceiveWaitsForItsSenderAndMovesWhatItCopies) {
  TraceData data;
  data.ranks = 2;
  data.calls = {call(0, "MPI_Recv", 10, 50)};
  data.points = {{40, 0, 1, false, 1000}};
  WorkSlice copy;
  copy.begin = 42;
  copy.end = 48;
  copy.doer = 0;
  data.rank_work = {copy};
  const TraceWaits waits = find_waits(data);
  EXPECT_DOUBLE_EQ(waited(waits, 0, 1, "MPI_Recv"), 34);
  EXPECT_DOUBLE_EQ(waits.shares[0].moving_us, 6);
  EXPECT_DOUBLE_EQ(waits.shares[0].waiting_us, 34);
  EXPECT_EQ(waits.calls[0][0].partner, 1);
  EXPECT_EQ(waits.calls[0][0].bytes, 1000);
}

TEST(TraceWaits, AWaitForSeveralIsDividedByTheirArrival) {
  TraceData data;
  data.ranks = 3;
  data.calls = {call(0, "MPI_Waitall", 0, 30)};
  data.points = {{10, 0, 1, false, 8}, {30, 0, 2, false, 8}};
  const TraceWaits waits = find_waits(data);
  EXPECT_DOUBLE_EQ(waited(waits, 0, 1, "MPI_Waitall"), 10);
  EXPECT_DOUBLE_EQ(waited(waits, 0, 2, "MPI_Waitall"), 20);
  EXPECT_EQ(waits.calls[0][0].partner, 2);
}

TEST(TraceWaits, ALargeSendWaitsForWhoCopiesIt) {
  TraceData data;
  data.ranks = 2;
  data.calls = {call(0, "MPI_Send", 5, 25)};
  Arrow arrow;
  arrow.begin = 6;
  arrow.end = 20;
  arrow.from = 0;
  arrow.to = 1;
  arrow.bytes = 100000;
  data.arrows = {arrow};
  EXPECT_DOUBLE_EQ(waited(find_waits(data), 0, 1, "MPI_Send"), 20);
}

TEST(TraceWaits, ABarrierWaitsForTheLastOne) {
  TraceData data;
  data.ranks = 3;
  data.calls = {call(0, "MPI_Barrier", 0, 101), call(1, "MPI_Barrier", 100, 102),
                call(2, "MPI_Barrier", 60, 103)};
  const TraceWaits waits = find_waits(data);
  EXPECT_DOUBLE_EQ(waited(waits, 0, 1, "MPI_Barrier"), 100);
  EXPECT_DOUBLE_EQ(waited(waits, 2, 1, "MPI_Barrier"), 40);
  EXPECT_DOUBLE_EQ(waited(waits, 1, 1, "MPI_Barrier"), 0);
}

TEST(TraceWaits, CallsOfDifferentGroupsAreNobodysFault) {
  TraceData
      data;  // two pairs, one after the other: the last one came when the first had left
  data.ranks = 2;
  data.calls = {call(0, "MPI_Barrier", 0, 10), call(1, "MPI_Barrier", 50, 60)};
  const TraceWaits waits = find_waits(data);
  EXPECT_DOUBLE_EQ(waited(waits, 0, kNobody, "MPI_Barrier"), 10);
  EXPECT_DOUBLE_EQ(waited(waits, 0, 1, "MPI_Barrier"), 0);
}

TEST(TraceWaits, WorkIsHiddenWhileTheRankIsInNoCall) {
  TraceData data;
  data.ranks = 1;
  data.calls = {call(0, "MPI_Ibcast", 0, 10), call(0, "MPI_Wait", 50, 60)};
  WorkSlice copy;
  copy.begin = 40;
  copy.end = 54;
  copy.rank = 0;
  copy.bytes = 1 << 20;
  data.work = {copy};
  const TraceWaits waits = find_waits(data);
  EXPECT_DOUBLE_EQ(waits.shares[0].work_us, 14);
  EXPECT_DOUBLE_EQ(waits.shares[0].hidden_us, 10);
  EXPECT_DOUBLE_EQ(waits.shares[0].computing_us, 40);
}

TEST(TraceWaits, RanksThatAreNotThereAreLeftOut) {
  TraceData data;
  data.ranks = 1;
  data.calls = {call(7, "MPI_Recv", 0, 10), call(0, "MPI_Recv", 5, 1)};
  data.points = {{3, 9, 9, false, 1}, {3, 0, -5, false, 1}};
  const TraceWaits waits = find_waits(data);
  EXPECT_TRUE(waits.waits.empty());
}

}  // namespace
}  // namespace mpc::tools

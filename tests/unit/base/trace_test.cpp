// Promises of the trace.
#include "base/trace.h"

#include <gtest/gtest.h>

#include <thread>

namespace mpc {
namespace {

constexpr trace::Site kCall{
    "test", "call", {"name", nullptr, nullptr, nullptr, "repeated"}, true};
constexpr trace::Site kMoment{"test", "moment", {"value"}};

TEST(Trace, KeepsEventsInOrderBetweenStartAndStop) {
  MPC_TRACE("test", "before", 0);
  trace::start(100);
  for (int i = 0; i < 6; ++i) MPC_TRACE("test", "event", i);
  trace::stop();
  MPC_TRACE("test", "after", 0);
  const auto events = trace::take();
  ASSERT_EQ(events.size(), 6u);
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].values[0], i);
    EXPECT_STREQ(events[i].site->name, "event");
    EXPECT_EQ(events[i].kind, trace::Kind::kInstant);
    if (i > 0) {
      EXPECT_GE(events[i].time_ns, events[i - 1].time_ns);
    }
  }
}

TEST(Trace, KeepsTheFirstEventsAndCountsTheRest) {
  trace::start(1);  // rounded up to a chunk
  for (int i = 0; i < 1000; ++i) trace::instant(kMoment, {static_cast<uint64_t>(i)});
  trace::stop();
  const auto events = trace::take();
  ASSERT_EQ(events.size(), trace::detail::kChunkEvents);
  EXPECT_EQ(trace::lost_count(), 1000 - events.size());
  EXPECT_EQ(events.back().values[0], events.size() - 1);
}

TEST(Trace, TakesEventsFromManyThreadsEachWithItsNumber) {
  trace::start(10000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([t] {
      trace::introduce(trace::Role::kRank, reinterpret_cast<void*>(t + 1));
      for (int i = 0; i < 200; ++i) MPC_TRACE("test", "many", t);
    });
  for (auto& thread : threads) thread.join();
  trace::stop();
  const auto events = trace::take();
  EXPECT_EQ(events.size(), 600u);
  uint32_t number_of[3] = {~0u, ~0u, ~0u};
  for (const auto& event : events) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(event.writer.who), event.values[0] + 1);
    EXPECT_EQ(event.writer.role, trace::Role::kRank);
    uint32_t& number = number_of[event.values[0]];
    if (number == ~0u) number = event.writer.number;
    EXPECT_EQ(number, event.writer.number);
  }
  EXPECT_NE(number_of[0], number_of[1]);
  EXPECT_NE(number_of[1], number_of[2]);
}

TEST(Trace, BeginsAnewForAThreadThatHasRecordedBefore) {
  trace::start(1);
  for (int i = 0; i < 100; ++i) trace::instant(kMoment);
  trace::start(1000);
  trace::instant(kMoment, {7});
  trace::stop();
  ASSERT_EQ(trace::take().size(), 1u);
  EXPECT_EQ(trace::take()[0].values[0], 7u);
  EXPECT_EQ(trace::lost_count(), 0u);
}

TEST(Trace, JoinsCallsOfAThreadThatPolls) {
  trace::start(100000);
  const uint64_t name = trace::text("MPI_Test");
  constexpr uint64_t kCalls = 10000;
  for (uint64_t i = 0; i < kCalls; ++i) {
    const trace::Span span(kCall, {name});
  }
  trace::stop();
  const auto events = trace::take();
  uint64_t begins = 0, ends = 0, calls = 0;
  for (const auto& event : events) {
    if (event.kind == trace::Kind::kBegin) {
      ++begins;
      calls += 1 + event.values[trace::kMaxValues - 1];
    } else {
      ++ends;
    }
  }
  EXPECT_EQ(begins, ends);
  EXPECT_EQ(calls, kCalls);
  // Some are long, on a busy machine.
  EXPECT_LT(events.size(), kCalls / 4);
}

TEST(Trace, KeepsDifferentCallsAndThoseWithWorkBetweenThemApart) {
  trace::start(1000);
  for (int i = 0; i < 3; ++i) {
    const trace::Span one(kCall, {trace::text("MPI_Send")});
  }
  for (int i = 0; i < 3; ++i) {
    const trace::Span span(kCall, {trace::text("MPI_Recv")});
    trace::instant(kMoment);
  }
  trace::stop();
  int receives = 0;
  for (const auto& event : trace::take())
    receives +=
        event.kind == trace::Kind::kBegin && event.values[0] == trace::text("MPI_Recv");
  EXPECT_EQ(receives, 3);
}

}  // namespace
}  // namespace mpc

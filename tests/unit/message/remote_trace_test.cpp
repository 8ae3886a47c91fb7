// What a trace shows of messages between processes: each send is joined with what receives it.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "base/trace.h"
#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

struct Seen {
  int sends = 0, ends = 0;
  uint64_t sent_ns = 0, end_ns = 0;
};

// By the number that joins them.
std::map<uint64_t, Seen> flows() {
  std::map<uint64_t, Seen> seen;
  for (const trace::Taken& event : trace::take()) {
    const char* const last = event.site->values[trace::kMaxValues - 1];
    if (last == nullptr || std::strcmp(last, "flow") != 0) continue;
    const uint64_t flow = event.values[trace::kMaxValues - 1];
    if (event.kind == trace::Kind::kInstant) {
      ++seen[flow].sends;
      seen[flow].sent_ns = event.time_ns;
      EXPECT_STREQ(event.site->name, "send");
      EXPECT_EQ(event.rank, 0);
    } else if (event.kind == trace::Kind::kBegin && flow != 0) {
      ++seen[flow].ends;
      seen[flow].end_ns = event.time_ns;
      EXPECT_EQ(event.rank, 1);
    }
  }
  return seen;
}

class RemoteTrace : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RemoteTrace, testing::Values(0, 2));

TEST_P(RemoteTrace, ArrowsLeadFromEachSendToItsCopyOrFetch) {
  constexpr int kMessages = 40;
  constexpr size_t kSizes[] = {0, 8, 8000, 100000};
  ASSERT_TRUE(trace::start(100000));
  World world(2, 2);
  world.with_processes(2, GetParam());
  const std::string left = world.run([&](job::Rank& me) {
    const Why why;
    std::vector<char> data(100000);
    for (size_t i = 0; i < kMessages; ++i) {
      if (me.world_rank == 0) {
        const Mode mode = i % 3 == 0 ? Mode::kSynchronous : Mode::kStandard;
        send(me, to(1, data.data(), kSizes[i % 4], 1, 0, mode), why);
      } else {
        if (i % 5 == 0) sched::sleep_until(sched::now_ns() + 200'000);
        recv(me, from(0, data.data(), data.size(), 1), why);
      }
    }
  });
  trace::stop();
  EXPECT_EQ(left, "");
  const auto seen = flows();
  EXPECT_EQ(seen.size(), size_t{kMessages});
  for (const auto& [flow, events] : seen) {
    EXPECT_EQ(events.sends, 1);
    EXPECT_EQ(events.ends, 1);
    EXPECT_LE(events.sent_ns, events.end_ns);
  }
}

}  // namespace
}  // namespace mpc::msg::test

// Files that are no trace, although they begin like one: most were found by tests/fuzz/trace.cpp.

#include "tools/mpcinfo/trace_read.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tools/mpcinfo/trace_svg.h"

namespace mpc::tools {
namespace {

const std::string kCore =
    R"({"name":"thread_name","ph":"M","pid":1,"tid":0,"args":{"name":"core 0"}})";

Result<TraceData> read_text(const std::string& text) {
  const std::string path = testing::TempDir() + "trace_read_test.json";
  std::ofstream(path) << text;
  auto data = read_trace(path);
  std::remove(path.c_str());
  return data;
}

Result<TraceData> read_events(const std::string& events,
                              const std::string& ranks = "2") {
  return read_text(R"({"otherData":{"program":"p","ranks":)" + ranks +
                   R"(},"traceEvents":[)" + events + "]}");
}

std::string collective(const std::string& begin, const std::string& end,
                       const std::string& args = "{}") {
  return R"({"name":"x","ph":"b","pid":2,"tid":0,"cat":"collective","id":"1","ts":)" +
         begin + R"(,"args":)" + args +
         R"(},{"ph":"e","cat":"collective","id":"1","ts":)" + end + "}";
}

TEST(TraceRead, RefusesWhatMpcrunDoesNotWrite) {
  const std::string bad[] = {
      // a core that needs all memory, one before the first
      R"({"name":"thread_name","ph":"M","pid":1,"tid":2000000000,"args":{}})",
      R"({"name":"thread_name","ph":"M","pid":1,"tid":-1,"args":{}})",
      // no arguments
      R"({"name":"thread_name","ph":"M","pid":1,"tid":0})",
      R"({"name":"x","ph":"b","pid":2,"tid":0,"cat":"collective","id":"1"})",
      // work on a core that is not there
      kCore + R"(,{"name":"copy","ph":"B","pid":1,"tid":7,"cat":"message","args":{}})",
      // times
      collective("1e300", "1.1e300"),
      collective("-5", "1"),
  };
  for (const std::string& events : bad) {
    const auto data = read_events(events);
    ASSERT_FALSE(data.ok()) << events;
    EXPECT_NE(data.error().message.find("no file of mpcrun --trace"),
              std::string::npos);
  }
  EXPECT_FALSE(read_events(kCore, "2147483647").ok());
}

TEST(TraceRead, RefusesCountsOfMessagesThatAreNoIntegersOrTooLarge) {
  const auto with_row = [](const std::string& row) {
    return read_text(R"({"otherData":{"program":"p","ranks":2,"messages":[)" + row +
                     R"(]},"traceEvents":[]})");
  };
  ASSERT_TRUE(with_row("[1,-1,3,4]").ok());
  for (const char* row :
       {"[2,0,3,4]", "[0,-2,3,4]", "[4294967296,0,3,4]", "[0,18446744073709551615,3,4]",
        "[0,1,1e24,4]", "[0,1,3,-4]", "[0,1,3]"})
    EXPECT_FALSE(with_row(row).ok()) << row;
}

TEST(TraceRead, LeavesOutNumbersThatNothingCanHave) {
  const auto data = read_events(collective(
      "1", "2", R"({"rank":1e300,"context":9223372036854775807,"tag_base":-1e19})"));
  ASSERT_TRUE(data.ok()) << data.error().message;
  ASSERT_EQ(data->collectives.size(), 1u);
  EXPECT_EQ(data->collectives[0].parts[0].rank, 0);
  EXPECT_EQ(data->collectives[0].context, 0);
}

TEST(TraceSvg, DrawsACollectiveThatTookNoTimeOrLess) {
  for (const char* begin : {"0", "1e15"}) {
    const auto data = read_events(kCore + "," + collective(begin, "0"));
    ASSERT_TRUE(data.ok()) << data.error().message;
    EXPECT_NE(collective_svg(*data, 0).find("</svg>"), std::string::npos);
  }
}

}  // namespace
}  // namespace mpc::tools

// Traces of several processes put behind each other.

#include "runtime/trace/merge.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace mpc::trace {
namespace {

std::string path(const char* name) { return testing::TempDir() + "merge_test." + name; }

std::string part(const std::string& events, int count, const std::string& messages) {
  return R"({"displayTimeUnit":"ns","otherData":{"program":"p,\"events\":7","ranks":2,"events":)" +
         std::to_string(count) + R"(,"lost_events":1,"messages":[)" + messages +
         "]},\n\"traceEvents\":[\n" + events + "\n]}\n";
}

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

void write(const std::string& file, const std::string& text) {
  std::ofstream(file) << text;
}

TEST(Merge, PutsEventsBehindEachOtherAndAddsUp) {
  write(path("0"), part("{\"a\":1},\n{\"a\":2}", 2, "[0,1,3,30]"));
  write(path("1"), part("{\"a\":3}", 1, "[1,0,4,40]"));
  ASSERT_EQ(merge({path("0"), path("1")}, path("all")), "");
  EXPECT_EQ(
      text_of(path("all")),
      R"({"displayTimeUnit":"ns","otherData":{"program":"p,\"events\":7","ranks":2,"events":3,)"
      R"("lost_events":2,"messages":[[0,1,3,30],[1,0,4,40]]},)"
      "\n\"traceEvents\":[\n{\"a\":1},\n{\"a\":2},\n{\"a\":3}\n]}\n");
  EXPECT_FALSE(std::filesystem::exists(path("0")));
  EXPECT_FALSE(std::filesystem::exists(path("1")));
  std::remove(path("all").c_str());
}

TEST(Merge, KeepsThePartsIfSomethingIsWrong) {
  write(path("0"), part("{\"a\":1}", 1, ""));
  EXPECT_NE(merge({path("0"), path("missing")}, path("all")).find("No such file"),
            std::string::npos);
  write(path("1"), part("{\"a\":1}", 1, "").substr(0, 130));
  EXPECT_NE(merge({path("0"), path("1")}, path("all")), "");
  write(path("1"), part("{\"a\":1}", 1, ""));
  EXPECT_EQ(merge({path("0"), path("1")}, "/dev/full"), "No space left on device");
  EXPECT_TRUE(std::filesystem::exists(path("0")));
  for (const char* name : {"0", "1", "all"}) std::remove(path(name).c_str());
}

}  // namespace
}  // namespace mpc::trace

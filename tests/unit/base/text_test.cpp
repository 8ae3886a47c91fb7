// What people type: sizes, lists of numbers, names that are nearly right; and the hash of a text.
#include <gtest/gtest.h>

#include <cstdint>

#include "base/fnv.h"
#include "base/index_list.h"
#include "base/nearest.h"
#include "base/sizes.h"

namespace mpc {
namespace {

// The values of the draft's appendix, and of any other implementation.
TEST(Fnv, GivesThePublishedValues) {
  EXPECT_EQ(fnv_of(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv_of("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv_of("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(fnv_of("\xff"), 0xaf64724c8602eb6eu);  // a byte is no negative number
}

TEST(Fnv, ANumberIsItsFourBytesLowestFirst) {
  Fnv number, bytes;
  number.add(uint32_t{0x626f6f66});
  bytes.add("foob");
  EXPECT_EQ(number.value(), bytes.value());
}

TEST(Sizes, AreReadInEverySpelling) {
  const struct {
    const char* text;
    int64_t bytes;
  } cases[] = {{"0", 0},
               {"4096", 4096},
               {"+7", 7},
               {"-1", -1},
               {"0x10", 16},
               {"0X1Fk", 31 << 10},
               {"64b", 64},
               {"64k", 64 << 10},
               {"64K", 64 << 10},
               {"64KB", 64 << 10},
               {"64kib", 64 << 10},
               {"64KiB", 64 << 10},
               {"2M", 2 << 20},
               {"2mb", 2 << 20},
               {"1.5M", 3 << 19},
               {"0.5k", 512},
               {"1G", int64_t{1} << 30},
               {"3GiB", int64_t{3} << 30},
               {"010", 10},
               {"9223372036854775807", INT64_MAX},
               {"-9223372036854775808", INT64_MIN}};
  for (const auto& one : cases) EXPECT_EQ(parse_size(one.text), one.bytes) << one.text;
}

TEST(Sizes, AreRefusedIfAnythingElseStandsThere) {
  for (const char* bad : {"",
                          "k",
                          "-",
                          "0x",
                          "1.5",
                          "1.k",
                          ".5k",
                          "1 k",
                          " 1",
                          "1k ",
                          "1kk",
                          "1T",
                          "12x",
                          "1e3",
                          "inf",
                          "--1",
                          "1.5x",
                          "0x1.8k",
                          "9223372036854775808",
                          "-9223372036854775809",
                          "9007199254740992G",
                          "99999999999999999999"})
    EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(IndexList, IsReadInItsOrder) {
  EXPECT_EQ(*parse_index_list("3"), (std::vector<int>{3}));
  EXPECT_EQ(*parse_index_list("0-3,8,10-11,8"),
            (std::vector<int>{0, 1, 2, 3, 8, 10, 11, 8}));
}

TEST(IndexList, IsRefusedIfAnythingElseStandsThere) {
  for (const char* bad : {"", ",", "1,", "a", "3-1", "1-", "-1", "1 2", "1-2-3", "+1",
                          " 1", "99999999999", "0-99999999", "99999999"})
    EXPECT_FALSE(parse_index_list(bad).ok()) << bad;
}

TEST(Nearest, IsNamedIfItIsNear) {
  const std::vector<std::string> known{"settings", "topology", "trace"};
  EXPECT_EQ(did_you_mean("setings", known), ", did you mean 'settings'?");
  EXPECT_EQ(did_you_mean("topologie", known), ", did you mean 'topology'?");
  EXPECT_EQ(did_you_mean("placements", known), "");
}

}  // namespace
}  // namespace mpc

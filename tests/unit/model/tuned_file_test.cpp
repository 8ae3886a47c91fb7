#include "nbc/model/tuned_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "nbc/model/model_json.h"

namespace mpc::nbc {
namespace {

Tuned example() {
  Tuned tuned;
  tuned.machine = {"A processor", 8, "0123456789abcdef"};
  tuned.made = "2026-11-25";
  tuned.line_us = 0.1;
  tuned.wake_us = 30;
  tuned.message_us = 0.2;
  tuned.limits = {{"bcast_segmented", 65536, {{32768, 1, 2}, {65536, 3, 2.5}}},
                  {"direct_reduce", 2048, {}}};
  return tuned;
}

LimitFacts facts(int64_t built_in, bool is_inclusive) {
  LimitFacts facts = facts_of(Limit::kDirectReduce);
  facts.built_in = built_in;
  facts.is_inclusive = is_inclusive;
  return facts;
}

TEST(TunedFile, GivesBackWhatWasWritten) {
  const auto back = tuned_from_json(to_json(example()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, example());
}

TEST(TunedFile, RefusesWhatIsDamaged) {
  const std::string text = to_json(example());
  for (size_t length = 0; length + 2 < text.size(); length += 7)
    EXPECT_FALSE(tuned_from_json(text.substr(0, length))) << length;
  for (const char* bad :
       {"", "[]", "{}", "{\"version\": 1}", "{\"version\": 1, \"machine\": 3}"})
    EXPECT_FALSE(tuned_from_json(bad)) << bad;
}

TEST(TunedFile, RefusesAnotherVersionAndLimitsThatAreNotThere) {
  Tuned tuned = example();
  tuned.limits[0].name = "no_such_limit";
  const auto unknown = tuned_from_json(to_json(tuned));
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("no_such_limit"), std::string::npos);
  tuned = example();
  tuned.limits[0].bytes = -1;
  EXPECT_FALSE(tuned_from_json(to_json(tuned)));
  std::string text = to_json(example());
  text.replace(text.find("\"version\": 1"), 12, "\"version\": 2");
  const auto other = tuned_from_json(text);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("another version"), std::string::npos);
}

TEST(TunedFile, RefusesNumbersThatAreNoIntegersOrTooLarge) {
  const std::string text = to_json(example());
  for (const char* field : {"\"cores\": ", "\"bytes\": "})
    for (const char* number : {"1e24", "1.5", "18446744073709551615", "-1", "true"}) {
      std::string bad = text;
      const size_t at = bad.rfind(field) + std::string(field).size();
      bad.replace(at, bad.find_first_of(",}\n", at) - at, number);
      const auto tuned = tuned_from_json(bad);
      ASSERT_FALSE(tuned) << field << number;
      EXPECT_NE(tuned.error().message.find("must be an integer from"),
                std::string::npos)
          << tuned.error().message;
    }
}

TEST(TunedFile, IsReadFromItsPlaceAndSaysWhichFileIsDamaged) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("mpc-tuned-test-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "tuned.json").string();
  EXPECT_EQ(read_tuned(path).error().code, Errc::kNotFound);
  ASSERT_TRUE(write_tuned(example(), path));
  const auto back = read_tuned(path);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, example());
  std::ofstream(path) << "{";
  const auto damaged = read_tuned(path);
  ASSERT_FALSE(damaged);
  EXPECT_NE(damaged.error().message.find(path), std::string::npos);
  EXPECT_FALSE(read_tuned(folder.string()));
  std::filesystem::remove_all(folder);
}

TEST(TunedFile, EachKindOfMachineHasAFileOfItsOwn) {
  setenv("XDG_CACHE_HOME", "/cache", 1);
  const TunedMachine one{"A processor", 8, "0123456789abcdef"};
  TunedMachine other = one;
  EXPECT_TRUE(tuned_path(one).starts_with("/cache/mpc/tuned-"));
  EXPECT_EQ(tuned_path(one), tuned_path(other));
  other.cpu = "Another processor";
  EXPECT_NE(tuned_path(one), tuned_path(other));
  other = one;
  other.cores = 16;
  EXPECT_NE(tuned_path(one), tuned_path(other));
}

TEST(BestLimit, IsWhereTheOtherWayBecomesShorter) {
  const std::vector<TunedTime> times = {
      {1024, 1, 2}, {2048, 2, 3}, {4096, 4, 4.5}, {8192, 9, 6}};
  EXPECT_EQ(best_limit(facts(1024, true), times), 4096);   // up to 4096 below
  EXPECT_EQ(best_limit(facts(1024, false), times), 8192);  // from 8192 on above
  EXPECT_EQ(best_limit(facts(4096, true), times), 4096);
}

TEST(BestLimit, OneWayMayAlwaysBeShorter) {
  const std::vector<TunedTime> below = {{1024, 1, 2}, {2048, 2, 3}};
  EXPECT_GE(best_limit(facts(512, true), below), 2048);
  EXPECT_GT(best_limit(facts(512, false), below), 2048);
  const std::vector<TunedTime> above = {{1024, 2, 1}, {2048, 3, 2}};
  EXPECT_LT(best_limit(facts(4096, true), above), 1024);
  EXPECT_LE(best_limit(facts(4096, false), above), 1024);
}

TEST(BestLimit, StaysForWhatAClockCannotTell) {
  const std::vector<TunedTime> times = {{1024, 1, 0.97}, {2048, 2, 1.95}};
  EXPECT_EQ(best_limit(facts(4096, true), times), 4096);
  EXPECT_EQ(best_limit(facts(4096, true), {}), 4096);
}

}  // namespace
}  // namespace mpc::nbc

#include "runtime/job/spawned_words.h"

#include <gtest/gtest.h>

namespace mpc::job {
namespace {

Result<SpawnedJob> read(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  EXPECT_TRUE(is_spawned(static_cast<int>(argv.size()), argv.data()));
  return read_spawned(static_cast<int>(argv.size()), argv.data());
}

TEST(SpawnedWords, AreReadAsTheyWereWritten) {
  SpawnedJob job;
  JobSpec& spec = job.spec;
  spec.spawner = "mpc:1:2:3:/tmp/mpc";
  spec.spawner_process = "77:1234";
  spec.apps.resize(2);
  spec.apps[0].ranks = 3;
  spec.apps[0].program = "/bin/prog";
  spec.apps[0].args = {":", "-n", "", "two words"};
  spec.apps[1].program = "/bin/other";
  spec.apps[1].working_directory = "/a folder";
  job.places = {{"a,b:2", "", 4}, {"", "/a file", 0}};
  const auto got = read(words_of_spawned(job));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->spec.spawner, spec.spawner);
  EXPECT_EQ(got->spec.spawner_process, spec.spawner_process);
  ASSERT_EQ(got->spec.apps.size(), 2u);
  EXPECT_EQ(got->places, job.places);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(got->spec.apps[i].ranks, spec.apps[i].ranks);
    EXPECT_EQ(got->spec.apps[i].program, spec.apps[i].program);
    EXPECT_EQ(got->spec.apps[i].args, spec.apps[i].args);
    EXPECT_EQ(got->spec.apps[i].working_directory, spec.apps[i].working_directory);
  }
}

TEST(SpawnedWords, ThatAUserHasTypedAreRefused) {
  const std::vector<std::vector<std::string>> wrong = {
      {"mpcrun", "--spawned"},
      {"mpcrun", "--spawned", ""},
      {"mpcrun", "--spawned", "port"},
      {"mpcrun", "--spawned", "port", "7:9"},
      {"mpcrun", "--spawned", "port", "7:9", "2"},
      {"mpcrun", "--spawned", "port", "7:9", "2", "", "", "", "0", "1"},
      {"mpcrun", "--spawned", "port", "7:9", "2", "", "", "", "0", "2", "prog"},
      {"mpcrun", "--spawned", "port", "7:9", "0", "", "", "", "0", "1", "prog"},
      {"mpcrun", "--spawned", "port", "7:9", "2", "", "", "", "0", "-1", "prog"},
      {"mpcrun", "--spawned", "port", "7:9", "2", "", "", "", "-1", "1", "prog"},
      {"mpcrun", "--spawned", "port", "7:9", "2x", "", "", "", "0", "1", "prog"},
      {"mpcrun", "--spawned", "port", "7:9", "2", "", "", "", "0", "1", "prog", "more"},
  };
  for (const auto& words : wrong) {
    const auto got = read(words);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Errc::kArg);
  }
}

TEST(SpawnedWords, AreNoOptionOfAnotherPlace) {
  std::string words[] = {"mpcrun", "-n", "2", "--spawned"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data()};
  EXPECT_FALSE(is_spawned(4, argv));
  EXPECT_FALSE(is_spawned(1, argv));
}

}  // namespace
}  // namespace mpc::job

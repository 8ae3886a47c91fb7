#include "runtime/job/spawned_words.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace mpc::job {
namespace {

Result<SpawnedJob> read(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  EXPECT_TRUE(is_spawned(static_cast<int>(argv.size()), argv.data()));
  return read_spawned(static_cast<int>(argv.size()), argv.data());
}

// As mpcrun finds it.
void tell(const std::string& variable) {
  const size_t equals = variable.find('=');
  ASSERT_EQ(variable.substr(0, equals), kSpawnerVariable);
  ::setenv(kSpawnerVariable, variable.c_str() + equals + 1, 1);
}

TEST(SpawnedWords, AreReadAsTheyWereWritten) {
  SpawnedJob job;
  job.is_hosted = true;
  JobSpec& spec = job.spec;
  spec.spawner = "mpc:1:2:3:/tmp/my mpc";
  spec.spawner_process = "77:1234";
  spec.apps.resize(2);
  spec.apps[0].ranks = 3;
  spec.apps[0].program = "/bin/prog";
  spec.apps[0].args = {":", "-n", "", "two words"};
  spec.apps[1].program = "/bin/other";
  spec.apps[1].working_directory = "/a folder";
  job.places = {{"a,b:2", "", 4}, {"", "/a file", 0}};
  const std::vector<std::string> words = words_of_spawned(job);
  for (const std::string& word : words)  // which others can read
    EXPECT_EQ(word.find(spec.spawner), std::string::npos);
  ASSERT_FALSE(read(words));
  tell(variable_of_spawned(spec));
  const auto got = read(words);
  ::unsetenv(kSpawnerVariable);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->is_hosted);
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
      {"mpcrun", "--spawned", "neither", "2", "", "", "", "0", "1", "prog"},
      {"mpcrun", "--spawned", "copies", "2"},
      {"mpcrun", "--spawned", "copies", "2", "", "", "", "0", "1"},
      {"mpcrun", "--spawned", "copies", "2", "", "", "", "0", "2", "prog"},
      {"mpcrun", "--spawned", "copies", "0", "", "", "", "0", "1", "prog"},
      {"mpcrun", "--spawned", "copies", "2", "", "", "", "0", "-1", "prog"},
      {"mpcrun", "--spawned", "copies", "2", "", "", "", "-1", "1", "prog"},
      {"mpcrun", "--spawned", "copies", "2x", "", "", "", "0", "1", "prog"},
      {"mpcrun", "--spawned", "copies", "2", "", "", "", "0", "1", "prog", "more"},
  };
  ::setenv(kSpawnerVariable, "7:9 port", 1);
  for (const auto& words : wrong) {
    const auto got = read(words);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Errc::kArg);
  }
  for (const char* const spawner : {"", "port", "7:9 "}) {
    ::setenv(kSpawnerVariable, spawner, 1);
    EXPECT_FALSE(
        read({"mpcrun", "--spawned", "copies", "2", "", "", "", "0", "1", "prog"}));
  }
  ::unsetenv(kSpawnerVariable);
}

TEST(SpawnedWords, AreNoOptionOfAnotherPlace) {
  std::string words[] = {"mpcrun", "-n", "2", "--spawned"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data()};
  EXPECT_FALSE(is_spawned(4, argv));
  EXPECT_FALSE(is_spawned(1, argv));
}

}  // namespace
}  // namespace mpc::job

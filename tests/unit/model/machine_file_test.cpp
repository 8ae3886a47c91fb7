#include "nbc/model/machine_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "nbc/model/model_json.h"
#include "nbc/model/whole_file.h"

namespace mpc::nbc {
namespace {

TEST(MachineFile, GivesBackWhatWasWritten) {
  for (const Parameters& p : builtin_parameters()) {
    const auto back = parameters_from_json(to_json(p));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, p);
  }
}

TEST(MachineFile, KeepsCachesAndReadsFilesThatLackThem) {
  Parameters p = builtin_parameters()[0];
  p.call_us = 0.25;
  p.caches = {{4096, 1, 2, 3, 4}, {65536, 5, 6, 7, 8}};
  const auto back = parameters_from_json(to_json(p));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, p);
  std::string old = to_json(builtin_parameters()[0]);
  const size_t from = old.find(",\n  \"call_us\"");
  ASSERT_NE(from, std::string::npos);
  old.replace(from, old.rfind('}') - from, "\n");
  const auto read = parameters_from_json(old);
  ASSERT_TRUE(read) << read.error().message << old;
  EXPECT_EQ(*read, builtin_parameters()[0]);
  std::swap(p.caches[0], p.caches[1]);
  EXPECT_FALSE(parameters_from_json(to_json(p)));
  p.caches = {{4096, 0, 2, 3, 4}};
  EXPECT_FALSE(parameters_from_json(to_json(p)));
}

TEST(MachineFile, MayHaveANetwork) {
  Parameters p = builtin_parameters()[0];
  p.network = {2.5, 25};
  const std::string text = to_json(p);
  const auto back = parameters_from_json(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, p);
  std::string old = text;  // as it was before there were networks
  const size_t from = old.find("  \"network\""), end = old.find("},\n", from) + 3;
  ASSERT_NE(from, std::string::npos);
  const auto plain = parameters_from_json(old.erase(from, end - from));
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->network, NetworkCost());
  p.network.bandwidth_gbs = 0;
  EXPECT_FALSE(parameters_from_json(to_json(p)));
}

TEST(MachineFile, SaysWhatIsWrong) {
  const std::string good = to_json(builtin_parameters()[0]);
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string text = good;
    const size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    text.replace(at, old.size(), now);
    const auto result = parameters_from_json(text);
    EXPECT_FALSE(result.ok());
    return result.ok() ? "" : result.error().message;
  };
  EXPECT_NE(with("{", "[{").find("JSON"), std::string::npos);
  EXPECT_NE(with("\"version\": 1", "\"version\": 7").find("version"),
            std::string::npos);
  EXPECT_NE(with("\"node_us\"", "\"node\"").find("node_us"), std::string::npos);
  EXPECT_NE(with("\"cores\": 64", "\"cores\": 0").find("cores"), std::string::npos);
  EXPECT_NE(with("\"cores\": 64", "\"cores\": \"x\"").find("cores"), std::string::npos);
  EXPECT_NE(with("\"numa_gbs\": 200.0", "\"numa_gbs\": -1").find("bandwidth"),
            std::string::npos);
  EXPECT_FALSE(parameters_from_json("").ok());
  EXPECT_FALSE(parameters_from_json("null").ok());
}

TEST(MachineFile, IsWrittenWhole) {
  char folder[] = "/tmp/mpc-machine-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/a/b/machine.json";
  EXPECT_FALSE(write_parameters(builtin_parameters()[1], path).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "a folder was made";
  std::filesystem::create_directories(std::string(folder) + "/a/b");
  ASSERT_TRUE(write_parameters(builtin_parameters()[1], path).ok());
  const auto back = read_parameters(path);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, builtin_parameters()[1]);
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(std::string(folder) + "/a/b"),
                    std::filesystem::directory_iterator()),
      1);
  std::ofstream(path) << "{";
  const auto broken = read_parameters(path);
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message.find(path), std::string::npos);
  EXPECT_FALSE(write_parameters(builtin_parameters()[1], path + "/under-a-file").ok());
  const std::string fifo = std::string(folder) + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(read_parameters(fifo).error().code, Errc::kArg) << "or waits for ever";
  std::filesystem::remove_all(folder);
  EXPECT_EQ(read_parameters(path).error().code, Errc::kNotFound);
}

TEST(MachineFile, LiesInTheUsersCache) {
  setenv("XDG_CACHE_HOME", "/var/cache/me", 1);
  EXPECT_EQ(parameters_path("12ab"), "/var/cache/me/mpc/machine-12ab.json");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(parameters_path("12ab"), "/home/me/.cache/mpc/machine-12ab.json");
  unsetenv("HOME");
  EXPECT_EQ(parameters_path("12ab"), "");
}

TEST(Parameters, OfAnUnknownMachineKeepItsShape) {
  EXPECT_EQ(guess_parameters({64, 2, 64}), *builtin_parameters("knl64"));
  const Parameters guess = guess_parameters({128, 8, 32});
  EXPECT_EQ(guess.shape, (MachineShape{128, 8, 32}));
  EXPECT_EQ(guess.copy[0], builtin_parameters("skylake48")->copy[0]);
  EXPECT_EQ(problem_of(guess), "");
  EXPECT_EQ(builtin_parameters("no-such"), nullptr);
}

TEST(Parameters, TakeWhatWasMeasuredAndGuessTheRest) {
  Measured measured;
  measured.copy[1] = {0.2, 6};
  measured.numa_gbs = 9;
  const Parameters p = from_measured({4, 1, 4}, measured, "today");
  EXPECT_EQ(problem_of(p), "");
  EXPECT_EQ(p.copy[0], builtin_parameters("generic")->copy[0]);
  EXPECT_EQ(p.copy[1], measured.copy[1]);
  EXPECT_EQ(p.copy[2], measured.copy[1]);  // farther than any pair of cores here
  EXPECT_EQ(p.numa_gbs, 9);
  EXPECT_EQ(p.reduce_gbs, builtin_parameters("generic")->reduce_gbs);
  EXPECT_NE(p.source.find("today"), std::string::npos);
  EXPECT_NE(p.source.find("cost of a node"), std::string::npos);
  measured.node_us = 0.02;
  measured.message_us = 0.08;
  const Parameters all = from_measured({4, 1, 4}, measured, "today");
  EXPECT_EQ(all.node_us, 0.02);
  EXPECT_EQ(all.message_us, 0.08);
  EXPECT_EQ(all.source.find("cost of a node"), std::string::npos);
}

TEST(WholeFile, LeavesLinksAndFifosWhatTheyAre) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("whole-file-" + std::to_string(getpid()));
  fs::create_directory(folder);
  const std::string file = folder / "file", link = folder / "link",
                    dangling = folder / "dangling", fifo = folder / "fifo";
  EXPECT_TRUE(write_whole_file("one", file));
  fs::create_symlink("file", link);
  fs::create_symlink("later", dangling);
  EXPECT_TRUE(write_whole_file("two", link));
  EXPECT_TRUE(write_whole_file("three", dangling));
  EXPECT_TRUE(fs::is_symlink(link) && fs::is_symlink(dangling));
  EXPECT_EQ(read_whole_file(file).value(), "two");
  EXPECT_EQ(read_whole_file(folder / "later").value(), "three");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_TRUE(write_whole_file("four", fifo));
  char text[8] = {};
  EXPECT_EQ(::read(reader, text, sizeof text), 4);
  EXPECT_STREQ(text, "four");
  EXPECT_TRUE(fs::is_fifo(fifo));
  ::close(reader);
  const Result<> full = write_whole_file("five", "/dev/full");
  EXPECT_FALSE(full);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_FALSE(write_whole_file("six", folder));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace mpc::nbc

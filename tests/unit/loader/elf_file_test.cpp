#include "runtime/loader/elf_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "runtime/loader/library_search.h"
#include "runtime/loader/program_check.h"

namespace mpc::loader {
namespace {

std::string program(const std::string& name) { return PROGRAMS "/" + name; }

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Everything that reads the file; the answers do not matter, only that none reads outside.
void use(const ElfFile& file) {
  (void)file.needed();
  (void)file.soname();
  (void)file.run_path();
  (void)file.find_definition("mpc_main");
  (void)file.find_definition("no such symbol");
  const char* name = nullptr;
  (void)file.find_symbol_at(0x1100, &name);
  (void)file.alignment();
  (void)format_version(file);
  (void)check_program(file);
}

TEST(ElfFile, ReadsAProgramOfMpcc) {
  const auto file = ElfFile::open(program("with_library"));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(format_version(**file), 1);
  EXPECT_TRUE(check_program(**file).ok());
  const auto needed = (*file)->needed();
  EXPECT_NE(std::find(needed.begin(), needed.end(), "libuser.so"), needed.end());
  EXPECT_NE((*file)->find_definition("program_callback"), nullptr);
  EXPECT_EQ((*file)->find_definition("library_add"), nullptr);  // only needed here
}

TEST(ElfFile, SurvivesTruncatedFiles) {
  const std::string bytes = read_file(program("globals"));
  const std::string path = program("truncated");
  for (size_t length = 0; length < bytes.size(); length += length < 1500 ? 13 : 977) {
    std::ofstream(path, std::ios::binary) << bytes.substr(0, length);
    if (const auto file = ElfFile::open(path)) use(**file);
  }
}

TEST(ElfFile, SurvivesDamagedFiles) {
  const std::string bytes = read_file(program("globals"));
  const std::string path = program("damaged");
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 400; ++round) {
    std::string damaged = bytes;
    // Headers, dynamic section and tables lie near the begin and the end.
    for (int i = 0; i < 8; ++i) {
      const size_t at = random() % (round % 2 == 0 ? 1500 : damaged.size());
      damaged[at] = static_cast<char>(random());
    }
    std::ofstream(path, std::ios::binary) << damaged;
    if (const auto file = ElfFile::open(path)) use(**file);
  }
}

TEST(LibrarySearch, FollowsTheDynamicLinkersOrder) {
  const auto file = ElfFile::open(program("with_library"));
  ASSERT_TRUE(file.ok());
  const SearchScope scope{file->get(), {}};
  EXPECT_EQ(find_library("libuser.so", scope), program("other/libuser.so"));
  EXPECT_EQ(find_library("libpreloaded.so", scope), "");
  ::setenv("LD_LIBRARY_PATH", PROGRAMS, 1);
  EXPECT_EQ(find_library("libpreloaded.so", scope), program("libpreloaded.so"));
  ::unsetenv("LD_LIBRARY_PATH");
  EXPECT_TRUE(in_system_directory(find_library("libc.so.6", scope)));
  EXPECT_EQ(find_library("libthere-is-none.so.1", scope), "");
}

TEST(LibrarySearch, ExpandsOrigin) {
  EXPECT_EQ(expand_path_list("$ORIGIN/lib:/a:${ORIGIN}", "/o"),
            (std::vector<std::string>{"/o/lib", "/a", "/o"}));
}

}  // namespace
}  // namespace mpc::loader

#include "tools/mpcrun/program_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace mpc::tools {
namespace {

using Words = std::vector<std::string>;
using Programs = std::vector<Words>;

class ProgramFile : public testing::Test {
 protected:
  ~ProgramFile() override { std::filesystem::remove(path_); }

  Result<Programs> read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return read_program_file(path_);
  }
  Programs programs_of(const std::string& text) {
    const auto programs = read(text);
    return programs ? *programs : Programs{{programs.error().message}};
  }
  std::string fault_of(const std::string& text) {
    const auto programs = read(text);
    return programs ? "none" : programs.error().message.substr(path_.size());
  }

  const std::string path_ =
      testing::TempDir() + "program_file_test." + std::to_string(::getpid());
};

TEST_F(ProgramFile, HasOneProgramInEachLine) {
  EXPECT_EQ(programs_of("-n 1 ./a x\n-n 2\t./b\n"),
            (Programs{{"-n", "1", "./a", "x"}, {"-n", "2", "./b"}}));
  EXPECT_EQ(programs_of("./a : ./b"), (Programs{{"./a"}, {"./b"}}));
  EXPECT_EQ(programs_of("./a\r\n"), (Programs{{"./a"}}));
}

TEST_F(ProgramFile, LeavesCommentsAndEmptyLinesOut) {
  EXPECT_EQ(programs_of("# one\n\n  \n\t# two\n./a #3\n"), (Programs{{"./a", "#3"}}));
}

TEST_F(ProgramFile, JoinsALineThatGoesOn) {
  EXPECT_EQ(programs_of("-n 1 \\\n ./a\\\nx"), (Programs{{"-n", "1", "./a", "x"}}));
  // A comment between the parts of a line is none.
  EXPECT_EQ(programs_of("./a \\\n#b\n"), (Programs{{"./a", "#b"}}));
  EXPECT_EQ(programs_of("./a \\"), (Programs{{"./a"}}));
}

TEST_F(ProgramFile, TakesQuotesAsAShell) {
  EXPECT_EQ(programs_of("./a 'b \"c' \"d 'e\" f\\ g \"\\\"\" ''"),
            (Programs{{"./a", "b \"c", "d 'e", "f g", "\"", ""}}));
  EXPECT_EQ(programs_of("./a $x *"), (Programs{{"./a", "$x", "*"}}));
}

TEST_F(ProgramFile, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(fault_of("./a\n\n./b 'x\n"), ":3: a quote has no end: ./b 'x");
  EXPECT_EQ(fault_of("").substr(0, 19), ": names no program;");
  const auto missing = read_program_file("/no/such/file");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "/no/such/file: cannot be read: No such file or directory");
  EXPECT_FALSE(read_program_file("/usr"));
}

}  // namespace
}  // namespace mpc::tools

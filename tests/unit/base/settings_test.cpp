#include "base/settings.h"

#include <gtest/gtest.h>

namespace mpc {
namespace {

IntSetting g_size{"test.size_bytes", 4096, "bytes", "A size.", 0, 1 << 20};
BoolSetting g_flag{"test.flag", false, "A flag."};
const char* const kColours[] = {"red", "green"};
StringSetting g_path{
    "test.path", "/", "A path.", "a path from the root", [](std::string_view text) {
      return std::string(text.starts_with('/') ? "" : "it has no root");
    }};
EnumSetting g_colour{"test.colour", 1, kColours, 2, "A colour."};

TEST(Settings, TakeSuffixesAndKeepTheirBounds) {
  EXPECT_TRUE(Settings::assign("test.size_bytes=8k"));
  EXPECT_EQ(g_size.get(), 8192);
  const auto refused = Settings::assign("test.size_bytes=2M");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("test.size_bytes"), std::string::npos);
  EXPECT_EQ(g_size.get(), 8192) << "a refused value must not change the setting";
  EXPECT_FALSE(Settings::assign("test.size_bytes=12x"));
}

TEST(Settings, NameTheNearestSettingOfAWrongName) {
  const auto refused = Settings::assign("test.flga=1");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("test.flag"), std::string::npos);
}

TEST(Settings, TakeWordsOfAnEnumOnly) {
  EXPECT_TRUE(Settings::assign("test.colour=red"));
  EXPECT_EQ(g_colour.get(), 0);
  EXPECT_FALSE(Settings::assign("test.colour=blue"));
  EXPECT_EQ(g_colour.accepted(), "red|green");
}

TEST(Settings, RefuseATextThatItsCheckRefuses) {
  EXPECT_TRUE(Settings::assign("test.path=/tmp"));
  const auto refused = Settings::assign("test.path=tmp");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("it has no root"), std::string::npos);
  EXPECT_EQ(g_path.get(), "/tmp");
}

TEST(Settings, KnowVariablesThatAreNone) {
  ::setenv("MPC_TSET_FLAG", "1", 1);
  ::setenv("MPC_JOBS", "2", 1);
  const auto unknown = Settings::unknown_in_environment();
  ::unsetenv("MPC_TSET_FLAG");
  ::unsetenv("MPC_JOBS");
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_NE(unknown.front().find("did you mean 'MPC_TEST_FLAG'?"), std::string::npos);
}

TEST(Settings, ReadTheirEnvironmentVariable) {
  EXPECT_EQ(g_flag.environment_name(), "MPC_TEST_FLAG");
  ::setenv("MPC_TEST_FLAG", "yes", 1);
  EXPECT_TRUE(Settings::load_environment());
  EXPECT_TRUE(g_flag.get());
  ::setenv("MPC_TEST_FLAG", "perhaps", 1);
  EXPECT_FALSE(Settings::load_environment());
  ::unsetenv("MPC_TEST_FLAG");
}

}  // namespace
}  // namespace mpc

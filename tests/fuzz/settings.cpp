// Settings: any text for `mpcrun --set` leaves each setting with a value that it accepts.

#include "base/settings.h"

#include "tests/fuzz/bytes.h"

namespace {

mpc::BoolSetting switch_setting{"fuzz.switch", true, "A switch"};
mpc::IntSetting free_setting{"fuzz.free", 7, "", "Any integer"};
mpc::IntSetting bounded_setting{"fuzz.bounded",           3, "bytes",
                                "An integer with bounds", 1, int64_t{1} << 20};
constexpr const char* kWords[] = {"auto", "0", "closest"};
mpc::EnumSetting word_setting{"fuzz.word", 0, kWords, 3, "A word"};
mpc::StringSetting text_setting{
    "fuzz.text", "none", "A text", "a text without blanks", [](std::string_view text) {
      return std::string(text.find(' ') == text.npos ? "" : "it has a blank");
    }};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mpc::fuzz::Bytes bytes(data, size);
  while (!bytes.is_empty()) {
    const std::string assignment = bytes.word();
    const auto done = mpc::Settings::assign(assignment);
    if (!done) FUZZ_CLAIM(!done.error().message.empty());
    FUZZ_CLAIM(bounded_setting.get() >= 1 && bounded_setting.get() <= 1 << 20);
    FUZZ_CLAIM(word_setting.get() >= 0 && word_setting.get() < 3);
    FUZZ_CLAIM(text_setting.get().find(' ') == std::string::npos);
    // What a setting says of itself, it takes back.
    for (mpc::SettingBase* setting : mpc::Settings::all())
      FUZZ_CLAIM(setting->set(setting->text()).ok());
  }
  return 0;
}

#include "base/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/nearest.h"
#include "base/sizes.h"

namespace mpc {
namespace {

constinit SettingBase* g_first = nullptr;

Error bad_value(const SettingBase& setting, std::string_view text,
                std::string_view reason = {}) {
  return {Errc::kArg,
          fmt::format("setting {}: value '{}' is not accepted{}{}; it takes {}",
                      setting.name(), text, reason.empty() ? "" : ": ", reason,
                      setting.accepted())};
}

// The names of the settings, converted by `name_of`.
template <typename NameOf>
std::vector<std::string> names(NameOf name_of) {
  std::vector<std::string> out;
  for (const SettingBase* s : Settings::all()) out.emplace_back(name_of(*s));
  return out;
}

// Variables that do not belong to the runtime.
bool is_of_others(std::string_view variable) {
  constexpr std::string_view kNames[] = {
      "MPC_CC",      "MPC_CXX",
      "MPC_FC",    // mpcc
      "MPC_JOBS",  // ./run; the tests': MPC_TEST_...
      "MPC_ROOT",    "MPC_HOME",
      "MPC_DIR",     "MPC_PREFIX",
      "MPC_LIB",     "MPC_INC",
      "MPC_VERSION", "MPC_STEP_TAKEN",
      "MPC_SHIM",    "MPC_LAUNCHER_HOSTED",  // wireup's
      "MPC_AGENT",   "MPC_JOB_HOSTS",        // mpcrun's
      "MPC_SPAWNER", "MPC_PARENT_JOB"};
  return variable.starts_with("MPC_TEST_") ||
         std::find(std::begin(kNames), std::end(kNames), variable) != std::end(kNames);
}

}  // namespace

void SettingBase::enlist() noexcept {
  next_ = g_first;
  g_first = this;
}

std::string SettingBase::environment_name() const {
  std::string out = "MPC_";
  for (const char* c = name_; *c != 0; ++c) {
    out += *c == '.' ? '_'
                     : static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  }
  return out;
}

Result<> IntSetting::set(std::string_view text) {
  const std::optional<int64_t> value = parse_size(text);
  if (!value || *value < low_ || *value > high_) return bad_value(*this, text);
  value_.store(*value, std::memory_order_relaxed);
  changed_ = true;
  return {};
}
std::string IntSetting::text() const { return fmt::format("{}", get()); }
std::string IntSetting::default_text() const { return fmt::format("{}", default_); }
std::string IntSetting::accepted() const {
  if (low_ != INT64_MIN && high_ != INT64_MAX) {
    return fmt::format("an integer from {} to {}", low_, high_);
  }
  if (low_ != INT64_MIN) return fmt::format("an integer, {} or more", low_);
  return "an integer";
}

Result<> BoolSetting::set(std::string_view text) {
  const std::string_view yes[] = {"1", "yes", "on", "true"};
  const std::string_view no[] = {"0", "no", "off", "false"};
  const bool is_yes = std::find(std::begin(yes), std::end(yes), text) != std::end(yes);
  const bool is_no = std::find(std::begin(no), std::end(no), text) != std::end(no);
  if (!is_yes && !is_no) return bad_value(*this, text);
  value_.store(is_yes, std::memory_order_relaxed);
  changed_ = true;
  return {};
}
std::string BoolSetting::text() const { return get() ? "1" : "0"; }
std::string BoolSetting::default_text() const { return default_ ? "1" : "0"; }

Result<> StringSetting::set(std::string_view text) {
  const std::string fault = check_ != nullptr ? check_(text) : std::string();
  if (!fault.empty()) return bad_value(*this, text, fault);
  value_ = text;
  changed_ = true;
  return {};
}

Result<> EnumSetting::set(std::string_view text) {
  for (int i = 0; i < word_count_; ++i) {
    if (text == words_[i]) {
      value_.store(i, std::memory_order_relaxed);
      changed_ = true;
      return {};
    }
  }
  return bad_value(*this, text);
}
std::string EnumSetting::accepted() const {
  std::string out;
  for (int i = 0; i < word_count_; ++i) {
    if (i > 0) out += '|';
    out += words_[i];
  }
  return out;
}

std::vector<SettingBase*> Settings::all() {
  std::vector<SettingBase*> out;
  for (SettingBase* s = g_first; s != nullptr; s = s->next_) out.push_back(s);
  std::sort(out.begin(), out.end(), [](SettingBase* a, SettingBase* b) {
    return std::string_view(a->name()) < b->name();
  });
  return out;
}

SettingBase* Settings::find(std::string_view name) {
  for (SettingBase* s = g_first; s != nullptr; s = s->next_) {
    if (name == s->name()) return s;
  }
  return nullptr;
}

Result<> Settings::assign(std::string_view assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return {Errc::kArg, fmt::format("--set {}: expected NAME=VALUE", assignment)};
  }
  const std::string_view name = assignment.substr(0, equals);
  if (SettingBase* setting = find(name))
    return setting->set(assignment.substr(equals + 1));
  return {Errc::kArg,
          fmt::format("there is no setting '{}'{}; `mpcinfo settings` lists all", name,
                      did_you_mean(
                          name, names([](const SettingBase& s) { return s.name(); })))};
}

Result<> Settings::load_environment() {
  for (SettingBase* setting : all()) {
    if (const char* value = std::getenv(setting->environment_name().c_str())) {
      if (auto result = setting->set(value); !result) {
        return {result.error().code,
                fmt::format("environment variable {}: {}", setting->environment_name(),
                            result.error().message)};
      }
    }
  }
  return {};
}

std::vector<std::string> Settings::unknown_in_environment() {
  std::vector<std::string> out;
  const auto settings = all();
  const auto name_of = [](const SettingBase& s) { return s.environment_name(); };
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view whole(*entry);
    const std::string_view name = whole.substr(0, whole.find('='));
    const auto is_its = [&](const SettingBase* s) {
      return name == s->environment_name();
    };
    if (!name.starts_with("MPC_") || is_of_others(name) ||
        std::any_of(settings.begin(), settings.end(), is_its))
      continue;
    out.push_back(
        fmt::format("there is no setting for the environment variable {}{}; "
                    "`mpcinfo settings` lists all",
                    name, did_you_mean(name, names(name_of))));
  }
  return out;
}

}  // namespace mpc

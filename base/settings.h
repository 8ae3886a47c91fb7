#pragma once
// Settings: every tunable is one object, registered once, and that one line is everything.
//
// Role:      `Setting<T> s{"sched.spin_us", 20, "us", "help"}` at namespace scope gives the
//            environment variable MPC_SCHED_SPIN_US, `mpcrun --set sched.spin_us=40`, the
//            listing of `mpcinfo settings`, docs/settings.md and later an MPI_T cvar.
// Users:     every layer registers its own; the command-line programs list and set them.
// Threads:   reads are relaxed loads, from anywhere. set() happens before the ranks start.
// See also:  docs/settings.md (generated).

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mpc {

enum class SettingKind { kBool, kInt, kDouble, kString, kEnum };

class SettingBase {
 public:
  const char* name() const noexcept { return name_; }  // "layer.word_word"
  const char* unit() const noexcept { return unit_; }  // "us", "bytes", "" ...
  const char* help() const noexcept { return help_; }  // one sentence
  SettingKind kind() const noexcept { return kind_; }
  bool is_default() const noexcept { return !changed_; }
  std::string environment_name() const;  // MPC_LAYER_WORD_WORD

  // Caller: before ranks start. Errors: kArg with the name, the value and what is accepted.
  virtual Result<> set(std::string_view text) = 0;
  virtual std::string text() const = 0;          // present value
  virtual std::string default_text() const = 0;  // value without any set()
  virtual std::string accepted() const = 0;      // "0 or more", "auto|0|1", ...

 protected:
  constexpr SettingBase(const char* name, SettingKind kind, const char* unit,
                        const char* help)
      : name_(name), unit_(unit), help_(help), kind_(kind) {}
  ~SettingBase() = default;
  void enlist() noexcept;  // adds this to the process-wide list

  const char* name_;
  const char* unit_;
  const char* help_;
  SettingKind kind_;
  bool changed_ = false;
  SettingBase* next_ = nullptr;
  friend class Settings;
};

// An integer with bounds, written as in base/sizes.h: k, M and G are powers of 1024.
class IntSetting final : public SettingBase {
 public:
  IntSetting(const char* name, int64_t fallback, const char* unit, const char* help,
             int64_t low = INT64_MIN, int64_t high = INT64_MAX) noexcept
      : SettingBase(name, SettingKind::kInt, unit, help),
        value_(fallback),
        default_(fallback),
        low_(low),
        high_(high) {
    enlist();
  }
  int64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }
  Result<> set(std::string_view text) override;
  std::string text() const override;
  std::string default_text() const override;
  std::string accepted() const override;

 private:
  std::atomic<int64_t> value_;
  int64_t default_, low_, high_;
};

class BoolSetting final : public SettingBase {
 public:
  BoolSetting(const char* name, bool fallback, const char* help) noexcept
      : SettingBase(name, SettingKind::kBool, "", help),
        value_(fallback),
        default_(fallback) {
    enlist();
  }
  bool get() const noexcept { return value_.load(std::memory_order_relaxed); }
  Result<> set(std::string_view text) override;
  std::string text() const override;
  std::string default_text() const override;
  std::string accepted() const override {
    return "0|1 (also no|yes, off|on, false|true)";
  }

 private:
  std::atomic<bool> value_;
  bool default_;
};

// A text. Read it before the ranks start or copy it: get() is not synchronised with set().
class StringSetting final : public SettingBase {
 public:
  // Says what is wrong with a text, in a few words; empty: nothing. Caller: set().
  using Check = std::string (*)(std::string_view text);

  StringSetting(const char* name, const char* fallback, const char* help,
                const char* accepted = "any text", Check check = nullptr) noexcept
      : SettingBase(name, SettingKind::kString, "", help),
        default_(fallback),
        accepted_(accepted),
        check_(check) {
    enlist();
  }
  std::string get() const { return changed_ ? value_ : std::string(default_); }
  Result<> set(std::string_view text) override;
  std::string text() const override { return get(); }
  std::string default_text() const override { return default_; }
  std::string accepted() const override { return accepted_; }

 private:
  std::string value_;
  const char* default_;
  const char* accepted_;
  Check check_;
};

// One of a few words; get() is the index of the word.
class EnumSetting final : public SettingBase {
 public:
  EnumSetting(const char* name, int fallback, const char* const* words, int word_count,
              const char* help) noexcept
      : SettingBase(name, SettingKind::kEnum, "", help),
        value_(fallback),
        default_(fallback),
        words_(words),
        word_count_(word_count) {
    enlist();
  }
  int get() const noexcept { return value_.load(std::memory_order_relaxed); }
  Result<> set(std::string_view text) override;
  std::string text() const override { return words_[get()]; }
  std::string default_text() const override { return words_[default_]; }
  std::string accepted() const override;

 private:
  std::atomic<int> value_;
  int default_;
  const char* const* words_;
  int word_count_;
};

class Settings {
 public:
  // Sorted by name.
  static std::vector<SettingBase*> all();
  static SettingBase* find(std::string_view name);
  // "name=value", as for `mpcrun --set`. Errors: kArg; an unknown name lists the nearest ones.
  static Result<> assign(std::string_view assignment);
  // Reads MPC_* from the environment. An MPC_ variable that is no setting is ignored.
  static Result<> load_environment();
  // Those ignored variables, each with the nearest setting: "there is no
  // setting for ...". Not those of mpcc, ./run and the tests, nor those
  // by which systems name the folders of the GNU library MPC.
  static std::vector<std::string> unknown_in_environment();
};

}  // namespace mpc

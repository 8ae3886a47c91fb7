#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <string>

#include "base/settings.h"

namespace mpc::log {
namespace {

constexpr const char* kLevels[] = {"error", "warn", "info", "debug"};
EnumSetting g_level{"log.level", static_cast<int>(Level::kWarn), kLevels, 4,
                    "What the runtime says on stderr."};
constinit std::atomic<size_t (*)(char*, size_t)> g_prefix{nullptr};

const char* name_of(Level level) {
  switch (level) {
    case Level::kError:
      return "error";
    case Level::kWarn:
      return "warning";
    case Level::kInfo:
      return "info";
    case Level::kDebug:
      return "debug";
  }
  return "?";
}

}  // namespace

bool enabled(Level level) noexcept { return static_cast<int>(level) <= g_level.get(); }

void set_prefix_source(size_t (*source)(char*, size_t)) noexcept {
  g_prefix.store(source, std::memory_order_release);  // pairs with the acquire in line
}

void line(Level level, std::string_view text) noexcept {
  char prefix[64];
  size_t n = 0;
  if (auto* source = g_prefix.load(std::memory_order_acquire)) {
    n = source(prefix, sizeof prefix);
  }
  std::string out = n == 0
                        ? fmt::format("mpc: {}: {}\n", name_of(level), text)
                        : fmt::format("mpc[{}]: {}: {}\n", std::string_view(prefix, n),
                                      name_of(level), text);
  [[maybe_unused]] const ssize_t ignored =
      ::write(STDERR_FILENO, out.data(), out.size());
}

}  // namespace mpc::log

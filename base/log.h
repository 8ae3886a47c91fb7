#pragma once
// Log: one line per event on stderr, off by default.
//
// Role:      a user switches it on to see what the runtime does (`--set log.level=info`).
// Users:     every layer; never on the hot path (house style, rule 9).
// Threads:   any rank or kernel thread; each line is one write(2), so lines stay whole.
// See also:  base/settings.h (log.level), base/trace.h for events with times.

#include <fmt/format.h>

#include <string_view>

namespace mpc::log {

enum class Level { kError = 0, kWarn = 1, kInfo = 2, kDebug = 3 };

bool enabled(Level level) noexcept;
// Installed by runtime/job: a short text such as "rank 3" for the line's prefix.
void set_prefix_source(size_t (*source)(char* buffer, size_t size)) noexcept;
// Writes one line, `mpc[rank 3]: warn: text`. Appends the newline.
void line(Level level, std::string_view text) noexcept;

template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::kWarn))
    line(Level::kWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::kInfo))
    line(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::kDebug))
    line(Level::kDebug, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace mpc::log

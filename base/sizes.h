#pragma once
// Sizes as people write them: "4096", "64k", "64KB", "64KiB", "1.5M".
//
// Role:      the one parser for sizes: settings, `mpcrun --stack-size`, `mpcinfo --bytes`.
// Users:     base/settings.cpp, tools/mpcrun, tools/mpcinfo.
// Threads:   pure functions.
// See also:  docs/settings.md.

#include <cstdint>
#include <optional>
#include <string_view>

namespace mpc {

// A number, which may be negative or hexadecimal (0x...), and one of the units b, k, m, g (powers
// of 1024; "kb" and "kib" mean the same, in any case). Digits after a point need k, m or g. Returns
// nothing if `text` is anything else or the size does not fit.
std::optional<int64_t> parse_size(std::string_view text) noexcept;

}  // namespace mpc

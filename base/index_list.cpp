#include "base/index_list.h"

#include <fmt/format.h>

#include <charconv>

namespace mpc {
namespace {

Error bad_list(std::string_view text) {
  return {Errc::kArg,
          fmt::format("'{}' is not a list of numbers such as 0,2,5-7", text)};
}

// Parses a number at the beginning of `text` and removes it.
bool take_number(std::string_view& text, int& number) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

Result<std::vector<int>> parse_index_list(std::string_view text) {
  constexpr int kHighest = 1 << 20;  // more cores than any machine has
  std::vector<int> result;
  std::string_view rest = text;
  for (;;) {
    int first = 0;
    if (!take_number(rest, first)) return bad_list(text);
    int last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      if (!take_number(rest, last) || last < first) return bad_list(text);
    }
    if (last > kHighest) return bad_list(text);
    for (int i = first; i <= last; ++i) result.push_back(i);
    if (rest.empty()) return result;
    if (!rest.starts_with(',')) return bad_list(text);
    rest.remove_prefix(1);
  }
}

}  // namespace mpc

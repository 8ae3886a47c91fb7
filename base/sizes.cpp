#include "base/sizes.h"

#include <cctype>
#include <charconv>

namespace mpc {
namespace {

bool is_same(std::string_view text, std::string_view lower_case) {
  if (text.size() != lower_case.size()) return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(text[i])) != lower_case[i])
      return false;
  return true;
}

// The power of two that a unit stands for; -1: no such unit.
int shift_of(std::string_view unit) {
  if (unit.empty() || is_same(unit, "b")) return 0;
  const std::string_view rest = unit.substr(1);
  if (!rest.empty() && !is_same(rest, "b") && !is_same(rest, "ib")) return -1;
  switch (std::tolower(static_cast<unsigned char>(unit.front()))) {
    case 'k':
      return 10;
    case 'm':
      return 20;
    case 'g':
      return 30;
    default:
      return -1;
  }
}

// Consumes the digits after a point, if there are any. Returns their value, below 1.
double take_fraction(std::string_view& text) {
  double value = 0, digit_value = 0.1;
  while (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
    value += digit_value * (text.front() - '0');
    digit_value /= 10;
    text.remove_prefix(1);
  }
  return value;
}

}  // namespace

std::optional<int64_t> parse_size(std::string_view text) noexcept {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (is_hexadecimal) text.remove_prefix(2);
  uint64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(),
                                            whole, is_hexadecimal ? 16 : 10);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  const bool has_point = !is_hexadecimal && text.starts_with('.');
  if (has_point) text.remove_prefix(1);
  const size_t digits_begin = text.size();
  const double fraction = has_point ? take_fraction(text) : 0;
  if (has_point && text.size() == digits_begin) return std::nullopt;
  const int shift = shift_of(text);
  if (shift < 0 || (has_point && shift == 0)) return std::nullopt;
  const uint64_t factor = uint64_t{1} << shift;
  uint64_t value = 0;
  if (__builtin_mul_overflow(whole, factor, &value) ||
      __builtin_add_overflow(
          value, static_cast<uint64_t>(fraction * static_cast<double>(factor)), &value))
    return std::nullopt;
  const uint64_t most = static_cast<uint64_t>(INT64_MAX) + (is_negative ? 1 : 0);
  if (value > most) return std::nullopt;
  return static_cast<int64_t>(is_negative ? 0 - value : value);
}

}  // namespace mpc

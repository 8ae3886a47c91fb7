#pragma once
// Integers of JSON that somebody else has written: out of range is an error, not another number.
//
// Role:      nlohmann-json converts silently: 1e24 to an int64_t is undefined behaviour, 2^32 to an int is 0.
// Users:     nbc/model (model_json.cpp), tools/mpcinfo (trace_json.h, profile_file.cpp).
// Threads:   any.

#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

namespace mpc {

// nullopt: no integer (1e3 is none, as 1.0), or none that an int64_t can hold. `Json` is nlohmann's: base
// does without its headers.
template <class Json>
std::optional<int64_t> integer_of(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() &&
      value.template get<uint64_t>() >
          static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return std::nullopt;
  return value.template get<int64_t>();
}

// Throws std::out_of_range that names `what` if the value is no integer from `least` to `most`.
template <class Json>
int64_t integer_in(const Json& value, int64_t least, int64_t most, const char* what) {
  const std::optional<int64_t> number = integer_of(value);
  if (!number || *number < least || *number > most)
    throw std::out_of_range(std::string(what) + " must be an integer from " +
                            std::to_string(least) + " to " + std::to_string(most));
  return *number;
}

}  // namespace mpc

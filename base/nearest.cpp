#include "base/nearest.h"

#include <fmt/format.h>

#include <algorithm>

namespace mpc {
namespace {

// Levenshtein distance: how many letters must be changed, added or removed.
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int up = row[j];
      row[j] = std::min(
          {row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = up;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  std::string_view nearest;
  int best = 4;  // a greater distance is no help
  for (const std::string& candidate : known) {
    if (const int d = edit_distance(name, candidate); d < best) {
      best = d;
      nearest = candidate;
    }
  }
  return nearest.empty() ? std::string() : fmt::format(", did you mean '{}'?", nearest);
}

}  // namespace mpc

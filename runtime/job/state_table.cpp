#include "runtime/job/state_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace mpc::job {
namespace {

// The same text for several ranks. A text about a thread of a rank stays as it is.
std::string plural(std::string text) {
  constexpr std::pair<const char*, const char*> kWords[] = {
      {"waits in", "wait in"},
      {"runs in", "run in"},
      {"running in its own code", "running in their own code"}};
  for (const auto& [one, many] : kWords)
    if (text.rfind(one, 0) == 0) text.replace(0, std::strlen(one), many);
  return text;
}

void put(std::vector<std::byte>& out, const void* data, size_t n) {
  const auto* const first = static_cast<const std::byte*>(data);
  out.insert(out.end(), first, first + n);
}

bool get(std::span<const std::byte>& in, void* data, size_t n) {
  if (n > in.size()) return false;
  if (n != 0) std::memcpy(data, in.data(), n);
  in = in.subspan(n);
  return true;
}

// Precedes each row: its ranks and its text follow.
struct RowHead {
  int64_t longest_ns;
  uint32_t threads, ranks, text_bytes;
};

}  // namespace

std::string format_ranks(const std::vector<int>& ranks) {
  std::string out;
  int pieces = 0;
  for (size_t i = 0; i < ranks.size();) {
    size_t j = i;
    while (j + 1 < ranks.size() && ranks[j + 1] == ranks[j] + 1) ++j;
    if (++pieces > 16) {
      out += fmt::format(",... ({} in all)", ranks.size());
      break;
    }
    if (!out.empty()) out += ',';
    out +=
        i == j ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[j]);
    i = j + 1;
  }
  return out.empty() ? "none" : out;
}

StateTable merged(std::vector<StateRow> rows) {
  std::map<std::string, StateRow> groups;
  for (StateRow& row : rows) {
    StateRow& group = groups[row.text];
    group.ranks.insert(group.ranks.end(), row.ranks.begin(), row.ranks.end());
    group.threads += row.threads;
    group.longest_ns = std::max(group.longest_ns, row.longest_ns);
  }
  StateTable table;
  for (auto& [text, group] : groups) {
    group.text = text;
    std::sort(group.ranks.begin(), group.ranks.end());
    group.ranks.erase(std::unique(group.ranks.begin(), group.ranks.end()),
                      group.ranks.end());
    if (!group.ranks.empty()) table.push_back(std::move(group));
  }
  std::sort(table.begin(), table.end(), [](const auto& a, const auto& b) {
    return a.ranks.front() < b.ranks.front();
  });
  return table;
}

std::string to_text(const StateTable& table) {
  std::string out;
  for (const StateRow& row : table) {
    const bool is_one = row.ranks.size() == 1;
    out += fmt::format("  rank{} {}: {}", is_one ? "" : "s", format_ranks(row.ranks),
                       is_one ? row.text : plural(row.text));
    if (row.threads > row.ranks.size())
      out += fmt::format(" ({} threads)", row.threads);
    if (row.longest_ns > 0)
      out +=
          fmt::format(", since {:.1f} s", static_cast<double>(row.longest_ns) * 1e-9);
    out += '\n';
  }
  return out;
}

std::vector<std::byte> encode(const StateTable& table) {
  std::vector<std::byte> out;
  for (const StateRow& row : table) {
    RowHead head{};
    head.longest_ns = row.longest_ns;
    head.threads = row.threads;
    head.ranks = static_cast<uint32_t>(row.ranks.size());
    head.text_bytes = static_cast<uint32_t>(row.text.size());
    put(out, &head, sizeof head);
    put(out, row.ranks.data(), row.ranks.size() * sizeof(int));
    put(out, row.text.data(), row.text.size());
  }
  return out;
}

bool decode(std::span<const std::byte> bytes, StateTable* table) {
  while (!bytes.empty()) {
    RowHead head;
    if (!get(bytes, &head, sizeof head)) return false;
    if (head.ranks > bytes.size() / sizeof(int) || head.text_bytes > bytes.size())
      return false;
    StateRow row;
    row.longest_ns = head.longest_ns;
    row.threads = head.threads;
    row.ranks.resize(head.ranks);
    row.text.resize(head.text_bytes);
    if (!get(bytes, row.ranks.data(), head.ranks * sizeof(int)) ||
        !get(bytes, row.text.data(), head.text_bytes))
      return false;
    table->push_back(std::move(row));
  }
  return true;
}

}  // namespace mpc::job

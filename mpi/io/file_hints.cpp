#include "mpi/io/file_hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace mpc::mpi {
namespace {

enum class Value : char { kSwitch, kBytes, kNumber, kBoolean, kAny };
struct Known {
  std::string_view key;
  Value values;
  // Null: not shown without being set.
  io::Switch io::Tuning::*choice = nullptr;
  io::Count io::Tuning::*bytes = nullptr;
};
using T = io::Tuning;
// First the keys that change something, then those that are only stored.
constexpr Known kKnown[] = {
    {"romio_ds_read", Value::kSwitch, &T::sieve_reads},
    {"romio_ds_write", Value::kSwitch, &T::sieve_writes},
    {"romio_cb_read", Value::kSwitch, &T::collective_reads},
    {"romio_cb_write", Value::kSwitch, &T::collective_writes},
    {"ind_rd_buffer_size", Value::kBytes, nullptr, &T::read_window_bytes},
    {"ind_wr_buffer_size", Value::kBytes, nullptr, &T::write_window_bytes},
    {"cb_buffer_size", Value::kBytes, nullptr, &T::collective_window_bytes},
    {"collective_buffering", Value::kBoolean},
    {"cb_nodes", Value::kNumber},
    {"cb_block_size", Value::kBytes},
    {"cb_config_list", Value::kAny},
    {"romio_no_indep_rw", Value::kBoolean},
    {"access_style", Value::kAny},
    {"chunked", Value::kAny},
    {"chunked_item", Value::kAny},
    {"chunked_size", Value::kAny},
    {"file_perm", Value::kAny},
    {"io_node_list", Value::kAny},
    {"nb_proc", Value::kNumber},
    {"num_io_nodes", Value::kNumber},
    {"striping_factor", Value::kNumber},
    {"striping_unit", Value::kBytes},
    {"mpi_memory_alloc_kinds", Value::kAny},
};

std::optional<io::Count> number_in(std::string_view text, int base = 10) {
  io::Count value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || stop != end || value <= 0) return std::nullopt;
  return value;
}

constexpr std::pair<io::Switch, std::string_view> kSwitches[] = {
    {io::Switch::kAutomatic, "automatic"},
    {io::Switch::kEnable, "enable"},
    {io::Switch::kDisable, "disable"}};
std::optional<io::Switch> switch_in(std::string_view text) {
  for (const auto& [value, name] : kSwitches)
    if (text == name) return value;
  return std::nullopt;
}
std::string_view name_of(io::Switch wanted) {
  for (const auto& [value, name] : kSwitches)
    if (value == wanted) return name;
  return {};
}

// A window must hold something, and fit into memory.
constexpr io::Count kLeastWindow = 4096, kMostWindow = io::Count{1} << 30;

bool is_accepted(const Known& known, std::string_view value) {
  switch (known.values) {
    case Value::kSwitch:
      return switch_in(value).has_value();
    case Value::kBytes:
    case Value::kNumber:
      return number_in(value).has_value();
    case Value::kBoolean:
      return value == "true" || value == "false";
    case Value::kAny:
      break;
  }
  return true;
}

void apply(File& file, const Known& known, std::string_view value) {
  if (known.choice != nullptr) file.tuning.*known.choice = *switch_in(value);
  if (known.bytes != nullptr)
    file.tuning.*known.bytes = std::clamp(*number_in(value), kLeastWindow, kMostWindow);
  // MPI's own key for both of ROMIO's; "true" leaves the choice to the runtime.
  if (known.key == "collective_buffering" && value == "false")
    file.tuning.collective_reads = file.tuning.collective_writes = io::Switch::kDisable;
}

}  // namespace

void set_default_hints(File& file) {
  const io::Tuning standard;
  for (const Known& known : kKnown) {
    if (known.choice != nullptr)
      file.hints.set(known.key, name_of(standard.*known.choice));
    if (known.bytes != nullptr)
      file.hints.set(known.key, fmt::to_string(standard.*known.bytes));
  }
}

void keep_hints(File& file, const InfoHints& given) {
  for (const auto& [key, value] : given.entries()) {
    const auto known = std::ranges::find(kKnown, key, &Known::key);
    if (known == std::end(kKnown) || !is_accepted(*known, value)) continue;
    file.hints.set(key, value);
    apply(file, *known, value);
  }
}

unsigned permissions_of(const Info* info) {
  constexpr unsigned kAll = 0666;
  if (info == nullptr) return kAll;
  const std::string* const given = info->hints.find("file_perm");
  if (given == nullptr) return kAll;
  const auto value = number_in(*given, 8);
  return value && *value <= 07777 ? static_cast<unsigned>(*value) : kAll;
}

}  // namespace mpc::mpi

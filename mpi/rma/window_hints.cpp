#include "mpi/rma/window_hints.h"

namespace mpc::mpi {
namespace {

enum class Value : char { kBoolean, kAny };
struct Known {
  std::string_view key, standard;  // the default
  Value values;
  bool is_for_shared_only = false;
};
constexpr Known kKnown[] = {
    {"no_locks", "false", Value::kBoolean},
    {"accumulate_ordering", "rar,raw,war,waw", Value::kAny},
    {"accumulate_ops", "same_op_no_op", Value::kAny},
    {"same_size", "false", Value::kBoolean},
    {"same_disp_unit", "false", Value::kBoolean},
    {"mpi_accumulate_granularity", "0", Value::kAny},
    {"alloc_shared_noncontig", "false", Value::kBoolean, true},
};

const Known* find(std::string_view key) noexcept {
  for (const Known& known : kKnown)
    if (known.key == key) return &known;
  return nullptr;
}

}  // namespace

bool is_true(const InfoHints& hints, std::string_view key) {
  const std::string* const value = hints.find(key);
  return value != nullptr && *value == "true";
}

void set_default_hints(Win& win) {
  for (const Known& known : kKnown) {
    if (known.is_for_shared_only && win.flavor() != MPI_WIN_FLAVOR_SHARED) continue;
    win.hints.set(known.key, known.standard);
  }
}

void keep_hints(Win& win, const InfoHints& given) {
  for (const auto& [key, value] : given.entries()) {
    if (key == "mpi_memory_alloc_kinds") win.hints.set(key, value);
    const Known* const known = find(key);
    if (known == nullptr) continue;
    if (known->values == Value::kBoolean && value != "true" && value != "false")
      continue;
    win.hints.set(key, value);
  }
  // Around loads and stores of shared memory MPI_Win_lock_all is what makes them an epoch, and programs
  // that promise no locks call it all the same.
  win.has_no_locks =
      win.flavor() != MPI_WIN_FLAVOR_SHARED && is_true(win.hints, "no_locks");
}

}  // namespace mpc::mpi

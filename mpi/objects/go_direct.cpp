#include "mpi/objects/go_direct.h"

#include <fmt/format.h>

#include "base/settings.h"
#include "mpi/objects/check.h"

namespace mpc::mpi {
namespace {

BoolSetting is_on(
    "nbc.direct", true,
    "Blocking collectives whose members all wait for each other copy straight "
    "between the members' buffers, and small ones show their data to the others, also "
    "non-blocking ones; 0: by messages");

}  // namespace

Err make_error_of_outcome(const nbc::direct::Outcome& outcome, const char* name) {
  if (outcome.mismatch != nullptr) {
    return fail(
        outcome.calls_differ ? MPI_ERR_NOT_SAME : MPI_ERR_TRUNCATE,
        fmt::format("{}: {} differ between the ranks: {}", name,
                    outcome.calls_differ ? "calls or operations" : "counts or types",
                    *outcome.mismatch));
  }
  if (outcome.truncated_by < 0) {
    return fail(MPI_ERR_NOT_SAME,
                fmt::format("{}: a message from rank {} is shorter than this rank's "
                            "buffer: counts or types differ between the ranks",
                            name, outcome.short_from));
  }
  return fail(MPI_ERR_TRUNCATE,
              fmt::format("{}: a message from rank {} is longer than this "
                          "rank's buffer: counts or types differ between "
                          "the ranks",
                          name, outcome.truncated_by));
}

bool is_direct_on() noexcept { return is_on.get() && !is_checking(); }

namespace detail {

constinit std::atomic<int8_t> g_is_on_for_ranks{-1};

bool ask_for_ranks() noexcept {
  const bool is_on_now = is_direct_on();
  g_is_on_for_ranks.store(is_on_now ? 1 : 0, std::memory_order_relaxed);
  return is_on_now;
}

}  // namespace detail

}  // namespace mpc::mpi

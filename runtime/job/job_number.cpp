#include "runtime/job/job_number.h"

#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "base/clock.h"

namespace mpc::job {
namespace {

constexpr char kKey[] = "mpc.job";

// Of several processes: what the first one has told, and which one this is. Before ranks start.
constinit uint64_t g_told = 0;
constinit uint64_t g_process = 0;

uint64_t own_number() noexcept {
  static const uint64_t number = [] {
    uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random)
      random = now_ns() ^ static_cast<uint64_t>(::getpid()) << 40;
    return random | 1;  // never 0
  }();
  return number;
}

}  // namespace

uint64_t job_number() noexcept { return g_told != 0 ? g_told : own_number(); }

uint64_t new_number() noexcept {
  static constinit std::atomic<uint64_t> last{0};
  // relaxed: a number only.
  return g_process << 40 | (last.fetch_add(1, std::memory_order_relaxed) + 1);
}

Result<> put_job_number(wireup::Wireup& wireup) {
  if (wireup.index() != 0) return {};
  const uint64_t number = own_number();
  wireup::Bytes bytes(sizeof number);
  std::memcpy(bytes.data(), &number, sizeof number);
  return wireup.put(kKey, bytes);
}

Result<> get_job_number(wireup::Wireup& wireup) {
  auto bytes = wireup.get(0, kKey);
  MPC_TRY(bytes);
  if (bytes->size() != sizeof g_told)
    return {Errc::kSystem, "process 0 does not tell the number of the job"};
  std::memcpy(&g_told, bytes->data(), sizeof g_told);
  g_process = static_cast<uint64_t>(wireup.index());
  return {};
}

}  // namespace mpc::job

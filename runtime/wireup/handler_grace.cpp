#include "runtime/wireup/handler_grace.h"

#include <algorithm>

#include "base/clock.h"
#include "base/settings.h"
#include "runtime/wireup/verdict.h"

namespace mpc::wireup {
namespace {

IntSetting signal_grace_ms{"job.signal_grace_ms",
                           1500,
                           "ms",
                           "When SIGTERM, SIGINT or SIGHUP ends the job, so long ranks "
                           "may go on if one of them "
                           "handles that signal (to write a checkpoint), as far as "
                           "they do not wait for each other",
                           0,
                           3'600'000};

}  // namespace

uint64_t handler_grace_ns() noexcept {
  return static_cast<uint64_t>(signal_grace_ms.get()) * kMs;
}

uint64_t handler_patience_ns() noexcept {
  constexpr uint64_t kUntilAllHaveEndedNs = 1000 * kMs;
  return std::max(Verdict::kPatienceNs, handler_grace_ns() + kUntilAllHaveEndedNs);
}

}  // namespace mpc::wireup

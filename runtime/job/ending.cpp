#include "runtime/job/ending.h"

#include "base/settings.h"
#include "runtime/wireup/handler_grace.h"

namespace mpc::job {
namespace {

IntSetting grace_ms{
    "job.grace_ms",
    100,
    "ms",
    "When a rank has failed (exit status, MPI_Abort, crash), so long the others may go "
    "on, as far "
    "as they do not wait for each other: what they are about to print is not lost",
    0,
    60'000};

}  // namespace

bool Ending::request(int status, const std::string* message, Grace grace) noexcept {
  int expected = kRunning;
  if (!state_.compare_exchange_strong(expected, kClaimed, std::memory_order_relaxed))
    return false;
  status_ = status;
  message_ = message;
  grace_ = grace;
  state_.store(kRequested, std::memory_order_release);  // pairs with the loads below
  return true;
}

void Ending::note(Note& where, int status, const std::string& message) {
  int expected = kRunning;
  if (!where.state.compare_exchange_strong(expected, kClaimed,
                                           std::memory_order_relaxed))
    return;
  where.status = status;
  where.message = message;
  where.state.store(kRequested, std::memory_order_release);  // pairs with is_there()
}

void Ending::note_failure(int status, const std::string& message) {
  note(failure_, status, message);
}
void Ending::note_refusal(int status, const std::string& message) {
  note(refusal_, status, message);
}

int Ending::status() const noexcept {
  if (failure_.is_there()) return failure_.status;
  if (state_.load(std::memory_order_acquire) == kRequested && status_ != 0)
    return status_;
  return refusal_.is_there() ? refusal_.status : 0;
}

std::string Ending::messages() const {
  std::string out;
  const auto add = [&](const std::string& message) {
    out += message;
    if (!out.empty() && out.back() != '\n') out += '\n';
  };
  if (refusal_.is_there()) add(refusal_.message);
  if (failure_.is_there()) add(failure_.message);
  if (state_.load(std::memory_order_acquire) == kRequested && message_ != nullptr)
    add(*message_);
  return out;
}

Grace Ending::grace() const noexcept {
  return state_.load(std::memory_order_acquire) == kRequested ? grace_ : Grace::kNone;
}

uint64_t Ending::grace_ns() const noexcept {
  switch (grace()) {
    case Grace::kNone:
      return 0;
    case Grace::kLastWords:
      return static_cast<uint64_t>(grace_ms.get()) * 1'000'000;
    case Grace::kHandlers:
      return wireup::handler_grace_ns();
  }
  return 0;
}

}  // namespace mpc::job

// SpinBudget and BlockingRegion.
#include <immintrin.h>

#include "base/settings.h"
#include "scheduler/carrier.h"
#include "scheduler/execution.h"
#include "scheduler/worker.h"

namespace mpc::sched {

IntSetting spin_us("sched.spin_us", 20, "us",
                   "How long a waiting rank polls before it sleeps, if no other rank of its "
                   "worker is ready",
                   0, 1'000'000);

SpinBudget::SpinBudget() noexcept : left_(0) {}

bool SpinBudget::once() noexcept {
  Execution& self = Execution::self();
  const Worker* worker = self.worker();
  if (worker != nullptr && worker->has_ready()) return false;
  if (end_ns_ == 0) end_ns_ = now_ns() + static_cast<uint64_t>(spin_us.get()) * 1000;
  constexpr uint32_t kPausesPerClockRead = 16;
  if (++left_ % kPausesPerClockRead == 0 && now_ns() >= end_ns_) return false;
  _mm_pause();
  return true;
}

namespace {

void leave_again(Ult& ult) noexcept {
  ult.return_to_worker();
  ult.carrier().leave();  // another one than before
}

}  // namespace

BlockingRegion::BlockingRegion() noexcept {
  Execution& self = Execution::self();
  if (!self.is_ult()) return;
  Ult& ult = static_cast<Ult&>(self);
  if (ult.region_depth++ == 0) ult.carrier().set_in_region(true);
}

BlockingRegion::~BlockingRegion() {
  Execution& self = Execution::self();
  if (!self.is_ult()) return;
  Ult& ult = static_cast<Ult&>(self);
  if (--ult.region_depth != 0) return;
  Carrier& carrier = ult.carrier();
  carrier.set_in_region(false);
  if (carrier.enter())
    carrier.leave();
  else
    leave_again(ult);
}

}  // namespace mpc::sched

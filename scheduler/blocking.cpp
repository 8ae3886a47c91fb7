// BlockingRegion: the worker is released while its rank blocks in the kernel.
#include "scheduler/carrier.h"
#include "scheduler/execution.h"

namespace mpc::sched {
namespace {

// The worker was retaken: queues the Ult there, and returns when its turn comes.
[[gnu::cold, gnu::noinline]] void come_back(Ult& ult) noexcept {
  ult.return_to_worker();
  ult.carrier().leave();  // a different carrier than before
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
  ult.carrier().set_in_region(false);
  if (ult.carrier().enter())
    ult.carrier().leave();
  else
    come_back(ult);
}

}  // namespace mpc::sched

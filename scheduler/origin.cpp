#include "scheduler/origin.h"

#include "scheduler/carrier.h"
#include "scheduler/ult.h"
#include "scheduler/worker.h"

namespace mpc::sched {

void unpark_at_origin(Execution& execution) noexcept {
  if (execution.is_ult())
    execution.unpark_on(*static_cast<Ult&>(execution).origin);
  else
    execution.unpark();
}

void return_to_origin() noexcept {
  Execution& execution = Execution::self();
  if (!execution.is_ult()) return;
  Ult& self = static_cast<Ult&>(execution);
  if (execution.worker() == self.origin) return;
  if (!self.carrier().enter()) self.return_to_worker();
  if (self.carrier().worker() != self.origin)  // re-read after each switch
    self.carrier().switch_away(self, Carrier::After::kReturn);
  self.carrier().leave();
}

}  // namespace mpc::sched

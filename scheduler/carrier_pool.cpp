#include "scheduler/carrier_pool.h"

namespace mpc::sched {

Result<> CarrierPool::start(Worker& worker) {
  auto carrier = std::make_unique<Carrier>(plan_);
  MPC_TRY(carrier->start(&worker));
  const Locked lock(lock_);
  carriers_.push_back(std::move(carrier));
  return {};
}

void CarrierPool::add_spare(Carrier& carrier) noexcept {
  const Locked lock(lock_);
  carrier.next_spare = spares_;
  spares_ = &carrier;
}

Carrier* CarrierPool::take_spare() noexcept {
  const Locked lock(lock_);
  if (Carrier* spare = spares_) {
    spares_ = spare->next_spare;
    return spare;
  }
  auto carrier = std::make_unique<Carrier>(plan_);
  if (!carrier->start(nullptr)) return nullptr;
  carriers_.push_back(std::move(carrier));
  return carriers_.back().get();
}

void CarrierPool::stop() noexcept {
  std::vector<Carrier*> all;
  {
    const Locked lock(lock_);
    for (auto& carrier : carriers_) all.push_back(carrier.get());
  }
  // Without the lock: a carrier may just have lost its worker, and need the lock for add_spare().
  for (Carrier* carrier : all) carrier->stop();
}

}  // namespace mpc::sched

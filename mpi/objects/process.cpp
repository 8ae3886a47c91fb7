#include "mpi/objects/process.h"

#include <atomic>
#include <span>
#include <vector>

#include "runtime/job/job.h"
#include "runtime/message/control.h"

namespace mpc::mpi {
namespace {

Process& the_only_one() {
  static Process* const process = new Process(0, 1);
  return *process;
}

// Made at the first need: of a rank that lives in it, or of a message for it.
Process& one_of_several(const job::ProcessMap& map, int index) {
  static auto* const all =
      new std::vector<std::atomic<Process*>>(static_cast<size_t>(map.processes()));
  std::atomic<Process*>& slot = (*all)[static_cast<size_t>(index)];
  // acquire pairs with the exchange.
  Process* present = slot.load(std::memory_order_acquire);
  if (present != nullptr) return *present;
  auto made = std::make_unique<Process>(index, map.processes());
  if (slot.compare_exchange_strong(present, made.get(), std::memory_order_acq_rel))
    return *made.release();
  return *present;
}

void arrive(void* map, int here, int from,
            std::span<const std::byte> message) noexcept {
  one_of_several(*static_cast<const job::ProcessMap*>(map), here)
      .exchange->arrive(from, message);
}

}  // namespace

Process::Process(int its_index, int processes)
    : index(its_index),
      ids(its_index, processes),
      exchange(processes > 1 ? std::make_unique<NetExchange>(its_index) : nullptr) {}

Process& Process::of(const job::Rank& rank) {
  const job::ProcessMap& map = rank.job->processes();
  if (map.is_one_process()) [[likely]]
    return the_only_one();
  return one_of_several(map, map.process_of(rank.world_rank));
}

void Process::listen(const job::ProcessMap& map) noexcept {
  msg::set_control_handler(msg::ControlChannel::kMeeting, &arrive,
                           const_cast<job::ProcessMap*>(&map));
}

}  // namespace mpc::mpi

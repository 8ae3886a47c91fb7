#include "mpi/objects/process.h"

#include <atomic>
#include <span>
#include <vector>

#include "runtime/job/job.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/control.h"
#include "runtime/rma/port.h"

namespace mpc::mpi {
namespace {

constexpr uint64_t kPairsOfAJob = 4096;

Process& the_only_one() {
  static Process* const process = new Process(0, 1);
  return *process;
}

// Caller: the job has neighbours.
Process& the_one_abroad() {
  static Process* const process = new Process(Process::Abroad{});
  return *process;
}

// Created when first needed: by a rank that lives in it, or by a message for it.
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
  const auto& processes = *static_cast<const job::ProcessMap*>(map);
  Process& process = job::neighbours::is_far_process(here)
                         ? the_one_abroad()
                         : one_of_several(processes, here);
  process.exchange->arrive(from, message);
}

}  // namespace

// A job uses the first half of the ids; the later half is for communicators of several jobs.
Process::Process(int its_index, int processes)
    : index(its_index),
      ids(its_index, 2 * processes),
      exchange(processes > 1 ? std::make_unique<NetExchange>(its_index) : nullptr) {}

// Each slot has a part of the later half, and each job that has had the slot uses a different part
// of that. So the next job in a slot does not give out ids that communicators of an earlier one may
// still have.
Process::Process(Abroad)
    : index(job::neighbours::far_process(job::neighbours::own_slot())),
      ids(job::neighbours::kMostSlots + 1 + job::neighbours::own_slot(),
          2 * (job::neighbours::kMostSlots + 1)),
      exchange(std::make_unique<NetExchange>(index)) {
  constexpr uint64_t kPairsOfASlot =
      ContextIds::kEndPair / (uint64_t{2} * (job::neighbours::kMostSlots + 1));
  const uint64_t before = job::neighbours::generation() * kPairsOfAJob % kPairsOfASlot;
  if (before != 0) ids.take(static_cast<int>(before) - 1);
}

Process& Process::abroad() noexcept { return the_one_abroad(); }

Process& Process::of(const job::Rank& rank) {
  const job::ProcessMap& map = rank.job->processes();
  if (map.is_one_process()) [[likely]]
    return the_only_one();
  return one_of_several(map, map.process_of(rank.world_rank));
}

void Process::listen(const job::ProcessMap& map) noexcept {
  msg::set_control_handler(msg::ControlChannel::kMeeting, &arrive,
                           const_cast<job::ProcessMap*>(&map));
  rma::Port::listen(map);
}

}  // namespace mpc::mpi

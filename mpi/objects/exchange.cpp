#include "mpi/objects/exchange.h"

namespace mpc::mpi {

void MemoryExchange::allgather(const MeetingKey& key, std::span<const int> processes,
                               int index, Bytes mine, Deliver deliver) {
  Pending complete;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = pending_.try_emplace(key).first;
    Pending& pending = entry->second;
    pending.bytes.resize(processes.size());
    pending.bytes[static_cast<size_t>(index)] = std::move(mine);
    pending.deliveries.push_back(std::move(deliver));
    if (pending.deliveries.size() < processes.size()) return;
    complete = std::move(pending);
    pending_.erase(entry);  // the key is free for the next meeting
  }
  // Each process gets bytes of its own.
  for (const Deliver& each : complete.deliveries) each(complete.bytes);
}

}  // namespace mpc::mpi

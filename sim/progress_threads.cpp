#include "sim/progress_threads.h"

#include <iterator>
#include <utility>

namespace mpc::sim {

ProgressThreads::ProgressThreads(const topo::Machine& machine,
                                 const Placement& placement, const NodeTable& nodes,
                                 Take take)
    : machine_(machine),
      placement_(placement),
      nodes_(nodes),
      take_(std::move(take)),
      threads_(placement.core_of_rank.size()),
      thread_of_core_(static_cast<size_t>(placement.core_count), kNone) {
  for (const int core : placement.communication_cores)
    free_cores_.insert(static_cast<uint32_t>(core));
}

// The receiver's for a copy, or the sender's if that can begin sooner; else the node's own.
uint32_t ProgressThreads::thread_for(uint32_t id, uint32_t by_core) const {
  if (nodes_[id].partner == kNone) return nodes_.rank_of(id);
  const uint32_t partner = nodes_.rank_of(nodes_[id].partner);
  const bool is_send = nodes_.node(id).kind == nbc::NodeKind::kSend;
  const uint32_t receiver = is_send ? partner : nodes_.rank_of(id);
  const uint32_t sender = is_send ? nodes_.rank_of(id) : partner;
  if (!threads_[receiver].is_active) return receiver;
  const bool begins_at_once =
      sender == thread_of_core_[by_core]
          ? threads_[sender].nodes.empty()
          : !threads_[sender].is_active && free_cores_.size() > ready_.size();
  return begins_at_once ? sender : receiver;
}

// A thread that completes what its own local work waits for goes on with that at once.
void ProgressThreads::queue(uint32_t id, uint32_t by_core) {
  const uint32_t rank = thread_for(id, by_core);
  Thread& thread = threads_[rank];
  const bool is_message = nodes_[id].partner != kNone;
  if (!is_message && thread_of_core_[by_core] == rank)
    thread.nodes.insert(
        thread.nodes.begin() + static_cast<std::ptrdiff_t>(thread.at_once++), id);
  else
    thread.nodes.push_back(id);
  if (thread.is_active) return;
  thread.is_active = true;
  ready_.push_back(rank);
}

// The core where the thread was if that is near, else the closest one. Cores are in the order of the topology's
// tree: the closest one is the next on either side. Requires: there is one.
uint32_t ProgressThreads::free_core_near(const Thread& thread, uint32_t rank) const {
  const auto home = static_cast<uint32_t>(placement_.core_of_rank[rank]);
  if (free_cores_.contains(thread.core) && numa(thread.core) == numa(home))
    return thread.core;
  const auto above = free_cores_.lower_bound(home);
  if (above == free_cores_.begin()) return *above;
  const uint32_t below = *std::prev(above);
  if (above == free_cores_.end()) return below;
  const auto distance = [&](uint32_t core) {
    return std::pair(machine_.distance(static_cast<int>(home), static_cast<int>(core)),
                     core > home ? core - home : home - core);
  };
  return distance(below) < distance(*above) ? below : *above;
}

// Threads that have waited longest first, on whichever cores are free: those take ready threads
// from each other.
void ProgressThreads::run_ready() {
  while (!ready_.empty() && !free_cores_.empty()) {
    const uint32_t rank = ready_.front();
    ready_.pop_front();
    run_thread(rank, free_core_near(threads_[rank], rank));
  }
}

// False: somebody else has done all of it.
bool ProgressThreads::run_thread(uint32_t rank, uint32_t core) {
  Thread& thread = threads_[rank];
  while (!thread.nodes.empty()) {
    const uint32_t id = thread.nodes.front();
    thread.nodes.pop_front();
    if (thread.at_once > 0) --thread.at_once;
    if (nodes_[id].is_taken) continue;
    thread.core = core;
    thread_of_core_[core] = rank;
    free_cores_.erase(core);
    take_(core, id);
    return true;
  }
  thread.is_active = false;
  return false;
}

// A communication core has done a node: others of the thread wait behind other threads.
void ProgressThreads::leave_core(uint32_t core) {
  const uint32_t rank = thread_of_core_[core];
  if (threads_[rank].at_once > 0 && run_thread(rank, core)) return;
  thread_of_core_[core] = kNone;
  free_cores_.insert(core);
  if (threads_[rank].nodes.empty())
    threads_[rank].is_active = false;
  else
    ready_.push_back(rank);
}

}  // namespace mpc::sim

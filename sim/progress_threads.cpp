#include "sim/progress_threads.h"

#include <iterator>
#include <utility>

namespace mpc::sim {

ProgressThreads::ProgressThreads(const Cluster& cluster, const Placement& placement,
                                 const NodeTable& nodes, Take take)
    : cluster_(cluster),
      placement_(placement),
      nodes_(nodes),
      take_(std::move(take)),
      threads_(placement.core_of_rank.size()),
      thread_of_core_(static_cast<size_t>(placement.core_count), kNone),
      hosts_(static_cast<size_t>(cluster.hosts())) {
  for (const int core : placement.communication_cores)
    host_of(static_cast<uint32_t>(core)).free_cores.insert(static_cast<uint32_t>(core));
}

void ProgressThreads::note_change(uint32_t core) {
  Host& host = host_of(core);
  if (host.is_changed) return;
  host.is_changed = true;
  changed_.push_back(cluster_.host_of(core));
}

// A copy belongs to the receiver's thread, or to the sender's if that
// can begin sooner; other nodes to their own rank's.
uint32_t ProgressThreads::thread_for(uint32_t id, uint32_t by_core) const {
  if (nodes_[id].partner == kNone) return nodes_.rank_of(id);
  const uint32_t partner = nodes_.rank_of(nodes_[id].partner);
  const bool is_send = nodes_.node(id).kind == nbc::NodeKind::kSend;
  const uint32_t receiver = is_send ? partner : nodes_.rank_of(id);
  const uint32_t sender = is_send ? nodes_.rank_of(id) : partner;
  if (!threads_[receiver].is_active) return receiver;
  const Host& host = host_of(home_of(receiver));
  const bool begins_at_once =
      sender == thread_of_core_[by_core]
          ? threads_[sender].nodes.empty()
          : !threads_[sender].is_active && host.free_cores.size() > host.ready.size();
  return begins_at_once ? sender : receiver;
}

// A thread that completes the last dependency of its own local work continues with that at once.
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
  host_of(home_of(rank)).ready.push_back(rank);
  note_change(home_of(rank));
}

// The core where the thread was if that is near, else the closest one. Cores are in the order of
// the topology's tree: the closest one is the next on either side. Requires: a core is free.
uint32_t ProgressThreads::free_core_near(const Thread& thread, uint32_t rank) const {
  const uint32_t home = home_of(rank);
  const std::set<uint32_t>& free = host_of(home).free_cores;
  if (free.contains(thread.core) && cluster_.numa(thread.core) == cluster_.numa(home))
    return thread.core;
  const auto above = free.lower_bound(home);
  if (above == free.begin()) return *above;
  const uint32_t below = *std::prev(above);
  if (above == free.end()) return below;
  const auto distance = [&](uint32_t core) {
    return std::pair(cluster_.distance(home, core),
                     core > home ? core - home : home - core);
  };
  return distance(below) < distance(*above) ? below : *above;
}

// Runs the threads that have waited longest first, on whichever cores are free: free cores take
// ready threads from each other.
void ProgressThreads::run_ready() {
  for (const uint32_t host : changed_) run_host(hosts_[host]);
  changed_.clear();
}

void ProgressThreads::run_host(Host& host) {
  host.is_changed = false;
  while (!host.ready.empty() && !host.free_cores.empty()) {
    const uint32_t rank = host.ready.front();
    host.ready.pop_front();
    run_thread(rank, free_core_near(threads_[rank], rank));
  }
}

// False: other cores have done all of it.
bool ProgressThreads::run_thread(uint32_t rank, uint32_t core) {
  Thread& thread = threads_[rank];
  while (!thread.nodes.empty()) {
    const uint32_t id = thread.nodes.front();
    thread.nodes.pop_front();
    if (thread.at_once > 0) --thread.at_once;
    if (nodes_[id].is_taken) continue;
    thread.core = core;
    thread_of_core_[core] = rank;
    host_of(core).free_cores.erase(core);
    take_(core, id);
    return true;
  }
  thread.is_active = false;
  return false;
}

// A communication core has done a node: the thread's other nodes wait behind other threads.
void ProgressThreads::leave_core(uint32_t core) {
  const uint32_t rank = thread_of_core_[core];
  if (threads_[rank].at_once > 0 && run_thread(rank, core)) return;
  thread_of_core_[core] = kNone;
  host_of(core).free_cores.insert(core);
  note_change(core);
  if (threads_[rank].nodes.empty())
    threads_[rank].is_active = false;
  else
    host_of(core).ready.push_back(rank);
}

}  // namespace mpc::sim

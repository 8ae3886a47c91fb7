#pragma once
// ProgressThreads: the ranks' progress threads on the communication cores of the simulated machine.
//
// Role:      decides which thread does a node that is offered in the background, and which core
//            runs which thread.
// Users:     sim/player.cpp.
// Threads:   one.
// See also:  sim/player.h (who runs a node), scheduler/progress (the real ones).

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <vector>

#include "sim/cluster.h"
#include "sim/node_table.h"
#include "sim/placement.h"

namespace mpc::sim {

class ProgressThreads {
 public:
  // Called when a communication core begins a node.
  using Take = std::function<void(uint32_t core, uint32_t node)>;

  ProgressThreads(const Cluster& cluster, const Placement& placement,
                  const NodeTable& nodes, Take take);

  // Queues a node that is ready; `by_core` has made it so.
  void queue(uint32_t id, uint32_t by_core);
  // Runs ready threads on free cores, as far as there are any.
  void run_ready();
  // A communication core has done its node.
  void leave_core(uint32_t core);

 private:
  // A rank's progress thread, as in scheduler/progress.
  struct Thread {
    std::deque<uint32_t> nodes;
    // So many of its nodes are done before the core turns to other threads.
    size_t at_once = 0;
    bool is_active = false;  // waits for a core, or has one
    uint32_t core = kNone;   // where it was last
  };
  // Threads and cores of a host.
  struct Host {
    std::deque<uint32_t> ready;     // threads that wait for a core
    std::set<uint32_t> free_cores;  // communication cores without a thread
    bool is_changed = false;        // and is in changed_
  };
  Host& host_of(uint32_t core) { return hosts_[cluster_.host_of(core)]; }
  const Host& host_of(uint32_t core) const { return hosts_[cluster_.host_of(core)]; }
  uint32_t home_of(uint32_t rank) const {
    return static_cast<uint32_t>(placement_.core_of_rank[rank]);
  }
  void note_change(uint32_t core);
  void run_host(Host& host);
  uint32_t thread_for(uint32_t id, uint32_t by_core) const;
  uint32_t free_core_near(const Thread& thread, uint32_t rank) const;
  bool run_thread(uint32_t rank, uint32_t core);

  const Cluster& cluster_;
  const Placement& placement_;
  const NodeTable& nodes_;
  Take take_;
  std::vector<Thread> threads_;  // by rank
  // The rank whose thread runs there; kNone: nobody's.
  std::vector<uint32_t> thread_of_core_;
  std::vector<Host> hosts_;
  std::vector<uint32_t> changed_;  // hosts that have changed since the last run_ready()
};

}  // namespace mpc::sim

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

#include "sim/node_table.h"
#include "sim/placement.h"
#include "topology/machine.h"

namespace mpc::sim {

class ProgressThreads {
 public:
  // A communication core begins with a node.
  using Take = std::function<void(uint32_t core, uint32_t node)>;

  ProgressThreads(const topo::Machine& machine, const Placement& placement,
                  const NodeTable& nodes, Take take);

  // For a node that is ready; `by_core` has made it so.
  void queue(uint32_t id, uint32_t by_core);
  // Ready threads on free cores, as far as there are any.
  void run_ready();
  // A communication core has done its node.
  void leave_core(uint32_t core);

 private:
  // A rank's, as in scheduler/progress.
  struct Thread {
    std::deque<uint32_t> nodes;
    // So many of them are done before the core looks for other threads.
    size_t at_once = 0;
    bool is_active = false;  // waits for a core, or has one
    uint32_t core = kNone;   // where it was last
  };
  int numa(uint32_t core) const { return machine_.core(static_cast<int>(core)).numa; }
  uint32_t thread_for(uint32_t id, uint32_t by_core) const;
  uint32_t free_core_near(const Thread& thread, uint32_t rank) const;
  bool run_thread(uint32_t rank, uint32_t core);

  const topo::Machine& machine_;
  const Placement& placement_;
  const NodeTable& nodes_;
  Take take_;
  std::vector<Thread> threads_;           // by rank
  std::vector<uint32_t> thread_of_core_;  // whose runs there; kNone: nobody's
  std::deque<uint32_t> ready_;            // threads that wait for a core
  std::set<uint32_t> free_cores_;         // communication cores without a thread
};

}  // namespace mpc::sim

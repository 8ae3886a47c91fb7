#pragma once
// NodeTable: the nodes of all ranks' schedules under one
// numbering, and the progress of each of them.
//
// Role:      pairs each send with its receive, and finds what can be done within the starts of all
//            ranks; then stores what the simulation knows about each node.
// Users:     sim/player.cpp, sim/progress_threads.h.
// Threads:   one.
// See also:  nbc/schedule/schedule.h.

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "nbc/schedule/schedule.h"
#include "sim/placement.h"

namespace mpc::sim {

inline constexpr uint32_t kNone = UINT32_MAX;  // no node, core, rank

struct NodeState {
  uint32_t waiting = 0;      // predecessors not yet complete
  uint32_t partner = kNone;  // the other end of a message
  int rank = 0;
  bool is_kept = false;       // for the application core
  bool is_startable = false;  // can be done within the starts of all ranks
  bool is_taken = false, is_posted = false, is_done = false;
};

class NodeTable {
 public:
  using Schedules = std::vector<std::shared_ptr<const nbc::Schedule>>;  // by rank

  // `all_on_application`: as in a blocking call, every node is for the application core.
  // Errors: kInternal: the schedules do not match.
  Result<> load(const Schedules& schedules, const Placement& placement,
                bool all_on_application);

  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  const nbc::Node& node(uint32_t id) const { return *nodes_[id]; }
  NodeState& operator[](uint32_t id) { return states_[id]; }
  const NodeState& operator[](uint32_t id) const { return states_[id]; }
  uint32_t rank_of(uint32_t id) const {
    return static_cast<uint32_t>(states_[id].rank);
  }
  // The number of a rank's first node: its other nodes follow as in the schedule.
  uint32_t first_of(uint32_t rank) const { return first_[rank]; }
  // Numbered as in the rank's schedule.
  std::span<const nbc::NodeId> successors(uint32_t id) const {
    return (*schedules_)[rank_of(id)]->successors(node(id));
  }
  // The ranks between which the copy runs that this node stands for.
  std::pair<uint32_t, uint32_t> ends(uint32_t id) const;

 private:
  Result<> match();
  void find_startable();

  const Schedules* schedules_ = nullptr;
  std::vector<const nbc::Node*> nodes_;
  std::vector<NodeState> states_;
  std::vector<uint32_t> first_;  // by rank
};

}  // namespace mpc::sim

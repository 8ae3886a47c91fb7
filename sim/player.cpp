#include "sim/player.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "sim/cluster.h"
#include "sim/events.h"
#include "sim/links.h"
#include "sim/node_table.h"
#include "sim/progress_threads.h"
#include "sim/traffic.h"

namespace mpc::sim {

namespace {

using nbc::Node;
using nbc::NodeId;
using nbc::NodeKind;

// A node that waits for a core. Earlier nodes first, then those of upper levels of the tree.
struct Offer {
  Time since;
  int level;
  uint32_t node;
  bool operator>(const Offer& other) const {
    return std::tie(since, level, node) >
           std::tie(other.since, other.level, other.node);
  }
};
using Offers = std::priority_queue<Offer, std::vector<Offer>, std::greater<>>;

enum class Phase : uint8_t { kStart, kCompute, kWait, kOver };

struct CoreState {
  Offers offers;  // of a core with a rank
  bool is_busy = false;
  Time busy = 0;
};

struct RankState {
  uint32_t left = 0, startable_left = 0;
  Phase phase = Phase::kStart;
  Time end = 0;
};

class Simulation {
 public:
  explicit Simulation(const Run& run)
      : run_(run),
        placement_(*run.placement),
        p_(*run.parameters),
        cluster_(*run.machine, run.hosts),
        links_(run.hosts, p_.network),
        traffic_(p_.numa_gbs, cluster_.numa_count(),
                 [this](uint32_t copy, uint32_t version, Time end) {
                   events_.push(end, EventKind::kCopyEnds, 0, 0, copy, version);
                 }),
        cores_(static_cast<size_t>(placement_.core_count)),
        ranks_(placement_.core_of_rank.size()),
        rank_of_core_(cores_.size(), kNone),
        threads_(cluster_, placement_, nodes_,
                 [this](uint32_t core, uint32_t id) { take(core, id); }) {}

  Result<Outcome> play();

 private:
  const Node& node(uint32_t id) const { return nodes_.node(id); }
  uint32_t rank_of(uint32_t id) const { return nodes_.rank_of(id); }
  uint32_t own_core(uint32_t rank) const {
    return static_cast<uint32_t>(placement_.core_of_rank[rank]);
  }
  // Does a message go to another host?
  bool is_remote(uint32_t id) const {
    const auto [a, b] = nodes_.ends(id);
    return cluster_.host_of(own_core(a)) != cluster_.host_of(own_core(b));
  }
  int64_t bytes_of_node(uint32_t id) const {
    const Node& n = node(id);
    return bytes_of(n.kind == NodeKind::kSend ? n.from : n.to) * n.repeat.times;
  }
  int64_t bytes_of(const nbc::BufferRef& ref) const {
    return ref.count * (ref.type == nbc::kByteType ? 1 : run_.element_bytes);
  }

  void count_nodes();
  void start_all();
  void handle(const Event& event);
  void look_at_cores();
  void offer(uint32_t id, uint32_t by_core);
  void offer_in_background(uint32_t id, uint32_t by_core);
  void run_next(uint32_t core);
  bool may_run(uint32_t core, uint32_t id) const;
  void take(uint32_t core, uint32_t id);
  void act(uint32_t core, uint32_t id);
  void copy(uint32_t core, uint32_t id);
  void begin_copy(uint32_t core, uint32_t id);
  void transfer(uint32_t id, double fixed_us);
  void look_again(uint32_t core) { to_look_.push_back(core); }
  void free_core(uint32_t core);
  void complete(uint32_t id, uint32_t by_core);
  void move_on(uint32_t rank);

  const Run& run_;
  const Placement& placement_;
  const nbc::Parameters& p_;
  Cluster cluster_;
  Links links_;
  Traffic traffic_;
  Events events_;
  Time now_ = 0;
  NodeTable nodes_;
  std::vector<CoreState> cores_;
  std::vector<RankState> ranks_;
  std::vector<uint32_t> rank_of_core_;  // kNone: for communication
  ProgressThreads threads_;
  struct Copying {
    uint32_t core, node;
  };
  std::vector<Copying> copying_;   // by the number of the copy in traffic_
  std::vector<uint32_t> to_look_;  // cores for which something has changed
  Time last_done_ = 0;
};

void Simulation::count_nodes() {
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank)
    rank_of_core_[own_core(rank)] = rank;
  for (uint32_t id = 0; id < nodes_.size(); ++id) {
    ++ranks_[rank_of(id)].left;
    if (nodes_[id].is_startable) ++ranks_[rank_of(id)].startable_left;
  }
}

// All ranks start at once: first they post the receives that are ready, whoever does the rest.
void Simulation::start_all() {
  std::vector<uint32_t> others;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const uint32_t first = nodes_.first_of(rank), own = own_core(rank);
    Time posting = 0;
    for (NodeId id : (*run_.schedules)[rank]->start_nodes()) {
      if (node(first + id).kind == NodeKind::kRecv) {
        nodes_[first + id].is_taken = nodes_[first + id].is_posted = true;
        posting += ticks(p_.node_us);
      } else {
        others.push_back(first + id);
      }
    }
    cores_[own].is_busy = true;
    cores_[own].busy += posting;
    events_.push(posting, EventKind::kPosted, own, 0);
  }
  for (uint32_t id : others) offer(id, own_core(rank_of(id)));
}

// A node has become ready.
void Simulation::offer(uint32_t id, uint32_t by_core) {
  if (!nodes_[id].is_kept) return offer_in_background(id, by_core);
  const uint32_t rank = rank_of(id), own = own_core(rank);
  cores_[own].offers.push({now_, node(id).level, id});
  look_again(own);
  if (run_.rules.cores_help && placement_.helper_of_rank[rank] >= 0)
    events_.push(now_ + ticks(p_.handover_us), EventKind::kOffered, own, id);
}

// Messages are posted at once; a progress thread gets only what takes long: the copy of a message
// that has both ends, and local work.
void Simulation::offer_in_background(uint32_t id, uint32_t by_core) {
  const NodeState& state = nodes_[id];
  if (state.partner != kNone) {
    nodes_[id].is_posted = true;
    if (!nodes_[state.partner].is_posted) {
      nodes_[id].is_taken = true;
      return;
    }
    if (is_remote(id))
      return transfer(id, p_.handover_us + 2 * p_.node_us + p_.message_us);
  }
  if (rank_of_core_[by_core] == kNone)
    threads_.queue(id, by_core);
  else
    events_.push(now_ + ticks(p_.handover_us), EventKind::kOffered, by_core, id);
  if (!run_.rules.waits_help) return;
  const Offer ready{now_, node(id).level, id};
  for (const uint32_t end : {id, state.partner != kNone ? state.partner : id}) {
    cores_[own_core(rank_of(end))].offers.push(ready);
    look_again(own_core(rank_of(end)));
  }
}

bool Simulation::may_run(uint32_t core, uint32_t id) const {
  switch (ranks_[rank_of_core_[core]].phase) {
    case Phase::kStart:
      return nodes_[id].is_kept;
    case Phase::kCompute:
      return false;
    case Phase::kWait:
    case Phase::kOver:
      return true;
  }
  return false;
}

void Simulation::run_next(uint32_t core_index) {
  CoreState& core = cores_[core_index];
  const uint32_t rank = rank_of_core_[core_index];
  if (ranks_[rank].phase == Phase::kCompute) return;
  std::vector<Offer> later;
  while (!core.is_busy && !core.offers.empty()) {
    const Offer best = core.offers.top();
    core.offers.pop();
    if (nodes_[best.node].is_taken) continue;
    if (!may_run(core_index, best.node)) {
      later.push_back(best);
      continue;
    }
    take(core_index, best.node);
  }
  for (const Offer& offer : later) core.offers.push(offer);
}

void Simulation::take(uint32_t core, uint32_t id) {
  nodes_[id].is_taken = true;
  cores_[core].is_busy = true;
  const Time cost = ticks(p_.node_us);
  cores_[core].busy += cost;
  events_.push(now_ + cost, EventKind::kActs, core, id);
}

void Simulation::free_core(uint32_t core) {
  cores_[core].is_busy = false;
  if (rank_of_core_[core] == kNone) return threads_.leave_core(core);
  look_again(core);
}

void Simulation::act(uint32_t core, uint32_t id) {
  const Node& n = node(id);
  NodeState& state = nodes_[id];
  switch (n.kind) {
    case NodeKind::kSend:
    case NodeKind::kRecv: {
      state.is_posted = true;
      if (!nodes_[state.partner].is_posted) return free_core(core);
      if (!is_remote(id)) return copy(core, id);
      transfer(id, p_.node_us + p_.message_us);
      return free_core(core);
    }
    case NodeKind::kCopy:
      return copy(core, id);
    case NodeKind::kReduce: {
      const Time work = ticks(reduce_us(p_, bytes_of(n.to)));
      cores_[core].busy += work;
      return events_.push(now_ + work, EventKind::kWorkEnds, core, id);
    }
    case NodeKind::kNop:
      complete(id, core);
      return free_core(core);
  }
}

void Simulation::copy(uint32_t core, uint32_t id) {
  const bool is_message = nodes_[id].partner != kNone;
  const auto [a, b] = nodes_.ends(id);
  const nbc::Reach reach = cluster_.reach(own_core(a), own_core(b));
  const double fixed =
      p_.copy[static_cast<size_t>(reach)].latency_us + (is_message ? p_.message_us : 0);
  events_.push(now_ + ticks(fixed), EventKind::kCopyBegins, core, id);
  cores_[core].busy += ticks(fixed);
}

void Simulation::begin_copy(uint32_t core, uint32_t id) {
  const auto [a, b] = nodes_.ends(id);
  const uint32_t core_a = own_core(a), core_b = own_core(b);
  const nbc::Reach reach =
      std::max({cluster_.reach(core_a, core_b), cluster_.reach(core, core_a),
                cluster_.reach(core, core_b)});
  const uint32_t copy = traffic_.begin(
      now_, bytes_of_node(id), p_.copy[static_cast<size_t>(reach)].bandwidth_gbs,
      cluster_.numa(core_a), cluster_.numa(core_b));
  if (copying_.size() <= copy) copying_.resize(copy + 1);
  copying_[copy] = {core, id};
  cores_[core].busy -= now_;  // the end is added later
}

// Transfers to another host, over the links.
void Simulation::transfer(uint32_t id, double fixed_us) {
  nodes_[id].is_taken = true;
  const bool is_send = node(id).kind == NodeKind::kSend;
  const uint32_t send = is_send ? id : nodes_[id].partner;
  const uint32_t from = own_core(rank_of(send));
  const uint32_t to = own_core(rank_of(nodes_[send].partner));
  const Time end = links_.begin(now_ + ticks(fixed_us), cluster_.host_of(from),
                                cluster_.host_of(to), bytes_of_node(send));
  events_.push(end, EventKind::kArrives, to, send);
}

void Simulation::complete(uint32_t id, uint32_t by_core) {
  const uint32_t rank = rank_of(id);
  nodes_[id].is_done = true;
  last_done_ = now_;
  --ranks_[rank].left;
  if (nodes_[id].is_startable) --ranks_[rank].startable_left;
  for (NodeId next : nodes_.successors(id)) {
    const uint32_t successor = nodes_.first_of(rank) + next;
    if (--nodes_[successor].waiting == 0) offer(successor, by_core);
  }
  look_again(own_core(rank));
}

// The rank goes from start to computation, or from wait to the end.
void Simulation::move_on(uint32_t rank) {
  RankState& state = ranks_[rank];
  CoreState& core = cores_[own_core(rank)];
  if (state.phase == Phase::kStart && !core.is_busy) {
    if (run_.rules.start == StartRule::kStays && state.startable_left > 0) return;
    state.phase = Phase::kCompute;
    events_.push(now_ + ticks(run_.compute_us), EventKind::kComputed, own_core(rank),
                 0);
  }
  if (state.phase == Phase::kWait && state.left == 0) {
    state.phase = Phase::kOver;
    state.end = now_;
  }
}

void Simulation::handle(const Event& e) {
  switch (e.kind) {
    case EventKind::kActs:
      return act(e.core, e.node);
    case EventKind::kPosted:
      return free_core(e.core);
    case EventKind::kCopyBegins:
      return begin_copy(e.core, e.node);
    case EventKind::kCopyEnds: {
      if (!traffic_.is_current(e.copy, e.version)) return;
      const Copying done = copying_[e.copy];
      traffic_.end(e.copy);
      cores_[done.core].busy += now_;
      complete(done.node, done.core);
      if (nodes_[done.node].partner != kNone)
        complete(nodes_[done.node].partner, done.core);
      return free_core(done.core);
    }
    case EventKind::kArrives: {
      const uint32_t receive = nodes_[e.node].partner;
      complete(e.node, own_core(rank_of(e.node)));
      return complete(receive, own_core(rank_of(receive)));
    }
    case EventKind::kWorkEnds:
      complete(e.node, e.core);
      return free_core(e.core);
    case EventKind::kOffered:
      return threads_.queue(e.node, e.core);
    case EventKind::kComputed:
      ranks_[rank_of_core_[e.core]].phase = Phase::kWait;
      return look_again(e.core);
  }
}

void Simulation::look_at_cores() {
  threads_.run_ready();
  for (uint32_t core : to_look_) {
    run_next(core);
    move_on(rank_of_core_[core]);
  }
  to_look_.clear();
}

Result<Outcome> Simulation::play() {
  MPC_TRY(nodes_.load(*run_.schedules, placement_, run_.rules.all_on_application));
  count_nodes();
  start_all();
  look_at_cores();
  while (!events_.is_empty()) {
    now_ = events_.next_time();
    // Handles all events of this time, then the ranks that may continue, then the rates of copies.
    while (!events_.is_empty() && events_.next_time() == now_) handle(events_.pop());
    look_at_cores();
    traffic_.settle(now_);
  }
  Outcome outcome;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].phase != Phase::kOver)
      return {Errc::kInternal, "the schedules never end"};
    outcome.time_us = std::max(outcome.time_us, microseconds(ranks_[rank].end));
  }
  outcome.communication_us = microseconds(last_done_);
  for (uint32_t core = 0; core < cores_.size(); ++core)
    (rank_of_core_[core] == kNone ? outcome.helper_busy_us
                                  : outcome.application_busy_us) +=
        microseconds(cores_[core].busy);
  return outcome;
}

}  // namespace

Result<Outcome> play(const Run& run) { return Simulation(run).play(); }

}  // namespace mpc::sim

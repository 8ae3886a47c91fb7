#include "sim/player.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <set>
#include <tuple>

#include "sim/traffic.h"

namespace mpc::sim {

namespace {

using nbc::Node;
using nbc::NodeId;
using nbc::NodeKind;
using nbc::Where;

constexpr uint32_t kNone = UINT32_MAX;

enum class EventKind : uint8_t {
  kActs,        // a node's overhead is over: it does what it is for
  kPosted,      // a start has posted its receives
  kCopyBegins,  // the latency of a copy is over
  kCopyEnds,    // maybe: see Traffic
  kWorkEnds,    // a reduction is done
  kOffered,     // the progress thread of a rank has noticed that a node is ready
  kComputed,    // a rank comes to its wait
};

struct Event {
  Time at;
  uint64_t order;
  EventKind kind;
  uint32_t core, node, copy, version;
  bool operator>(const Event& other) const {
    return std::tie(at, order) > std::tie(other.at, other.order);
  }
};

// A node that waits for a core. Earlier first, then the upper levels of the tree.
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

struct NodeState {
  uint32_t waiting = 0;      // predecessors
  uint32_t partner = kNone;  // the other end of a message
  int rank = 0;
  bool is_kept = false;       // for the application core
  bool is_startable = false;  // can be done within the starts of all ranks
  bool is_taken = false, is_posted = false, is_done = false;
};

enum class Phase : uint8_t { kStart, kCompute, kWait, kOver };

struct CoreState {
  Offers offers;            // of a core with a rank
  uint32_t thread = kNone;  // of a communication core: whose thread runs there
  bool is_busy = false;
  Time busy = 0;
};

// A rank's progress thread, as in scheduler/progress.
struct ThreadState {
  std::deque<uint32_t> nodes;
  size_t at_once =
      0;  // so many of them are done before the core looks for other threads
  bool is_active = false;  // waits for a core, or has one
  uint32_t core = kNone;   // where it was last
};

struct RankState {
  uint32_t first_node = 0;
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
        traffic_(p_.numa_gbs, numa_count(*run.machine),
                 [this](uint32_t copy, uint32_t version, Time end) {
                   push(end, EventKind::kCopyEnds, 0, 0, copy, version);
                 }),
        cores_(static_cast<size_t>(placement_.core_count)),
        ranks_(placement_.core_of_rank.size()),
        threads_(ranks_.size()) {}

  Result<Outcome> play();

 private:
  static int numa_count(const topo::Machine& machine) {
    int count = 1;
    for (int i = 0; i < machine.core_count(); ++i)
      count = std::max(count, machine.core(i).numa + 1);
    return count;
  }
  const Node& node(uint32_t id) const { return *nodes_[id]; }
  uint32_t rank_of(uint32_t id) const {
    return static_cast<uint32_t>(states_[id].rank);
  }
  uint32_t own_core(uint32_t rank) const {
    return static_cast<uint32_t>(placement_.core_of_rank[rank]);
  }
  int numa(uint32_t core) const {
    return run_.machine->core(static_cast<int>(core)).numa;
  }
  void push(Time at, EventKind kind, uint32_t core, uint32_t node, uint32_t copy = 0,
            uint32_t version = 0) {
    events_.push({at, order_++, kind, core, node, copy, version});
  }
  int64_t bytes_of(const nbc::BufferRef& ref) const {
    return ref.count * (ref.type == nbc::kByteType ? 1 : run_.element_bytes);
  }

  void load();
  Result<> match();
  void find_startable();
  void start_all();
  void handle(const Event& event);
  void look_at_cores();
  void offer(uint32_t id, uint32_t by_core);
  void offer_in_background(uint32_t id, uint32_t by_core);
  void queue(uint32_t id, uint32_t by_core);
  uint32_t thread_for(uint32_t id, uint32_t by_core) const;
  void run_threads();
  uint32_t free_core_near(const ThreadState& thread, uint32_t rank) const;
  bool run_thread(uint32_t rank, uint32_t core);
  void leave_core(uint32_t core);
  void run_next(uint32_t core);
  bool may_run(uint32_t core, uint32_t id) const;
  void take(uint32_t core, uint32_t id);
  void act(uint32_t core, uint32_t id);
  void copy(uint32_t core, uint32_t id);
  void begin_copy(uint32_t core, uint32_t id);
  void look_again(uint32_t core) { to_look_.push_back(core); }
  void free_core(uint32_t core);
  void complete(uint32_t id, uint32_t by_core);
  void move_on(uint32_t rank);

  const Run& run_;
  const Placement& placement_;
  const nbc::Parameters& p_;
  Traffic traffic_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t order_ = 0;
  Time now_ = 0;
  std::vector<const Node*> nodes_;
  std::vector<NodeState> states_;
  std::vector<CoreState> cores_;
  std::vector<RankState> ranks_;
  std::vector<ThreadState> threads_;  // by rank
  std::deque<uint32_t> ready_threads_;
  std::set<uint32_t> free_helpers_;     // communication cores without a thread
  std::vector<uint32_t> rank_of_core_;  // kNone: for communication
  struct Copying {
    uint32_t core, node;
  };
  std::vector<Copying> copying_;   // by the number of the copy in traffic_
  std::vector<uint32_t> to_look_;  // cores for which something has changed
  Time last_done_ = 0;
};

void Simulation::load() {
  rank_of_core_.assign(cores_.size(), kNone);
  for (const int core : placement_.communication_cores)
    free_helpers_.insert(static_cast<uint32_t>(core));
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const nbc::Schedule& schedule = *(*run_.schedules)[rank];
    ranks_[rank].first_node = static_cast<uint32_t>(nodes_.size());
    ranks_[rank].left = static_cast<uint32_t>(schedule.nodes().size());
    rank_of_core_[own_core(rank)] = rank;
    const bool has_helper = placement_.helper_of_rank[rank] >= 0;
    for (const Node& node : schedule.nodes()) {
      NodeState state;
      state.waiting = node.predecessor_count;
      state.rank = static_cast<int>(rank);
      state.is_kept = run_.rules.all_on_application || !has_helper ||
                      node.where == Where::kApplication;
      nodes_.push_back(&node);
      states_.push_back(state);
    }
  }
}

// Which send meets which receive does not depend on time: messages between the same ranks with
// the same tag are in order in both schedules.
Result<> Simulation::match() {
  using Message = std::tuple<uint32_t, uint32_t, int, uint32_t>;  // from, to, tag, node
  std::vector<Message> sends, receives;
  for (uint32_t id = 0; id < nodes_.size(); ++id) {
    const auto peer = static_cast<uint32_t>(node(id).peer);
    if (node(id).kind == NodeKind::kSend)
      sends.emplace_back(rank_of(id), peer, node(id).tag_offset, id);
    if (node(id).kind == NodeKind::kRecv)
      receives.emplace_back(peer, rank_of(id), node(id).tag_offset, id);
  }
  std::sort(sends.begin(), sends.end());
  std::sort(receives.begin(), receives.end());
  if (sends.size() != receives.size())
    return {Errc::kInternal, "the schedules have more sends than receives, or less"};
  for (size_t i = 0; i < sends.size(); ++i) {
    const auto& [from, to, tag, send] = sends[i];
    const auto& [source, target, wanted_tag, receive] = receives[i];
    if (from != source || to != target || tag != wanted_tag)
      return {Errc::kInternal, "a receive of the schedules has no send"};
    states_[send].partner = receive;
    states_[receive].partner = send;
  }
  return {};
}

// Kept nodes whose predecessors and partners are all startable. Found as what is left after
// taking away what is not, until nothing changes.
void Simulation::find_startable() {
  std::vector<uint32_t> not_startable;
  for (uint32_t id = 0; id < nodes_.size(); ++id) {
    states_[id].is_startable = states_[id].is_kept;
    if (!states_[id].is_kept) not_startable.push_back(id);
  }
  const auto exclude = [&](uint32_t id) {
    if (!states_[id].is_startable) return;
    states_[id].is_startable = false;
    not_startable.push_back(id);
  };
  while (!not_startable.empty()) {
    const uint32_t id = not_startable.back();
    not_startable.pop_back();
    const uint32_t rank = rank_of(id), first = ranks_[rank].first_node;
    for (NodeId next : (*run_.schedules)[rank]->successors(node(id)))
      exclude(first + next);
    if (states_[id].partner != kNone) exclude(states_[id].partner);
  }
  for (const NodeState& state : states_)
    if (state.is_startable) ++ranks_[static_cast<size_t>(state.rank)].startable_left;
}

// All ranks start at once: first they post the receives that are ready, whoever does the rest.
void Simulation::start_all() {
  std::vector<uint32_t> others;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const uint32_t first = ranks_[rank].first_node, own = own_core(rank);
    Time posting = 0;
    for (NodeId id : (*run_.schedules)[rank]->start_nodes()) {
      if (node(first + id).kind == NodeKind::kRecv) {
        states_[first + id].is_taken = states_[first + id].is_posted = true;
        posting += ticks(p_.node_us);
      } else {
        others.push_back(first + id);
      }
    }
    cores_[own].is_busy = true;
    cores_[own].busy += posting;
    push(posting, EventKind::kPosted, own, 0);
  }
  for (uint32_t id : others) offer(id, own_core(rank_of(id)));
}

// A node has become ready.
void Simulation::offer(uint32_t id, uint32_t by_core) {
  if (!states_[id].is_kept) return offer_in_background(id, by_core);
  const uint32_t rank = rank_of(id), own = own_core(rank);
  cores_[own].offers.push({now_, node(id).level, id});
  look_again(own);
  if (run_.rules.cores_help && placement_.helper_of_rank[rank] >= 0)
    push(now_ + ticks(p_.handover_us), EventKind::kOffered, own, id);
}

// Messages are posted at once; only what takes long is for a progress thread: the copy of a
// message that has both ends, and local work.
void Simulation::offer_in_background(uint32_t id, uint32_t by_core) {
  const NodeState& state = states_[id];
  if (state.partner != kNone) {
    states_[id].is_posted = true;
    if (!states_[state.partner].is_posted) {
      states_[id].is_taken = true;
      return;
    }
  }
  if (rank_of_core_[by_core] == kNone)
    queue(id, by_core);
  else
    push(now_ + ticks(p_.handover_us), EventKind::kOffered, by_core, id);
  if (!run_.rules.waits_help) return;
  const Offer ready{now_, node(id).level, id};
  for (const uint32_t end : {id, state.partner != kNone ? state.partner : id}) {
    cores_[own_core(rank_of(end))].offers.push(ready);
    look_again(own_core(rank_of(end)));
  }
}

// The receiver's for a copy, or the sender's if that can begin sooner; else the node's own.
uint32_t Simulation::thread_for(uint32_t id, uint32_t by_core) const {
  if (states_[id].partner == kNone) return rank_of(id);
  const uint32_t partner = rank_of(states_[id].partner);
  const bool is_send = node(id).kind == NodeKind::kSend;
  const uint32_t receiver = is_send ? partner : rank_of(id);
  const uint32_t sender = is_send ? rank_of(id) : partner;
  if (!threads_[receiver].is_active) return receiver;
  const bool begins_at_once =
      sender == cores_[by_core].thread
          ? threads_[sender].nodes.empty()
          : !threads_[sender].is_active && free_helpers_.size() > ready_threads_.size();
  return begins_at_once ? sender : receiver;
}

// A thread that completes what its own local work waits for goes on with that at once.
void Simulation::queue(uint32_t id, uint32_t by_core) {
  const uint32_t rank = thread_for(id, by_core);
  ThreadState& thread = threads_[rank];
  const bool is_message = states_[id].partner != kNone;
  if (!is_message && cores_[by_core].thread == rank)
    thread.nodes.insert(
        thread.nodes.begin() + static_cast<std::ptrdiff_t>(thread.at_once++), id);
  else
    thread.nodes.push_back(id);
  if (thread.is_active) return;
  thread.is_active = true;
  ready_threads_.push_back(rank);
}

// The core where the thread was if that is near, else the closest one. Cores are in the order of the topology's
// tree: the closest one is the next on either side. Requires: there is one.
uint32_t Simulation::free_core_near(const ThreadState& thread, uint32_t rank) const {
  const uint32_t home = own_core(rank);
  if (free_helpers_.contains(thread.core) && numa(thread.core) == numa(home))
    return thread.core;
  const auto above = free_helpers_.lower_bound(home);
  if (above == free_helpers_.begin()) return *above;
  const uint32_t below = *std::prev(above);
  if (above == free_helpers_.end()) return below;
  const auto distance = [&](uint32_t core) {
    return std::pair(
        run_.machine->distance(static_cast<int>(home), static_cast<int>(core)),
        core > home ? core - home : home - core);
  };
  return distance(below) < distance(*above) ? below : *above;
}

// Threads that have waited longest first, on whichever cores are free: those take ready threads
// from each other.
void Simulation::run_threads() {
  while (!ready_threads_.empty() && !free_helpers_.empty()) {
    const uint32_t rank = ready_threads_.front();
    ready_threads_.pop_front();
    run_thread(rank, free_core_near(threads_[rank], rank));
  }
}

// False: somebody else has done all of it.
bool Simulation::run_thread(uint32_t rank, uint32_t core) {
  ThreadState& thread = threads_[rank];
  while (!thread.nodes.empty()) {
    const uint32_t id = thread.nodes.front();
    thread.nodes.pop_front();
    if (thread.at_once > 0) --thread.at_once;
    if (states_[id].is_taken) continue;
    thread.core = core;
    cores_[core].thread = rank;
    free_helpers_.erase(core);
    take(core, id);
    return true;
  }
  thread.is_active = false;
  return false;
}

// A communication core has done a node: others of the thread wait behind other threads.
void Simulation::leave_core(uint32_t core) {
  const uint32_t rank = cores_[core].thread;
  cores_[core].is_busy = false;
  if (threads_[rank].at_once > 0 && run_thread(rank, core)) return;
  cores_[core].thread = kNone;
  free_helpers_.insert(core);
  if (threads_[rank].nodes.empty())
    threads_[rank].is_active = false;
  else
    ready_threads_.push_back(rank);
}

bool Simulation::may_run(uint32_t core, uint32_t id) const {
  switch (ranks_[rank_of_core_[core]].phase) {
    case Phase::kStart:
      return states_[id].is_kept;
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
    if (states_[best.node].is_taken) continue;
    if (!may_run(core_index, best.node)) {
      later.push_back(best);
      continue;
    }
    take(core_index, best.node);
  }
  for (const Offer& offer : later) core.offers.push(offer);
}

void Simulation::take(uint32_t core, uint32_t id) {
  states_[id].is_taken = true;
  cores_[core].is_busy = true;
  const Time cost = ticks(p_.node_us);
  cores_[core].busy += cost;
  push(now_ + cost, EventKind::kActs, core, id);
}

void Simulation::free_core(uint32_t core) {
  if (rank_of_core_[core] == kNone) return leave_core(core);
  cores_[core].is_busy = false;
  look_again(core);
}

void Simulation::act(uint32_t core, uint32_t id) {
  const Node& n = node(id);
  NodeState& state = states_[id];
  switch (n.kind) {
    case NodeKind::kSend:
    case NodeKind::kRecv: {
      state.is_posted = true;
      if (!states_[state.partner].is_posted) return free_core(core);
      return copy(core, id);
    }
    case NodeKind::kCopy:
      return copy(core, id);
    case NodeKind::kReduce: {
      const Time work = ticks(reduce_us(p_, bytes_of(n.to)));
      cores_[core].busy += work;
      return push(now_ + work, EventKind::kWorkEnds, core, id);
    }
    case NodeKind::kNop:
      complete(id, core);
      return free_core(core);
  }
}

// Ends of the copy that node `id` stands for: ranks.
std::pair<uint32_t, uint32_t> ends(const NodeState& state,
                                   const std::vector<NodeState>& all) {
  const auto here = static_cast<uint32_t>(state.rank);
  if (state.partner == kNone) return {here, here};
  return {here, static_cast<uint32_t>(all[state.partner].rank)};
}

void Simulation::copy(uint32_t core, uint32_t id) {
  const bool is_message = states_[id].partner != kNone;
  const auto [a, b] = ends(states_[id], states_);
  const nbc::Reach reach = reach_between(*run_.machine, static_cast<int>(own_core(a)),
                                         static_cast<int>(own_core(b)));
  const double fixed =
      p_.copy[static_cast<size_t>(reach)].latency_us + (is_message ? p_.message_us : 0);
  push(now_ + ticks(fixed), EventKind::kCopyBegins, core, id);
  cores_[core].busy += ticks(fixed);
}

void Simulation::begin_copy(uint32_t core, uint32_t id) {
  const auto [a, b] = ends(states_[id], states_);
  const uint32_t core_a = own_core(a), core_b = own_core(b);
  const nbc::Reach reach = std::max(
      {reach_between(*run_.machine, static_cast<int>(core_a), static_cast<int>(core_b)),
       reach_between(*run_.machine, static_cast<int>(core), static_cast<int>(core_a)),
       reach_between(*run_.machine, static_cast<int>(core), static_cast<int>(core_b))});
  const int64_t bytes =
      bytes_of(node(id).kind == NodeKind::kSend ? node(id).from : node(id).to) *
      node(id).repeat.times;
  const uint32_t copy =
      traffic_.begin(now_, bytes, p_.copy[static_cast<size_t>(reach)].bandwidth_gbs,
                     numa(core_a), numa(core_b));
  if (copying_.size() <= copy) copying_.resize(copy + 1);
  copying_[copy] = {core, id};
  cores_[core].busy -= now_;  // and plus the end
}

void Simulation::complete(uint32_t id, uint32_t by_core) {
  const uint32_t rank = rank_of(id);
  states_[id].is_done = true;
  last_done_ = now_;
  --ranks_[rank].left;
  if (states_[id].is_startable) --ranks_[rank].startable_left;
  for (NodeId next : (*run_.schedules)[rank]->successors(node(id))) {
    const uint32_t successor = ranks_[rank].first_node + next;
    if (--states_[successor].waiting == 0) offer(successor, by_core);
  }
  look_again(own_core(rank));
}

// From start to computation, from wait to the end.
void Simulation::move_on(uint32_t rank) {
  RankState& state = ranks_[rank];
  CoreState& core = cores_[own_core(rank)];
  if (state.phase == Phase::kStart && !core.is_busy) {
    if (run_.rules.start == StartRule::kStays && state.startable_left > 0) return;
    state.phase = Phase::kCompute;
    push(now_ + ticks(run_.compute_us), EventKind::kComputed, own_core(rank), 0);
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
      if (states_[done.node].partner != kNone)
        complete(states_[done.node].partner, done.core);
      return free_core(done.core);
    }
    case EventKind::kWorkEnds:
      complete(e.node, e.core);
      return free_core(e.core);
    case EventKind::kOffered:
      return queue(e.node, e.core);
    case EventKind::kComputed:
      ranks_[rank_of_core_[e.core]].phase = Phase::kWait;
      return look_again(e.core);
  }
}

void Simulation::look_at_cores() {
  run_threads();
  for (uint32_t core : to_look_) {
    run_next(core);
    move_on(rank_of_core_[core]);
  }
  to_look_.clear();
}

Result<Outcome> Simulation::play() {
  load();
  if (auto matched = match(); !matched) return matched.error();
  find_startable();
  start_all();
  look_at_cores();
  while (!events_.empty()) {
    now_ = events_.top().at;
    // All that happens at this time, then who may go on, then what copies get.
    while (!events_.empty() && events_.top().at == now_) {
      const Event event = events_.top();
      events_.pop();
      handle(event);
    }
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

#include "nbc/model/tree_time.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <tuple>
#include <vector>

namespace mpc::nbc {

namespace {

enum class TaskKind : uint8_t { kCopy, kReduction, kOwnBlock };

struct Task {
  double ready_us;
  int level;
  int rank;  // whose core or thread does it
  int segment;
  int child;  // index into Play::edges_; -1: the rank's own block
  TaskKind kind;
  bool operator>(const Task& other) const {
    return std::tie(ready_us, level, rank, segment, child) >
           std::tie(other.ready_us, other.level, other.rank, other.segment,
                    other.child);
  }
};

struct Edge {
  TreeEdge edge;
  EdgeCost cost;
};

struct RankState {
  int first_edge = 0, edge_count = 0;  // to children, those of the leaf levels first
  int parent_edge = -1;
  bool lacks_own_block = false;  // upwards
};

class Play {
 public:
  Play(const TreeWork& work, const std::function<EdgeCost(const TreeEdge&)>& cost_of)
      : work_(work),
        height_(knomial_height(work.ranks, work.arity)),
        free_us_(static_cast<size_t>(work.cores)) {
    ranks_.resize(static_cast<size_t>(work.ranks));
    for (int v = 0; v < work.ranks; ++v) add_edges(v, cost_of);
    const auto segments = static_cast<size_t>(work.segments);
    next_edge_.resize(ranks_.size() * segments);
    has_arrived_.resize(edges_.size() * segments);
    for (size_t v = 0; v < ranks_.size(); ++v)
      for (size_t i = 0; i < segments; ++i)
        next_edge_[v * segments + i] = ranks_[v].first_edge;
    for (size_t i = 0; i < edges_.size(); ++i)
      rank(edges_[i].edge.child).parent_edge = static_cast<int>(i);
  }

  double run() {
    if (is_shared()) return run_shared();
    return run_own();
  }

 private:
  // A rank's progress thread.
  struct Thread {
    std::deque<Task> tasks;
    bool is_active = false;  // waits for a core, or has one
  };
  struct Running {
    double end_us;
    uint64_t order;
    int numa, thread;
    Task task;
    bool operator>(const Running& other) const {
      return std::tie(end_us, order) > std::tie(other.end_us, other.order);
    }
  };

  // Each rank's tasks on its own core, in the order in which they become ready.
  double run_own() {
    for (int v = 0; v < work_.ranks; ++v) begin(v);
    double end_us = 0;
    while (!tasks_.empty()) {
      const Task task = tasks_.top();
      tasks_.pop();
      double& free = free_us_[static_cast<size_t>(static_cast<int64_t>(task.rank) *
                                                  work_.cores / work_.ranks)];
      free = std::max(free, task.ready_us) + duration_us(task);
      end_us = std::max(end_us, free);
      after(task, free);
    }
    return end_us;
  }

  // Ready threads on whichever core is free.
  double run_shared() {
    threads_.resize(ranks_.size());
    free_cores_.resize(static_cast<size_t>(work_.numa_count));
    for (int core = 0; core < work_.cores; ++core)
      ++free_cores_[static_cast<size_t>(numa_of(core, work_.cores))];
    free_count_ = work_.cores;
    for (int v = 0; v < work_.ranks; ++v) begin(v);
    double now_us = 0;
    for (start_ready(now_us); !running_.empty(); start_ready(now_us)) {
      now_us = running_.top().end_us;
      while (!running_.empty() && running_.top().end_us == now_us) {
        const Running done = running_.top();
        running_.pop();
        const int here = here_ = done.thread;
        after(done.task, now_us);
        ++free_cores_[static_cast<size_t>(done.numa)];
        ++free_count_;
        // Others have waited longer; but what it has made ready itself comes first.
        const auto& tasks = thread(here).tasks;
        if (tasks.empty())
          thread(here).is_active = false;
        else if (tasks.front().kind == TaskKind::kReduction)
          start(here, now_us);
        else
          ready_.push_back(here);
      }
    }
    return now_us;
  }

  Thread& thread(int v) { return threads_[static_cast<size_t>(v)]; }

  int thread_for(const Task& task) {
    if (task.kind != TaskKind::kCopy) return task.rank;
    const TreeEdge& e = edge(task.child).edge;
    const int receiver = work_.is_upwards ? e.parent : e.child;
    const int sender = work_.is_upwards ? e.child : e.parent;
    if (!thread(receiver).is_active) return receiver;
    const bool begins_at_once = sender == here_
                                    ? thread(sender).tasks.empty()
                                    : !thread(sender).is_active &&
                                          free_count_ > static_cast<int>(ready_.size());
    return begins_at_once ? sender : receiver;
  }

  // A task is ready. Those of shared cores are made in the order of the schedules' nodes.
  void add(const Task& task) {
    if (!is_shared()) return tasks_.push(task);
    const int number = thread_for(task);
    Thread& its = thread(number);
    if (number == here_ && task.kind == TaskKind::kReduction)
      its.tasks.push_front(task);
    else
      its.tasks.push_back(task);
    if (its.is_active) return;
    its.is_active = true;
    ready_.push_back(number);
  }

  void start(int number, double now_us) {
    const Task task = thread(number).tasks.front();
    thread(number).tasks.pop_front();
    int numa = numa_of(number, work_.ranks);
    while (free_cores_[static_cast<size_t>(numa)] == 0) numa = (numa + 1) % work_.numa_count;
    --free_cores_[static_cast<size_t>(numa)];
    --free_count_;
    const bool is_far = task.kind == TaskKind::kCopy &&
                        numa != numa_of(edge(task.child).edge.child, work_.ranks);
    const double duration =
        is_far ? edge(task.child).cost.far_copy_us : duration_us(task);
    running_.push({now_us + duration, started_++, numa, number, task});
  }
  int numa_of(int number, int count) const {
    return static_cast<int>(static_cast<int64_t>(number) * work_.numa_count / count);
  }
  void start_ready(double now_us) {
    for (; free_count_ > 0 && !ready_.empty(); ready_.pop_front())
      start(ready_.front(), now_us);
  }

  void after(const Task& task, double now_us) {
    if (work_.is_upwards)
      after_upwards(task, now_us);
    else if (task.kind == TaskKind::kCopy)
      has_data(edge(task.child).edge.child, task.segment, now_us);
  }

  bool is_shared() const { return work_.whose == TreeCores::kShared; }
  RankState& rank(int v) { return ranks_[static_cast<size_t>(v)]; }
  size_t at(int index, int segment) const {
    return static_cast<size_t>(index) * static_cast<size_t>(work_.segments) +
           static_cast<size_t>(segment);
  }
  Edge& edge(int i) { return edges_[static_cast<size_t>(i)]; }

  double duration_us(const Task& task) {
    if (task.kind == TaskKind::kOwnBlock) return work_.own_block_us;
    const EdgeCost& cost = edge(task.child).cost;
    return task.kind == TaskKind::kReduction ? cost.reduce_us : cost.copy_us;
  }

  void add_edges(int v, const std::function<EdgeCost(const TreeEdge&)>& cost_of) {
    RankState& state = rank(v);
    state.first_edge = static_cast<int>(edges_.size());
    int level = height_ - 1;
    for (int64_t step = 1; step < work_.ranks; step *= work_.arity, --level) {
      if (v / step % work_.arity != 0) break;
      if (level < work_.first_level || level >= work_.end_level) continue;
      for (int64_t digit = 1; digit < work_.arity; ++digit) {
        const int64_t child = v + digit * step;
        if (child >= work_.ranks) break;
        const TreeEdge e{
            v, static_cast<int>(child), level,
            static_cast<int>(std::min<int64_t>(step, work_.ranks - child))};
        edges_.push_back({e, cost_of(e)});
      }
    }
    state.edge_count = static_cast<int>(edges_.size()) - state.first_edge;
  }

  // Ranks with children of their own move their block between buffer and scratch memory, as a
  // node of the level of the edge to their parent.
  void add_own_block(int v, double ready_us) {
    RankState& state = rank(v);
    if (work_.own_block_us <= 0) return;
    int level = 0;
    if (v != 0) {
      // The edge to the parent may not be among the played ones.
      int64_t step = 1;
      level = height_ - 1;
      for (; v / step % work_.arity == 0; step *= work_.arity) --level;
      if (step == 1) return;  // a leaf
    }
    if (level < work_.first_level || level >= work_.end_level) return;
    state.lacks_own_block = v != 0;
    add({ready_us, level, v, 0, -1, TaskKind::kOwnBlock});
  }
  // What can be done from the start on.
  void begin(int v) {
    if (work_.is_upwards) add_own_block(v, 0);
    for (int segment = 0; segment < work_.segments; ++segment) {
      if (!work_.is_upwards && rank(v).parent_edge < 0) has_data(v, segment, 0);
      if (work_.is_upwards && rank(v).edge_count == 0) send_up(v, segment, 0);
    }
  }
  void has_data(int v, int segment, double ready_us) {
    const RankState& state = rank(v);
    for (int i = state.first_edge + state.edge_count; i-- > state.first_edge;)
      add({ready_us, edge(i).edge.level, v, segment, i, TaskKind::kCopy});
    if (segment == 0) add_own_block(v, ready_us);
  }
  void send_up(int v, int segment, double ready_us) {
    const int i = rank(v).parent_edge;
    if (i >= 0 && !rank(v).lacks_own_block)
      add({ready_us, edge(i).edge.level, v, segment, i, TaskKind::kCopy});
  }
  // A copy has arrived, or has been reduced: the parent reduces the next of its children in
  // order, or has them all.
  void after_upwards(const Task& task, double now_us) {
    const bool is_own = task.kind == TaskKind::kOwnBlock;
    const int parent = is_own ? task.rank : edge(task.child).edge.parent;
    RankState& state = rank(parent);
    int& next = next_edge_[at(parent, task.segment)];
    if (is_own)
      state.lacks_own_block = false;
    else if (task.kind == TaskKind::kReduction)
      ++next;
    else
      has_arrived_[at(task.child, task.segment)] = true;
    const int end = state.first_edge + state.edge_count;
    for (; next < end && has_arrived_[at(next, task.segment)]; ++next) {
      if (edge(next).cost.reduce_us <= 0) continue;
      // Otherwise it is being reduced already.
      if (task.kind == TaskKind::kReduction || next == task.child)
        add({now_us, edge(next).edge.level, parent, task.segment, next,
                     TaskKind::kReduction});
      return;
    }
    if (next == end) send_up(parent, task.segment, now_us);
  }

  const TreeWork& work_;
  const int height_;
  std::vector<RankState> ranks_;
  std::vector<Edge> edges_;
  std::vector<int> next_edge_;  // upwards, of each rank and segment: the next to reduce
  std::vector<bool> has_arrived_;  // upwards, of each edge and segment
  std::vector<double> free_us_;    // when each core has done what it was given
  std::priority_queue<Task, std::vector<Task>, std::greater<>> tasks_;
  // Of shared cores:
  std::vector<Thread> threads_;  // by rank
  std::deque<int> ready_;
  int here_ = -1;  // the thread that has just done something
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  std::vector<int> free_cores_;  // by NUMA node
  int free_count_ = 0;
  uint64_t started_ = 0;
};

}  // namespace

int knomial_height(int ranks, int arity) noexcept {
  int levels = 0;
  for (int64_t reach = 1; reach < ranks; reach *= arity) ++levels;
  return levels;
}

double tree_us(const TreeWork& work,
               const std::function<EdgeCost(const TreeEdge&)>& cost_of) {
  return work.ranks < 2 || work.first_level >= work.end_level
             ? 0
             : Play(work, cost_of).run();
}

}  // namespace mpc::nbc

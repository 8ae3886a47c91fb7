#include "nbc/model/tree_time.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>
#include <tuple>
#include <vector>

#include "nbc/model/rates.h"

namespace mpc::nbc {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

enum class TaskKind : uint8_t { kCopy, kReduction, kOwnBlock };

struct Task {
  double ready_us;
  int level;
  int rank;  // the rank whose core or thread does it
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
        own_cores_(static_cast<size_t>(work.application_cores)),
        threads_(static_cast<size_t>(work.ranks)),
        free_cores_(static_cast<size_t>(work.numa_count)),
        rates_(work.numa_gbs, work.numa_count),
        free_count_(work.communication_cores) {
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
    running_.reserve(2 * edges_.size() * segments);
    for (int core = 0; core < work.communication_cores; ++core)
      ++free_cores_[static_cast<size_t>(numa_of_core(core))];
  }

  double run() {
    for (int v = 0; v < work_.ranks; ++v) begin(v);
    double now_us = 0;
    for (start_all(now_us); next_us() < kNever; start_all(now_us)) {
      now_us = next_us();
      for (const uint32_t number : take_ended(now_us)) end(running_[number], now_us);
    }
    return now_us;
  }

 private:
  // An application core.
  struct OwnCore {
    std::priority_queue<Task, std::vector<Task>, std::greater<>> tasks;
    bool is_busy = false;
  };
  // A rank's progress thread.
  struct Thread {
    std::vector<Task> tasks;  // from `first` on
    size_t first = 0;
    int at_once = 0;         // so many tasks run before other threads have their turn
    bool is_active = false;  // waits for a core, or has one

    bool is_empty() const { return first == tasks.size(); }
    void push(const Task& task) { tasks.push_back(task); }
    void push_at_once(const Task& task) {
      tasks.insert(tasks.begin() + static_cast<std::ptrdiff_t>(first) + at_once++,
                   task);
    }
    Task pop() {
      if (at_once > 0) --at_once;
      return tasks[first++];
    }
  };
  // A task on a core; its number is its index in running_.
  struct Running {
    Task task;
    int where;  // of a kept task: the application core; else the NUMA node
    int thread;
    double left_bytes, gbs;  // to be copied once the earlier part is over
  };
  struct Timer {
    double end_us;
    uint32_t number;
    bool operator>(const Timer& other) const {
      return std::tie(end_us, number) > std::tie(other.end_us, other.number);
    }
  };

  bool is_kept(const Task& task) const { return task.level >= work_.kept_level; }
  int own_core_of(const Task& task) const {
    return static_cast<int>(static_cast<int64_t>(task.rank) * work_.application_cores /
                            work_.ranks);
  }
  OwnCore& own_core(int number) { return own_cores_[static_cast<size_t>(number)]; }
  Thread& thread(int v) { return threads_[static_cast<size_t>(v)]; }

  double next_us() {
    return std::min(timers_.empty() ? kNever : timers_.top().end_us, rates_.next_us());
  }
  // In the order in which they have begun.
  const std::vector<uint32_t>& take_ended(double now_us) {
    ended_.clear();
    rates_.take_ended(now_us, ended_);
    while (!timers_.empty() && timers_.top().end_us <= now_us) {
      const uint32_t number = timers_.top().number;
      timers_.pop();
      Running& it = running_[number];
      if (it.left_bytes > 0)
        begin_copy(it, now_us, number);
      else
        ended_.push_back(number);
    }
    std::sort(ended_.begin(), ended_.end());
    return ended_;
  }
  void begin_copy(Running& it, double now_us, uint32_t number) {
    int from = it.task.rank, to = it.task.rank;
    if (it.task.kind == TaskKind::kCopy) {
      from = edge(it.task.child).edge.parent;
      to = edge(it.task.child).edge.child;
    }
    rates_.begin(now_us, it.left_bytes, it.gbs, numa_of_rank(from), numa_of_rank(to),
                 number);
    it.left_bytes = 0;
  }
  void begin_task(const Task& task, int where, int thread, bool is_far, double now_us) {
    const auto number = static_cast<uint32_t>(running_.size());
    running_.push_back({task, where, thread, 0, 0});
    if (task.kind == TaskKind::kReduction)
      return timers_.push({now_us + edge(task.child).cost.reduce_us, number});
    const CopyWork& copy =
        task.kind == TaskKind::kOwnBlock ? work_.own_block : edge(task.child).cost.copy;
    running_.back().left_bytes = copy.bytes;
    running_.back().gbs = is_far ? copy.far_gbs : copy.gbs;
    timers_.push({now_us + copy.fixed_us, number});
  }

  // By value: running_ may move.
  void end(Running done, double now_us) {
    if (is_kept(done.task))
      end_kept(done, now_us);
    else
      end_shared(done, now_us);
  }
  void end_kept(const Running& done, double now_us) {
    here_ = kNowhere;
    own_core(done.where).is_busy = false;
    to_look_at_.push_back(done.where);
    after(done.task, now_us);
  }
  void end_shared(const Running& done, double now_us) {
    here_ = done.thread;
    after(done.task, now_us);
    ++free_cores_[static_cast<size_t>(done.where)];
    ++free_count_;
    // Others have waited longer; but local work that the thread has made ready itself comes first.
    if (thread(here_).is_empty())
      thread(here_).is_active = false;
    else if (thread(here_).at_once > 0)
      start_shared(here_, now_us);
    else
      ready_.push_back(here_);
  }

  int thread_for(const Task& task) {
    if (task.kind != TaskKind::kCopy) return task.rank;
    const TreeEdge& e = edge(task.child).edge;
    const int receiver = work_.is_upwards ? e.parent : e.child;
    const int sender = work_.is_upwards ? e.child : e.parent;
    if (!thread(receiver).is_active) return receiver;
    const bool begins_at_once = sender == here_
                                    ? thread(sender).is_empty()
                                    : !thread(sender).is_active &&
                                          free_count_ > static_cast<int>(ready_.size());
    return begins_at_once ? sender : receiver;
  }

  // A task is ready. Those of communication cores are created in the order of the schedules' nodes.
  void add(const Task& task) {
    if (is_kept(task)) {
      own_core(own_core_of(task)).tasks.push(task);
      return to_look_at_.push_back(own_core_of(task));
    }
    const int number = thread_for(task);
    Thread& its = thread(number);
    if (number == here_ && task.kind != TaskKind::kCopy)
      its.push_at_once(task);
    else
      its.push(task);
    if (its.is_active) return;
    its.is_active = true;
    ready_.push_back(number);
  }

  void start_all(double now_us) {
    for (; free_count_ > 0 && !ready_.empty(); ready_.pop_front())
      start_shared(ready_.front(), now_us);
    for (int core : to_look_at_) start_kept(core, now_us);
    to_look_at_.clear();
  }
  void start_kept(int number, double now_us) {
    OwnCore& core = own_core(number);
    if (core.is_busy || core.tasks.empty()) return;
    const Task task = core.tasks.top();
    core.tasks.pop();
    core.is_busy = true;
    begin_task(task, number, kNowhere, false, now_us);
  }
  // Starts ready threads on whichever core is free.
  void start_shared(int number, double now_us) {
    const Task task = thread(number).pop();
    int numa = numa_of_rank(number);
    while (free_cores_[static_cast<size_t>(numa)] == 0)
      numa = (numa + 1) % work_.numa_count;
    --free_cores_[static_cast<size_t>(numa)];
    --free_count_;
    begin_task(task, numa, number, numa != home_of(task), now_us);
  }
  int numa_of_rank(int v) const {
    return static_cast<int>(static_cast<int64_t>(v) * work_.numa_count / work_.ranks);
  }
  // Spread as in topology/spread.h: the odd ones are in the last NUMA nodes.
  int numa_of_core(int core) const {
    return static_cast<int>(((core + int64_t{1}) * work_.numa_count - 1) /
                            work_.communication_cores);
  }

  void after(const Task& task, double now_us) {
    if (work_.is_upwards)
      after_upwards(task, now_us);
    else if (task.kind == TaskKind::kCopy)
      has_data(edge(task.child).edge.child, task.segment, now_us);
  }

  RankState& rank(int v) { return ranks_[static_cast<size_t>(v)]; }
  size_t at(int index, int segment) const {
    return static_cast<size_t>(index) * static_cast<size_t>(work_.segments) +
           static_cast<size_t>(segment);
  }
  Edge& edge(int i) { return edges_[static_cast<size_t>(i)]; }

  // The NUMA node of its data.
  int home_of(const Task& task) {
    return numa_of_rank(task.kind == TaskKind::kCopy ? edge(task.child).edge.child
                                                     : task.rank);
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

  // Ranks with children move their own block between buffer and scratch memory, as a node of
  // the level of the edge to their parent.
  void add_own_block(int v, double ready_us) {
    RankState& state = rank(v);
    if (work_.own_block.bytes <= 0 || v + 1 >= work_.ranks) return;
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
  // Begins what can be done from the start on.
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
  std::vector<int> next_edge_;  // upwards, by rank and segment: the next edge to reduce
  std::vector<bool> has_arrived_;  // upwards, by edge and segment
  static constexpr int kNowhere = -1;
  std::vector<OwnCore> own_cores_;
  std::vector<int> to_look_at_;  // those of them that have changed
  std::vector<Thread> threads_;  // by rank
  std::deque<int> ready_;
  int here_ = kNowhere;           // the thread that has just completed something
  std::vector<int> free_cores_;   // for communication, by NUMA node
  std::vector<Running> running_;  // also those that have ended
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  Rates rates_;
  std::vector<uint32_t> ended_;
  int free_count_ = 0;  // of free_cores_
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

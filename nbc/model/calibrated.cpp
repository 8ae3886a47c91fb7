#include "nbc/model/calibrated.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nbc/model/levels.h"
#include "nbc/model/network.h"
#include "nbc/model/tree_time.h"

namespace mpc::nbc {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

bool is_reduction(Coll coll) { return traits_of(coll).is_reduction; }

// Share of the pairs (r, r + distance) that lie in one domain of `per_domain` of `all` cores,
// over which `ranks` are spread evenly.
double share_inside(int ranks, int64_t distance, int per_domain, int all) {
  const double in_domain = static_cast<double>(ranks) * per_domain / std::max(1, all);
  return std::clamp(1.0 - static_cast<double>(distance) / std::max(1.0, in_domain), 0.0,
                    1.0);
}

class Costs {
 public:
  Costs(const Situation& s, const Parameters& p) : s_(s), p_(p) {
    numa_count_ = std::max(1, p.shape.cores / std::max(1, p.shape.cores_per_numa));
  }

  // The exact cost of one edge of a tree, for one of `played` segments, which together have the
  // overhead of `parts`.
  EdgeCost edge_cost(const TreeEdge& e, bool reduces, int64_t parts, int played) const {
    const int64_t bytes =
        traits_of(s_.coll).gathers_on_the_way() ? s_.bytes * e.span : s_.bytes;
    const auto domain = [&](int v, int per_domain) {
      return static_cast<int64_t>(v) * p_.shape.cores / s_.ranks / per_domain;
    };
    Reach reach = Reach::kMachine;
    if (domain(e.parent, p_.shape.cores_per_numa) ==
        domain(e.child, p_.shape.cores_per_numa))
      reach = Reach::kNuma;
    if (domain(e.parent, p_.shape.cores_per_cache) ==
        domain(e.child, p_.shape.cores_per_cache))
      reach = Reach::kCache;
    const double share = 1.0 / played, overheads = static_cast<double>(parts) * share;
    CopyWork copy = copy_work(reach, static_cast<double>(bytes) * share);
    copy.fixed_us = (copy.fixed_us + 2 * p_.node_us + p_.message_us) * overheads;
    return {copy, reduces ? p_.node_us * overheads + reduce_us(p_, bytes) * share : 0};
  }
  CopyWork own_block() const {
    CopyWork copy = copy_work(Reach::kCache, static_cast<double>(s_.bytes));
    copy.fixed_us += p_.node_us;
    return copy;
  }
  int numa_count() const { return numa_count_; }
  double numa_gbs() const { return p_.numa_gbs; }

  // One message of `bytes` in `parts` between ranks `distance` apart, while `active` cores copy.
  double message_us(int64_t bytes, int64_t parts, int64_t distance, int active,
                    bool reduces) const {
    const double inside_numa =
        numa_count_ == 1
            ? 1
            : share_inside(s_.ranks, distance, p_.shape.cores_per_numa, p_.shape.cores);
    const double inside_cache =
        share_inside(s_.ranks, distance, p_.shape.cores_per_cache, p_.shape.cores);
    const double here = static_cast<double>(active) / numa_count_;
    const int64_t part = bytes / std::max<int64_t>(1, parts);
    const double copy = inside_cache * copy_us(p_, Reach::kCache, part, here) +
                        std::max(0.0, inside_numa - inside_cache) *
                            copy_us(p_, Reach::kNuma, part, here) +
                        (1 - std::max(inside_numa, inside_cache)) *
                            copy_us(p_, Reach::kMachine, part, here);
    // A send and a receive; a reduction is a node of its own.
    const double nodes = (reduces ? 3 : 2) * p_.node_us + p_.message_us;
    const double one = nodes + copy + (reduces ? reduce_us(p_, part) : 0);
    return one * static_cast<double>(std::max<int64_t>(1, parts));
  }

  double handover_us() const { return p_.handover_us; }

 private:
  // A copy without others beside it.
  CopyWork copy_work(Reach reach, double bytes) const {
    const CopyCost& cost = p_.copy[static_cast<size_t>(reach)];
    return {cost.latency_us, bytes, cost.bandwidth_gbs,
            p_.copy[static_cast<size_t>(Reach::kMachine)].bandwidth_gbs};
  }

  const Situation& s_;
  const Parameters& p_;
  int numa_count_;
};

int64_t segment_count(int64_t bytes, int64_t segment_bytes) {
  constexpr int64_t kMax = 512;  // as in nbc/algorithms
  if (segment_bytes <= 0 || bytes <= segment_bytes) return 1;
  return std::min(kMax, (bytes + segment_bytes - 1) / segment_bytes);
}

// One direction through a tree.
struct TreePass {
  static constexpr int kMostPlayed = 1024;  // ranks; for more ranks levels are counted

  // Many segments behave like a few: at most kMostSegments are played, with the overhead of all.
  static constexpr int64_t kMostSegments = 8, kMostTasks = 2048;

  // The time of the levels [first, end), of which those below `kept` are on communication cores.
  double played_us(int first_level, int kept_level, int end_level) const {
    TreeWork work;
    work.ranks = s.ranks;
    work.arity = arity;
    work.first_level = first_level;
    work.kept_level = kept_level;
    work.end_level = end_level;
    work.application_cores = s.application_cores;
    work.communication_cores = s.communication_cores;
    work.is_upwards = is_upwards;
    work.numa_count = costs.numa_count();
    work.segments = static_cast<int>(std::min(
        segments, std::clamp<int64_t>(kMostTasks / s.ranks, 1, kMostSegments)));
    work.numa_gbs = costs.numa_gbs();
    if (traits_of(s.coll).gathers_on_the_way()) work.own_block = costs.own_block();
    return tree_us(work, [&](const TreeEdge& e) {
      return costs.edge_cost(e, reduces, segments, work.segments);
    });
  }
  bool is_played() const { return s.ranks <= kMostPlayed; }

  const Situation& s;
  const Costs& costs;
  int arity;
  int64_t segments;
  bool is_upwards;
  bool reduces;

  int height() const { return knomial_height(s.ranks, arity); }
  int64_t step(int level) const {
    int64_t step = 1;
    for (int l = height() - 1; l > level; --l) step *= arity;
    return step;
  }
  int64_t edges(int level) const {
    const int64_t d = step(level), n = s.ranks;
    return (n + d - 1) / d - (n + d * arity - 1) / (d * arity);
  }
  // The number of edges of the level that one rank has to do itself.
  int64_t in_sequence(int level) const {
    const int64_t d = step(level);
    return std::min<int64_t>(arity - 1, (s.ranks + d - 1) / d - 1);
  }
  double edge_us(int level, int cores) const {
    const int64_t weight = traits_of(s.coll).gathers_on_the_way()
                               ? std::min(step(level), s.ranks - step(level))
                               : 1;
    const int active = static_cast<int>(std::min<int64_t>(edges(level), cores));
    return costs.message_us(s.bytes * weight, segments, step(level), active, reduces);
  }
  double level_us(int level, int cores) const {
    const int64_t rounds = (edges(level) + cores - 1) / cores;
    return static_cast<double>(std::max(rounds, in_sequence(level))) *
           edge_us(level, cores);
  }
  double kept_us(int split) const {
    const int first = std::max(0, height() - split);
    if (is_played()) return played_us(first, first, height());
    double time = 0;
    for (int l = first; l < height(); ++l) time += level_us(l, s.application_cores);
    return time;
  }
  // Counted: without segments a level begins when the previous one has ended. With segments
  // levels overlap: what counts is the total work, or the rank that has the most of it.
  double folded_us(int split) const {
    const int last = height() - split, cores = s.communication_cores;
    if (last <= 0) return 0;
    if (cores < 1) return kNever;
    if (is_played()) return played_us(0, last, last) + last * costs.handover_us();
    double levels = 0, work = 0, longest = 0, fill = 0;
    for (int l = 0; l < last; ++l) {
      const double edge = edge_us(l, cores);
      levels += level_us(l, cores) + costs.handover_us();
      work += static_cast<double>(edges(l)) * edge / cores;
      longest += static_cast<double>(in_sequence(l)) * edge;
      fill += costs.handover_us() + (l > 0 ? edge / static_cast<double>(segments) : 0);
    }
    return segments == 1 ? levels : std::min(levels, std::max(work, longest) + fill);
  }
  // Kept and folded levels, if no rank computes.
  double together_us(int split, double kept_us, double folded_us) const {
    const int last = height() - split;
    if (!is_played() || split == 0 || last <= 0 || s.communication_cores < 1)
      return folded_us + kept_us / static_cast<double>(segments);
    return played_us(0, last, height()) + last * costs.handover_us();
  }
  SplitTime time_of(int split) const {
    const double kept = kept_us(split), folded = folded_us(split);
    return {split, kept, folded, together_us(split, kept, folded)};
  }
};

std::vector<SplitTime> predict_tree(const Situation& s, const Plan& plan,
                                    const Costs& costs) {
  const int64_t segments = segment_count(s.bytes, plan.segment_bytes);
  const bool is_upwards =
      is_reduction(s.coll) || traits_of(s.coll).root == RootRole::kReceives;
  const TreePass pass{s, costs, plan.arity, segments, is_upwards, is_reduction(s.coll)};
  TreePass down = pass;
  down.is_upwards = down.reduces = false;
  const bool both = s.coll == Coll::kAllreduce;
  std::vector<SplitTime> times;
  for (int split = 0; split <= pass.height(); ++split) {
    SplitTime time = pass.time_of(split);
    if (both) time += down.time_of(split);
    times.push_back(time);
  }
  return times;
}

// Work that has only the two ends: all of it on one kind of core, or on the other.
// `total_us`: all messages one after the other; `longest_us`: what more cores cannot make
// shorter.
std::vector<SplitTime> two_ends(const Situation& s, const Costs& costs, int levels,
                                double total_us, double longest_us) {
  const auto on = [&](int cores) {
    return cores < 1 ? kNever : std::max(total_us / cores, longest_us);
  };
  const double folded = on(s.communication_cores) + costs.handover_us();
  const double kept = on(s.application_cores);
  return {{0, 0, folded, folded}, {levels, kept, 0, kept}};
}

std::vector<SplitTime> predict_chain(const Situation& s, const Plan& plan,
                                     const Costs& costs) {
  const int64_t segments = segment_count(s.bytes, plan.segment_bytes);
  const int active = std::max({1, s.communication_cores, s.application_cores});
  const double edge = costs.message_us(s.bytes, segments, 1, std::min(active, s.ranks),
                                       is_reduction(s.coll));
  const double hops = s.ranks - 1;
  const double fill = (hops - 1) * edge / static_cast<double>(segments);
  return two_ends(s, costs, s.ranks - 1, hops * edge, edge + std::max(0.0, fill));
}

std::vector<SplitTime> predict_serial(const Situation& s, const Costs& costs) {
  const double total = (s.ranks - 1) * costs.message_us(s.bytes, 1, s.ranks / 2, 1,
                                                        is_reduction(s.coll));
  return two_ends(s, costs, 1, total, total);
}

// Messages and bytes of one rank in an algorithm that loads all ranks alike.
struct Load {
  double messages, copied, reduced;
};
Load load_of(const Situation& s) {
  const double n = s.ranks, b = static_cast<double>(s.bytes);
  const double rounds = tree_height(s.ranks), others = n - 1;
  switch (s.coll) {
    case Coll::kBarrier:
      return {rounds, 0, 0};
    case Coll::kAllreduce:  // halving, then doubling
      return {2 * rounds, 2 * b * others / n, b * others / n};
    case Coll::kBcast:  // scatter, then a ring
      return {others, 2 * b * others / n, 0};
    case Coll::kReduce:
      return {rounds, b * others / n, b * others / n};
    case Coll::kScan:
    case Coll::kExscan:
      return {rounds, rounds * b, rounds * b};
    case Coll::kReduceScatter:
    case Coll::kReduceScatterBlock:
      return {others, others * b, others * b};
    default:
      // The number of neighbours is unknown here: assume those of a plane.
      if (traits_of(s.coll).is_neighborhood) return {4, 4 * b, 0};
      return {others, others * b, 0};
  }
}

std::vector<SplitTime> predict_balanced(const Situation& s, const Costs& costs) {
  const Load load = load_of(s);
  if (load.messages == 0) return two_ends(s, costs, 1, 0, 0);
  const auto part = static_cast<int64_t>(load.copied / load.messages);
  const int active = std::max({1, s.communication_cores, s.application_cores});
  const double message = costs.message_us(part, 1, s.ranks / 2,
                                          std::min(active, s.ranks), load.reduced > 0);
  const double one_rank = message * load.messages;
  return two_ends(s, costs, 1, one_rank * s.ranks, one_rank);
}

}  // namespace

std::vector<SplitTime> predict(const Situation& s, const Plan& plan,
                               const Parameters& parameters) {
  if (s.hosts > 1) {
    Situation one = s;
    one.hosts = 1;
    if (plan.form == Form::kTree)
      return with_network(s, segment_count(s.bytes, plan.segment_bytes), parameters,
                          predict(one, plan, parameters));
    // Not by host: the network costs no more than memory here.
    one.ranks *= s.hosts;
    one.application_cores *= s.hosts;
    one.communication_cores *= s.hosts;
    return predict(one, plan, parameters);
  }
  const Costs costs(s, parameters);
  switch (plan.form) {
    case Form::kTree:
      return predict_tree(s, plan, costs);
    case Form::kChain:
      return predict_chain(s, plan, costs);
    case Form::kSerial:
      return predict_serial(s, costs);
    case Form::kBalanced:
      break;
  }
  return predict_balanced(s, costs);
}

const SplitTime& best_of(const std::vector<SplitTime>& times, double window_us) {
  return *std::min_element(
      times.begin(), times.end(), [&](const SplitTime& a, const SplitTime& b) {
        return a.overlapped_us(window_us) < b.overlapped_us(window_us);
      });
}

double blocking_us(const Situation& s, const Plan& plan, const Parameters& parameters) {
  return predict(s, plan, parameters).back().kept_us;
}

double nominal_window_us(const Situation& s, const Parameters& parameters) {
  const int cores = s.application_cores + s.communication_cores;
  const double spread = static_cast<double>(cores) / s.application_cores;
  Situation full = s;
  full.ranks = static_cast<int>(std::lround(s.ranks * spread));
  full.application_cores = cores;
  full.communication_cores = 0;
  return spread * blocking_us(full, plans_for(s).front(), parameters);
}

}  // namespace mpc::nbc

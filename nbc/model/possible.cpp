#include "nbc/model/possible.h"

#include <limits>

namespace mpc::nbc {

namespace {

constexpr double kBytesPerUsPerGbs = 1e3;
constexpr double kNoCopyGbs = 1e9;
constexpr double kUsualWindow = 1.2;  // of the blocking collective; bench/mpi/overlap.c

double rate_gbs(int64_t bytes, double time_us) {
  return static_cast<double>(bytes) / (time_us * kBytesPerUsPerGbs);
}

// A single copy was measured as it is: no limit on several copies applies to it.
void let_one_copy_run(Parameters& p) {
  if (p.numa_gbs <= 0) return;
  for (const CopyCost& cost : p.copy)
    p.numa_gbs = std::max(p.numa_gbs, cost.bandwidth_gbs);
}

// On one application core: all data are in its caches, if they fit.
Parameters near_parameters(Parameters p, int64_t bytes) {
  const CacheCost cost = cache_cost(p.caches, bytes);
  for (CopyCost& copy : p.copy) copy = {0, rate_gbs(bytes, cost.near_copy_us)};
  p.reduce_gbs = rate_gbs(bytes, cost.near_reduce_us);
  let_one_copy_run(p);
  return p;
}

// On communication cores: both buffers are in other cores' caches. Measured for one pair of cores;
// other pairs differ from it as their copies do.
Parameters far_parameters(Parameters p, int64_t bytes) {
  const CacheCost cost = cache_cost(p.caches, bytes);
  const Parameters measured = p;
  const double base = copy_us(measured, Reach::kCache, bytes);
  for (size_t reach = 0; reach < kReachCount; ++reach) {
    const double more = copy_us(measured, static_cast<Reach>(reach), bytes) / base;
    p.copy[reach] = {0, rate_gbs(bytes, cost.far_copy_us * more)};
  }
  p.reduce_gbs = rate_gbs(bytes, cost.far_reduce_us);
  let_one_copy_run(p);
  return p;
}

// A sum reads directly from the sender's memory: no copy comes before it.
Parameters fused_parameters(Parameters p) {
  for (CopyCost& copy : p.copy) copy = {0, kNoCopyGbs};
  p.numa_gbs = 0;
  return p;
}

// Like predict(), with the measured caches: an allreduce over a tree is a reduction and a
// broadcast.
std::vector<SplitTime> times_of(const Situation& s, const Plan& plan,
                                const Parameters& p) {
  const bool is_tree = plan.form == Form::kTree;
  if (p.caches.empty() ||
      !(s.coll == Coll::kReduce || (s.coll == Coll::kAllreduce && is_tree)))
    return predict(s, plan, p);
  Situation up = s, down = s;
  up.coll = Coll::kReduce;
  down.coll = Coll::kBcast;
  std::vector<SplitTime> times = predict(up, plan, fused_parameters(p));
  if (s.coll == Coll::kReduce) return times;
  const std::vector<SplitTime> more = predict(down, plan, p);
  for (size_t i = 0; i < times.size(); ++i) times[i] += more[i];
  return times;
}

// The part of the folded levels that consists of sums, which one core computes. An allreduce over a
// tree begins with them.
double sums_us(const Situation& s, const Plan& plan, const Parameters& p, size_t split,
               double folded_us) {
  if (s.coll != Coll::kReduce && s.coll != Coll::kAllreduce) return 0;
  if (s.coll == Coll::kReduce || plan.form != Form::kTree) return folded_us;
  Situation up = s;
  up.coll = Coll::kReduce;
  return times_of(up, plan, p)[split].folded_us;
}

// Work on communication cores behind computation. What remains after that is also done by the
// ranks' cores, which would need `alone_us` for all of it. The first `unshared_us` are not shared.
double finished_us(double window_us, double work_us, double unshared_us,
                   double alone_us) {
  const double begin = std::max(window_us, unshared_us);
  if (work_us <= begin) return std::max(window_us, work_us);
  return begin + (work_us - begin) * alone_us / (alone_us + work_us);
}

// What a plan leaves out: blocks that ranks have for themselves.
double own_blocks_us(const Situation& s, const Plan& plan, const Parameters& p,
                     int cores) {
  const double one = p.node_us + copy_us(p, Reach::kCache, s.bytes);
  const CollTraits& traits = traits_of(s.coll);
  if (!traits.has_blocks() || traits.is_neighborhood) return 0;
  // The root's own block.
  if (traits.is_rooted()) return plan.form == Form::kSerial ? one : 0;
  return one * s.ranks / cores;
}

}  // namespace

double Possible::hidden_share() const noexcept {
  const double could = std::min(blocking_us, window_us);
  if (could <= 0) return 0;
  return std::clamp((blocking_us + computation_us - shortest_us()) / could, 0.0, 1.0);
}

Possible possible(const Situation& s, const Parameters& parameters,
                  int64_t shared_copy_bytes) {
  const bool has_caches = !parameters.caches.empty() && s.bytes > 0;
  const bool is_near = has_caches && s.application_cores == 1;
  const Parameters own = is_near ? near_parameters(parameters, s.bytes) : parameters;
  const Parameters away = has_caches ? far_parameters(parameters, s.bytes) : parameters;
  Possible result;
  result.blocking_us = result.handed_us = std::numeric_limits<double>::infinity();
  const std::vector<Plan> plans = plans_for(s);
  for (const Plan& plan : plans)
    result.blocking_us = std::min(result.blocking_us,
                                  times_of(s, plan, own).back().kept_us +
                                      own_blocks_us(s, plan, own, s.application_cores));
  result.window_us = s.window_us >= 0 ? s.window_us : kUsualWindow * result.blocking_us;
  const double call = parameters.call_us, h = parameters.handover_us;
  const int per_core = (s.ranks + s.application_cores - 1) / s.application_cores;
  result.computation_us = per_core * result.window_us;
  result.kept_us = per_core * call + result.computation_us + result.blocking_us;
  if (s.communication_cores < 1) return result;
  const double start = per_core * (call + h) + result.computation_us - result.window_us;
  for (const Plan& plan : plans) {
    const double blocks = own_blocks_us(s, plan, away, s.communication_cores);
    const auto kept = times_of(s, plan, own), folded = times_of(s, plan, away);
    const bool is_shared = shared_copy_bytes > 0 && s.bytes >= shared_copy_bytes;
    // The last one keeps everything.
    for (size_t i = 0; i + 1 < folded.size(); ++i) {
      const double background = 2 * h + folded[i].folded_us + blocks;
      const double unshared =
          is_shared ? 2 * h + sums_us(s, plan, away, i, folded[i].folded_us)
                    : background;
      const double alone = kept.back().kept_us - kept[i].kept_us +
                           own_blocks_us(s, plan, own, s.application_cores);
      const double total = start +
                           finished_us(result.window_us, background, unshared, alone) +
                           kept[i].kept_us;
      if (total >= result.handed_us) continue;
      result.handed_us = total;
      result.split = folded[i].split;
    }
  }
  return result;
}

}  // namespace mpc::nbc

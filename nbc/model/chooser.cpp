#include "nbc/model/chooser.h"

#include <cmath>

namespace mpc::nbc {

namespace {

// A plan must be this much better than a plainer one.
constexpr double kWorthIt = 0.97;

struct Best {
  const Plan* plan = nullptr;
  double overlapped = 0, nonblocking = 0;
};

// By the time with computation; where computation hides the difference, by that without.
bool is_better(const Best& a, const Best& b) {
  if (a.overlapped < b.overlapped * kWorthIt) return true;
  return a.overlapped <= b.overlapped && a.nonblocking < b.nonblocking * kWorthIt;
}

Plan best_plan(const Situation& s, const std::vector<Plan>& plans,
               const Parameters& p) {
  const double window = nominal_window_us(s, p);
  Best best;
  for (const Plan& plan : plans) {
    const std::vector<SplitTime> times = predict(s, plan, p);
    const SplitTime& time = best_of(times, window);
    const Best mine{&plan, time.overlapped_us(window), time.nonblocking_us()};
    if (best.plan == nullptr || is_better(mine, best)) best = mine;
  }
  return *best.plan;
}

// Windows in steps of 1/12 of a doubling.
int window_step(double window_us) {
  if (window_us < 0) return -1;
  return static_cast<int>(std::lround(12 * std::log2(window_us + 1)));
}

bool is_same(const Situation& a, const Situation& b) {
  return a.coll == b.coll && a.ranks == b.ranks &&
         a.application_cores == b.application_cores &&
         a.communication_cores == b.communication_cores && a.bytes == b.bytes &&
         a.commutative == b.commutative && a.algorithm == b.algorithm;
}

size_t hash_of(const Situation& s, int step) {
  uint64_t hash = static_cast<uint64_t>(s.bytes) * 0x9e3779b97f4a7c15;
  const int parts[] = {static_cast<int>(s.coll), s.ranks, s.application_cores,
                       s.communication_cores, step};
  for (int part : parts)
    hash = (hash ^ static_cast<uint64_t>(part)) * 0x9e3779b97f4a7c15;
  return hash >> 58;  // the topmost bits are the best mixed
}

}  // namespace

Choice choose(const Situation& s, const Parameters& parameters) {
  const std::vector<Plan> plans = plans_for(s);
  Choice choice;
  if (s.ranks < 2 || s.application_cores < 1) return choice;
  // Without a core to spare there is nothing to choose: as a blocking call.
  const Plan plan =
      s.communication_cores < 1 ? plans.front() : best_plan(s, plans, parameters);
  const std::vector<SplitTime> times = predict(s, plan, parameters);
  const double window =
      s.window_us < 0 ? nominal_window_us(s, parameters) : s.window_us;
  const SplitTime& best = best_of(times, window);
  choice.split = best.split;
  choice.keeps_all = &best == &times.back();
  choice.predicted_us = best.overlapped_us(window);
  if (s.communication_cores < 1) return choice;
  choice.algorithm = plan.algorithm;
  choice.arity = plan.arity;
  choice.segment_bytes = plan.segment_bytes;
  return choice;
}

const Choice& Chooser::choose(const Situation& situation) {
  const int step = window_step(situation.window_us);
  Entry& entry = entries_[hash_of(situation, step) % kEntries];
  if (entry.is_used && entry.window_step == step && is_same(entry.situation, situation))
    return entry.choice;
  ++misses_;
  entry = {true, step, situation, nbc::choose(situation, parameters_)};
  return entry.choice;
}

}  // namespace mpc::nbc

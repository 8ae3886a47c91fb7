#include "nbc/model/chooser.h"

#include <mutex>
#include <vector>

namespace mpc::nbc {

namespace {

// A plan must be this much better than a plainer one.
constexpr double kWorthIt = 0.97;

struct Best {
  const Plan* plan = nullptr;
  double overlapped = 0, nonblocking = 0;
};

// Compares the times with computation; where computation hides the difference, those without.
bool is_better(const Best& a, const Best& b) {
  if (a.overlapped < b.overlapped * kWorthIt) return true;
  return a.overlapped <= b.overlapped && a.nonblocking < b.nonblocking * kWorthIt;
}

Plan best_plan(const Situation& s, const std::vector<Plan>& plans, double window,
               const Parameters& p) {
  Best best;
  for (const Plan& plan : plans) {
    const std::vector<SplitTime> times = predict(s, plan, p);
    const SplitTime& time = best_of(times, window);
    const Best mine{&plan, time.overlapped_us(window), time.nonblocking_us()};
    if (best.plan == nullptr || is_better(mine, best)) best = mine;
  }
  return *best.plan;
}

bool is_same(const Situation& a, const Situation& b) {
  return a.coll == b.coll && a.ranks == b.ranks &&
         a.application_cores == b.application_cores &&
         a.communication_cores == b.communication_cores && a.bytes == b.bytes &&
         a.commutative == b.commutative && a.algorithm == b.algorithm &&
         a.arity == b.arity && a.segment_bytes == b.segment_bytes && a.hosts == b.hosts;
}

size_t hash_of(const Situation& s) {
  uint64_t hash = static_cast<uint64_t>(s.bytes) * 0x9e3779b97f4a7c15;
  const int parts[] = {static_cast<int>(s.coll), s.ranks, s.application_cores,
                       s.communication_cores};
  for (int part : parts)
    hash = (hash ^ static_cast<uint64_t>(part)) * 0x9e3779b97f4a7c15;
  return hash >> 58;  // the topmost bits are the best mixed
}

Choice choose_from(const Prediction& prediction, const Situation& s) {
  Choice choice;
  if (prediction.times.empty()) return choice;
  const double window = s.window_us < 0 ? prediction.nominal_window_us : s.window_us;
  const SplitTime& best = best_of(prediction.times, window);
  choice.split = best.split;
  choice.keeps_all = &best == &prediction.times.back();
  choice.predicted_us = best.overlapped_us(window);
  if (s.communication_cores < 1) return choice;
  choice.algorithm = prediction.plan.algorithm;
  choice.arity = prediction.plan.arity;
  choice.segment_bytes = prediction.plan.segment_bytes;
  return choice;
}

// All ranks of a process ask the same questions: the first answer is stored for all.
class SharedPredictions {
 public:
  std::shared_ptr<const Prediction> get(const Situation& s, const Parameters& p) {
    {
      const std::lock_guard lock(mutex_);
      for (const Entry& entry : entries_)
        if (is_same(entry.situation, s) && entry.parameters == p)
          return entry.prediction;
    }
    // Without the lock: several ranks may compute the same at the same time.
    auto made = std::make_shared<const Prediction>(predict_best(s, p));
    const std::lock_guard lock(mutex_);
    if (entries_.size() < kMost)
      entries_.push_back({s, p, made});
    else
      entries_[next_++ % kMost] = {s, p, made};
    return made;
  }

 private:
  struct Entry {
    Situation situation;
    Parameters parameters;
    std::shared_ptr<const Prediction> prediction;
  };
  static constexpr size_t kMost = 64;
  std::mutex mutex_;  // never held over a switch
  std::vector<Entry> entries_;
  size_t next_ = 0;
};

SharedPredictions& shared_predictions() {
  static SharedPredictions predictions;
  return predictions;
}

}  // namespace

Prediction predict_best(const Situation& s, const Parameters& parameters) {
  Prediction prediction;
  if (s.ranks * s.hosts < 2 || s.application_cores < 1) return prediction;
  const std::vector<Plan> plans = plans_for(s);
  prediction.nominal_window_us = nominal_window_us(s, parameters);
  // Without a spare core there is nothing to choose: as a blocking call.
  prediction.plan = s.communication_cores < 1 || plans.size() == 1
                        ? plans.front()
                        : best_plan(s, plans, prediction.nominal_window_us, parameters);
  prediction.times = predict(s, prediction.plan, parameters);
  return prediction;
}

Choice choose(const Situation& situation, const Parameters& parameters) {
  return choose_from(predict_best(situation, parameters), situation);
}

Chooser::Entry& Chooser::entry_of(const Situation& situation) {
  Entry& entry = entries_[hash_of(situation) % kEntries];
  if (entry.prediction == nullptr || !is_same(entry.situation, situation)) {
    ++misses_;
    entry.situation = situation;
    entry.prediction = shared_predictions().get(situation, parameters_);
  }
  return entry;
}

const Choice& Chooser::choose(const Situation& situation) {
  Entry& entry = entry_of(situation);
  entry.choice = choose_from(*entry.prediction, situation);
  return entry.choice;
}

const Prediction& Chooser::prediction(const Situation& situation) {
  return *entry_of(situation).prediction;
}

}  // namespace mpc::nbc

// mpcinfo advise: how many ranks suit a mix of collectives.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "nbc/model/chooser.h"
#include "tools/mpcinfo/model_command.h"
#include "tools/mpcinfo/model_setting.h"

namespace mpc::tools {

namespace {

// One number of ranks for a mix of collectives that are all in flight at once.
struct Advice {
  int ranks = 0;
  double compute_us = 0, total_us = 0, blocking_us = 0;
  std::vector<nbc::Choice> choices;
};

double best_blocking_us(const nbc::Situation& s, const nbc::Parameters& p) {
  double best = HUGE_VAL;
  for (const nbc::Plan& plan : nbc::plans_for(s))
    best = std::min(best, nbc::blocking_us(s, plan, p));
  return best;
}

// For each operation in turn, the computation that earlier ones have left can hide it.
Advice advise(const std::vector<Operation>& mix, const ModelSetting& setting, int ranks,
              double compute_us) {
  const nbc::Parameters& p = setting.parameters;
  const int cores = setting.cores();
  Advice advice;
  advice.ranks = ranks;
  advice.compute_us = compute_us * cores / ranks;
  double kept = 0, folded = 0;
  for (const Operation& operation : mix) {
    nbc::Situation s = situation_of(operation, cores, ranks, setting.hosts);
    s.window_us = std::max(0.0, advice.compute_us - folded) / operation.count;
    const nbc::Choice choice = nbc::choose(s, p);
    const nbc::Prediction prediction = nbc::predict_best(s, p);
    for (const nbc::SplitTime& time : prediction.times) {
      if (time.split != choice.split) continue;
      kept += operation.count * time.kept_us;
      folded += operation.count * time.folded_us;
    }
    advice.blocking_us += operation.count * best_blocking_us(s, p);
    advice.choices.push_back(choice);
  }
  advice.total_us = kept + std::max(advice.compute_us, folded);
  advice.blocking_us += advice.compute_us;
  if (advice.total_us > advice.blocking_us) {
    advice.total_us = advice.blocking_us;
    for (nbc::Choice& choice : advice.choices) {
      choice.algorithm = nullptr;
      choice.keeps_all = true;
    }
  }
  return advice;
}

void print_advice(const std::vector<Advice>& all, const std::vector<Operation>& mix,
                  const ModelSetting& setting, double compute_us) {
  const auto by_total = [](const Advice& a, const Advice& b) {
    return a.total_us < b.total_us;
  };
  const Advice& best = *std::min_element(all.begin(), all.end(), by_total);
  const Advice& full = all.back();
  const char* each = setting.hosts > 1 ? " on each host" : "";
  std::printf("%s: %d cores%s; parameters: %s (%s)\n", setting.name.c_str(),
              setting.cores(), each, setting.parameters.machine.c_str(),
              setting.parameters.source.c_str());
  std::printf("A round: %.6g us of computation on all cores, and", compute_us);
  for (const Operation& operation : mix)
    std::printf(" %d x %s of %lld bytes", operation.count, operation.name.c_str(),
                static_cast<long long>(operation.bytes));
  std::printf(
      "\n\nUse %d ranks%s; leave %d cores for communication: %.6g us for a round.\n",
      best.ranks, each, setting.cores() - best.ranks, best.total_us);
  for (size_t i = 0; i < mix.size(); ++i) {
    const nbc::Choice& choice = best.choices[i];
    std::printf("  %-12s %s, S=%d%s\n", mix[i].name.c_str(),
                choice.algorithm == nullptr ? "as blocking" : choice.algorithm,
                choice.split, choice.keeps_all ? " (all levels: no overlap)" : "");
  }
  std::printf(
      "With a rank on each core and blocking calls: %.6g us (%.3g times as long).\n",
      full.blocking_us, full.blocking_us / best.total_us);
}

}  // namespace

int advise_command(const ModelOptions& options) {
  auto setting = find_overlap_setting(options);
  if (!setting) return complain(setting.error());
  auto mix = parse_mix(options.ops);
  if (!mix) return complain(mix.error());
  auto compute_us = parse_time_us(options.compute);
  if (!compute_us) return complain(compute_us.error());
  std::vector<Advice> all;
  for (int ranks = 1; ranks <= setting->cores(); ++ranks)
    all.push_back(advise(*mix, *setting, ranks, *compute_us));
  if (!options.is_csv) {
    print_advice(all, *mix, *setting, *compute_us);
    return 0;
  }
  std::printf("nproc,N,C_us,total_us,blocking_us\n");
  for (const Advice& a : all)
    std::printf("%d,%d,%.6f,%.6f,%.6f\n", setting->cores(), a.ranks, a.compute_us,
                a.total_us, a.blocking_us);
  return 0;
}

}  // namespace mpc::tools

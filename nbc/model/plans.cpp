// The algorithms that the model knows for each collective.
#include <string_view>

#include "nbc/model/calibrated.h"

namespace mpc::nbc {

namespace {

constexpr int kWideArity = 4;

// Adds `plan` with several segment sizes, or with the one that is fixed.
void add_segmented(std::vector<Plan>& plans, const Situation& s, Plan plan) {
  constexpr int64_t kSegments[] = {16 << 10, 64 << 10, 256 << 10};
  if (s.segment_bytes > 0) {
    plan.segment_bytes = s.segment_bytes;
    plans.push_back(plan);
    return;
  }
  for (int64_t segment : kSegments)
    if (s.bytes > segment) {
      plan.segment_bytes = segment;
      plans.push_back(plan);
    }
}

std::vector<Plan> free_plans(const Situation& s) {
  if (s.hosts > 1) {  // the algorithms that the runtime has over several processes
    std::vector<Plan> plans{{"tree", Form::kTree, 2, 0}};
    if (!traits_of(s.coll).gathers_on_the_way())
      add_segmented(plans, s, {"tree_segmented", Form::kTree, 2, 0});
    return plans;
  }
  switch (s.coll) {
    case Coll::kBcast:
    case Coll::kReduce: {
      std::vector<Plan> plans{{"binomial", Form::kTree, 2, 0},
                              {"knomial", Form::kTree, kWideArity, 0}};
      add_segmented(plans, s, {"binomial_segmented", Form::kTree, 2, 0});
      add_segmented(plans, s, {"chain", Form::kChain, 1, 0});
      return plans;
    }
    case Coll::kScatter:
    case Coll::kGather:
      return {{"binomial", Form::kTree, 2, 0}, {"linear", Form::kSerial, 0, 0}};
    case Coll::kAllreduce:
      return {{"binomial", Form::kTree, 2, 0}, {"halving", Form::kBalanced, 0, 0}};
    case Coll::kScatterv:
    case Coll::kGatherv:
      return {{nullptr, Form::kSerial, 0, 0}};
    default:
      return {{nullptr, Form::kBalanced, 0, 0}};
  }
}

// A tree over places counts as binomial, because places are unknown here.
std::vector<Plan> settled_plans(const Situation& s) {
  const std::string_view name = s.algorithm;
  const bool is_segmented = name.ends_with("_segmented") ||
                            (name == "chain" && traits_of(s.coll).is_rooted() &&
                             !traits_of(s.coll).has_blocks());
  Plan plan{s.algorithm, Form::kBalanced, 0, 0};
  if (name.starts_with("binomial") || name.starts_with("tree"))
    plan = {s.algorithm, Form::kTree, 2, 0};
  if (name.starts_with("knomial"))
    plan = {s.algorithm, Form::kTree, s.arity >= 2 ? s.arity : kWideArity, 0};
  if (name == "chain") plan = {s.algorithm, Form::kChain, 1, 0};
  if (name == "linear" && traits_of(s.coll).is_rooted()) plan.form = Form::kSerial;
  std::vector<Plan> plans;
  if (is_segmented) add_segmented(plans, s, plan);
  if (plans.empty()) plans.push_back(plan);
  return plans;
}

}  // namespace

std::vector<Plan> plans_for(const Situation& s) {
  return s.algorithm == nullptr ? free_plans(s) : settled_plans(s);
}

}  // namespace mpc::nbc

#include "nbc/direct/stages.h"

#include <algorithm>

#include "base/check.h"

namespace mpc::nbc::direct {
namespace {

// A row of places that know the same after the stages so far.
struct Unit {
  int begin, end;
  int size() const noexcept { return end - begin; }
};

bool are_rows(std::span<const int> domains) {
  std::vector<int> seen;
  for (size_t p = 0; p < domains.size(); ++p) {
    if (p != 0 && domains[p] == domains[p - 1]) continue;
    if (std::find(seen.begin(), seen.end(), domains[p]) != seen.end()) return false;
    seen.push_back(domains[p]);
  }
  return true;
}

// One more stage for the places of a group: a place reads the place of the same number in each
// other unit, or a lower one where that has fewer.
void add_stage(std::vector<Stages>& plan, std::span<const Unit> group, size_t stage) {
  for (const Unit& own : group) {
    for (int p = own.begin; p < own.end; ++p) {
      Stages& stages = plan[static_cast<size_t>(p)];
      stages.resize(std::max(stages.size(), stage + 1));
      for (const Unit& unit : group)
        stages[stage].from.push_back(unit.begin + (p - own.begin) % unit.size());
    }
  }
}

// Joins the units of a row to one. Returns the stage after the last one that this needs.
size_t join(std::vector<Stages>& plan, std::vector<Unit> units, size_t radix,
            size_t stage) {
  for (; units.size() > 1; ++stage) {
    // Groups of like sizes: five units by four are three and two, not four and one.
    const size_t groups = (units.size() + radix - 1) / radix;
    std::vector<Unit> joined;
    for (size_t g = 0; g < groups; ++g) {
      const size_t first = g * units.size() / groups,
                   last = (g + 1) * units.size() / groups;
      const std::span group = std::span(units).subspan(first, last - first);
      if (group.size() > 1) add_stage(plan, group, stage);
      joined.push_back({group.front().begin, group.back().end});
    }
    units = std::move(joined);
  }
  return stage;
}

}  // namespace

// As join() forms groups.
double meeting_us(int places, int radix, const LineCosts& costs) noexcept {
  double time = 0;
  int stages = 0;
  for (int units = places; units > 1; ++stages) {
    const int groups = (units + radix - 1) / radix;
    const int largest = (units + groups - 1) / groups;
    time += costs.meet + costs.line * (largest - 2);
    units = groups;
  }
  return stages > 1 ? time + costs.stage * stages : time;
}

int best_radix(int places, const LineCosts& costs) noexcept {
  int best = std::max(2, places);
  for (int radix = best - 1; radix >= 2; --radix) {
    if (meeting_us(places, radix, costs) < meeting_us(places, best, costs))
      best = radix;
  }
  return best;
}

std::vector<Stages> plan_stages(int places, int radix, std::span<const int> domains) {
  DCHECK(radix >= 2, "a group has two units or more");
  std::vector<Stages> plan(static_cast<size_t>(places));
  std::vector<Unit> rows;
  size_t stage = 0;
  const bool has_domains = !domains.empty() && are_rows(domains);
  for (int p = 0; p < places;) {
    int end = p + 1;
    while (end < places && (!has_domains || domains[static_cast<size_t>(end)] ==
                                                domains[static_cast<size_t>(p)]))
      ++end;
    std::vector<Unit> alone;
    for (int q = p; q < end; ++q) alone.push_back({q, q + 1});
    stage =
        std::max(stage, join(plan, std::move(alone), static_cast<size_t>(radix), 0));
    rows.push_back({p, end});
    p = end;
  }
  stage = join(plan, std::move(rows), static_cast<size_t>(radix), stage);
  for (int p = 0; p < places; ++p) {
    Stages& stages = plan[static_cast<size_t>(p)];
    stages.resize(stage);
    for (Stage& each : stages) {
      if (each.from.empty()) each.from.push_back(p);
    }
  }
  for (int p = 0; p < places; ++p) {
    for (size_t s = 0; s < stage; ++s) {
      for (const int q : plan[static_cast<size_t>(p)][s].from) {
        if (q != p) plan[static_cast<size_t>(q)][s].readers.push_back(p);
      }
    }
  }
  return plan;
}

}  // namespace mpc::nbc::direct

#pragma once
// Stages: how many places meet without each of them reading the line of every other one.
//
// Role:      a plan for all places of a team: in each stage a place reads one line of each other unit
//            of its group; what it knows then is what its whole group knows, and groups are the
//            units of the next stage. 16 places in groups of four: two stages, three lines in each.
// Users:     nbc/direct/team.cpp.
// Threads:   pure functions; constant afterwards.
// See also:  docs/design/0007-direct-collectives.md, "Stages"; Hoefler et al. 2006, "Fast barrier
//            synchronization for InfiniBand" (n-way dissemination).

#include <span>
#include <vector>

namespace mpc::nbc::direct {

// What one place does in one stage.
struct Stage {
  // One place of each unit of the group, in the order of the units, the place itself for its own
  // unit. One only: the group has a single unit, and there is nothing to do.
  std::vector<int> from;
  std::vector<int> readers;  // the other places that have this one in `from`
};

// The stages of one place, as many for all places.
using Stages = std::vector<Stage>;

// By place. `radix`: units of a group at most, 2 or more. `domains`: for each place the number of
// its part of the machine (a cache, a NUMA node): places of one domain meet before they meet others.
// Ignored unless each domain is a row of places; empty: the machine has one.
std::vector<Stages> plan_stages(int places, int radix, std::span<const int> domains);

// What a meeting costs, in microseconds; measured with up to 16 cores below one cache
// (bench/RESULTS-16cores.md).
struct LineCosts {
  double meet = 0.30;  // two places
  double line =
      0.026;  // each further line that a place reads in the same stage: reads overlap
  double stage = 0.13;  // each stage, if there are several
};
// The model of lines: the time of a meeting of so many places in groups of at most `radix`.
double meeting_us(int places, int radix, const LineCosts& costs = {}) noexcept;
// The largest radix of those with the shortest time; 2 to `places`.
int best_radix(int places, const LineCosts& costs = {}) noexcept;

}  // namespace mpc::nbc::direct

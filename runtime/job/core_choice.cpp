#include "runtime/job/core_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "scheduler/placement.h"
#include "topology/spread.h"

namespace mpc::job {
namespace {

struct Count {
  int total, application, communication;
  bool is_given;  // the user has said how many there are for communication
};

// How many workers there are, whatever other jobs do: results must not depend on them.
Result<Count> count_workers(const CoreWish& wish, int available) {
  Count count{available, 0, wish.comm_cores, wish.comm_cores >= 0};
  if (!wish.core_list.empty()) count.total = static_cast<int>(wish.core_list.size());
  if (wish.core_list.empty() && wish.core_count > 0) count.total = wish.core_count;
  if (wish.comm_cores >= count.total) {
    return {Errc::kArg,
            fmt::format("--comm-cores {}: of {} core{} that leaves none for the ranks",
                        wish.comm_cores, count.total, count.total == 1 ? "" : "s")};
  }
  count.application = std::min(count.total - std::max(wish.comm_cores, 0), wish.ranks);
  if (count.is_given) return count;
  const int left = count.total - count.application;
  count.is_given = wish.core_count > 0 || !wish.core_list.empty();
  count.communication = count.is_given      ? left
                        : wish.has_progress ? std::min(left, wish.ranks)
                                            : 0;
  return count;
}

Result<> check(const CoreWish& wish, int available) {
  for (const int core : wish.core_list) {
    if (core < 0 || core >= available) {
      return {Errc::kArg,
              fmt::format("--cores: there is no core {}; this job may use 0 to {}",
                          core, available - 1)};
    }
  }
  if (wish.core_count > available) {
    return {Errc::kArg,
            fmt::format("--cores {}: this job may use {} core{}; ranks may "
                        "outnumber cores, workers may not",
                        wish.core_count, available, available == 1 ? "" : "s")};
  }
  return {};
}

// Those of `pool` with the communication cores behind the others: workers with ranks come first.
std::vector<int> spread_apart(const std::vector<int>& pool, int communication) {
  const std::vector<int> picked =
      topo::spread(static_cast<int>(pool.size()), communication);
  std::vector<int> ranks, others;
  for (size_t i = 0; i < pool.size(); ++i) {
    const bool is_picked =
        std::binary_search(picked.begin(), picked.end(), static_cast<int>(i));
    (is_picked ? others : ranks).push_back(pool[i]);
  }
  ranks.insert(ranks.end(), others.begin(), others.end());
  return ranks;
}

// `count` of `numbers`: the first (is_last: the last) of each of so many equal parts.
std::vector<int> one_of_each_part(const std::vector<int>& numbers, int count,
                                  bool is_last) {
  std::vector<int> out;
  const auto parts = static_cast<size_t>(count);
  for (size_t i = 0; i < parts; ++i)
    out.push_back(numbers[is_last ? (i + 1) * numbers.size() / parts - 1
                                  : i * numbers.size() / parts]);
  return out;
}

// For ranks that use several cores: each has the first of its part of the pool, and those between
// are for its threads. Communication has cores of its own if the user said how many; else it
// shares some of the others with the threads.
std::vector<int> parts_apart(std::vector<int> pool, int application, int communication,
                             bool has_own) {
  const auto remove = [&pool](const std::vector<int>& cores) {
    for (const int core : cores) std::erase(pool, core);
  };
  std::vector<int> background;
  if (has_own) {
    for (const int place : topo::spread(static_cast<int>(pool.size()), communication))
      background.push_back(pool[static_cast<size_t>(place)]);
    remove(background);
  }
  std::vector<int> cores = one_of_each_part(pool, application, false);
  remove(cores);
  if (!has_own) background = one_of_each_part(pool, communication, true);
  cores.insert(cores.end(), background.begin(), background.end());
  return cores;
}

// The same for ranks that want to be far from each other: cores far apart for them, and beside
// each of these one for communication.
Result<std::vector<int>> scatter_apart(const topo::Machine& machine,
                                       std::vector<int> pool, int application,
                                       int communication) {
  auto order =
      sched::place_ranks(machine, pool, application, sched::Placement::kScatter);
  MPC_TRY(order);
  std::vector<int> cores;
  for (const int place : *order) cores.push_back(pool[static_cast<size_t>(place)]);
  std::sort(cores.begin(), cores.end());
  for (const int core : cores) pool.erase(std::find(pool.begin(), pool.end(), core));
  for (int i = 0; i < communication; ++i) {
    const int beside = cores[static_cast<size_t>(i % application)];
    const auto nearest = std::min_element(pool.begin(), pool.end(), [&](int a, int b) {
      return machine.distance(beside, a) < machine.distance(beside, b);
    });
    cores.push_back(*nearest);
    pool.erase(nearest);
  }
  return cores;
}

// So many neighbours of an ascending list, whose first and last are as near as any; the first such.
std::vector<int> nearest_together(const topo::Machine& machine,
                                  const std::vector<int>& pool, size_t count) {
  size_t best = 0;
  const auto width = [&](size_t first) {
    return machine.distance(pool[first], pool[first + count - 1]);
  };
  for (size_t first = 1; first + count <= pool.size(); ++first)
    if (width(first) < width(best)) best = first;
  const auto begin = pool.begin() + static_cast<std::ptrdiff_t>(best);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

// Cores by what other jobs have there, each list ascending.
struct Cores {
  std::vector<int> free, communication, ranks;

  Cores(int available, const std::vector<CoreUse>& others) {
    for (int core = 0; core < available; ++core) {
      const CoreUse use =
          others.empty() ? CoreUse{} : others[static_cast<size_t>(core)];
      (use.has_ranks           ? ranks
       : use.has_communication ? communication
                               : free)
          .push_back(core);
    }
  }
  bool is_alone() const { return communication.empty() && ranks.empty(); }
  size_t without_ranks() const { return free.size() + communication.size(); }
};

std::string list_of(std::vector<int> cores) {
  std::sort(cores.begin(), cores.end());
  return fmt::format("{}", fmt::join(cores, ","));
}

// From a pool of cores that are all as good.
Result<> pick(const topo::Machine& machine, const CoreWish& wish,
              const std::vector<int>& pool, const Count& count, bool is_alone,
              CoreChoice& out) {
  const size_t wanted =
      static_cast<size_t>(count.application) + static_cast<size_t>(count.communication);
  out.pool = pool;
  if (wish.placement == Placement::kScatter) {
    auto cores = scatter_apart(machine, pool, count.application, count.communication);
    MPC_TRY(cores);
    out.cores = std::move(*cores);
    return {};
  }
  if (wish.has_teams) {
    out.cores =
        parts_apart(pool, count.application, count.communication, wish.comm_cores > 0);
    return {};
  }
  const std::vector<int> first(pool.begin(),
                               pool.begin() + static_cast<std::ptrdiff_t>(wanted));
  out.cores = spread_apart(is_alone ? first : nearest_together(machine, pool, wanted),
                           count.communication);
  return {};
}

std::vector<int> first_cores(int count) {
  std::vector<int> cores(static_cast<size_t>(count));
  std::iota(cores.begin(), cores.end(), 0);
  return cores;
}

// The best ones for the ranks, the next for communication.
void pick_in_order(const Cores& cores, const Count& count, Bind bind, CoreChoice& out) {
  for (const auto* list : {&cores.free, &cores.communication, &cores.ranks})
    out.cores.insert(out.cores.end(), list->begin(), list->end());
  // Bound in any case: the threads of ranks, too, share the cores with other jobs.
  out.pool = bind == Bind::kCore ? first_cores(count.total) : cores.free;
  out.cores.resize(static_cast<size_t>(count.application) +
                   static_cast<size_t>(count.communication));
  const auto middle = out.cores.begin() + count.application;
  std::sort(out.cores.begin(), middle);
  std::sort(middle, out.cores.end());
}

Result<> choose_beside_others(const topo::Machine& machine, const CoreWish& wish,
                              const Cores& cores, Count count, CoreChoice& out) {
  const auto application = static_cast<size_t>(count.application);
  out.is_shared = cores.without_ranks() < application;
  if (out.is_shared && wish.bind != Bind::kCore &&
      count.application < machine.core_count()) {
    out.is_shared = false;
    out.is_bound = false;
    if (!count.is_given) count.communication = 0;
    out.reason =
        fmt::format("other jobs hold core{} {}, which leaves too few: not bound",
                    cores.ranks.size() == 1 ? "" : "s", list_of(cores.ranks));
    return pick(machine, wish, first_cores(count.total), count, true, out);
  }
  std::vector<int> avoided = cores.ranks;
  avoided.insert(avoided.end(), cores.communication.begin(), cores.communication.end());
  out.reason =
      fmt::format("other jobs hold core{} {}{}", avoided.size() == 1 ? "" : "s",
                  list_of(avoided), out.is_shared ? ": shared" : "");
  if (!count.is_given) {
    const int left = static_cast<int>(cores.free.size()) - count.application;
    count.communication = std::clamp(left, 0, count.communication);
  }
  if (cores.free.size() >= application + static_cast<size_t>(count.communication))
    return pick(machine, wish, cores.free, count, false, out);
  pick_in_order(cores, count, wish.bind, out);
  return {};
}

}  // namespace

Result<CoreChoice> choose_cores(const topo::Machine& machine, const CoreWish& wish,
                                const std::vector<CoreUse>& others) {
  const int available = machine.core_count();
  MPC_TRY(check(wish, available));
  auto counted = count_workers(wish, available);
  MPC_TRY(counted);
  const Count& count = *counted;
  CoreChoice out;
  out.application_workers = count.application;
  out.is_bound = wish.bind != Bind::kNone;
  if (!wish.core_list.empty()) {
    // The last cores of a list are those for communication.
    out.cores = out.pool = wish.core_list;
    out.cores.erase(out.cores.begin() + count.application,
                    out.cores.end() - count.communication);
    return out;
  }
  const Cores cores(available, others);
  if (cores.is_alone() || !out.is_bound) {
    MPC_TRY(pick(machine, wish, first_cores(count.total), count, true, out));
  } else {
    MPC_TRY(choose_beside_others(machine, wish, cores, count, out));
  }
  return out;
}

Result<std::vector<int>> place_on(const topo::Machine& machine,
                                  const CoreChoice& choice, int ranks,
                                  Placement placement) {
  const std::vector<int> cores(choice.cores.begin(),
                               choice.cores.begin() + choice.application_workers);
  return sched::place_ranks(machine, cores, ranks,
                            placement == Placement::kScatter
                                ? sched::Placement::kScatter
                                : sched::Placement::kCompact);
}

Result<Placing> place_alone(const topo::Machine& machine, const CoreWish& wish) {
  auto choice = choose_cores(machine, wish, {});
  MPC_TRY(choice);
  auto workers = place_on(machine, *choice, wish.ranks, wish.placement);
  MPC_TRY(workers);
  const int application = choice->application_workers;
  return Placing{std::move(*workers), application,
                 static_cast<int>(choice->cores.size()) - application};
}

}  // namespace mpc::job

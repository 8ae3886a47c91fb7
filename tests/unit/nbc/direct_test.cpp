// Direct collectives on the real scheduler: many teams, random members, sizes and delays.
#include "nbc/direct/direct.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/datatype/reduce.h"
#include "tests/unit/message/world.h"
#include "tests/unit/nbc/findings.h"
#include "tests/unit/nbc/rank_steps.h"

namespace mpc::nbc::direct {
namespace {

using msg::test::Why;
using msg::test::World;
using nbc::test::delay;
using nbc::test::Findings;
using nbc::test::seed;
using nbc::test::take_step;

const Why kWhy{"a direct collective"};

Call allreduce_of(const std::vector<int64_t>& in, std::vector<int64_t>& out) {
  Call call;
  call.coll = Coll::kAllreduce;
  call.op_code = static_cast<uint8_t>(dt::abi::kSum);
  call.send = in.data();
  call.recv = out.data();
  call.count = static_cast<Count>(in.size());
  call.element_bytes = sizeof(int64_t);
  call.op.kernel = dt::reduction(dt::abi::kSum, dt::abi::kInt64T);
  call.op.kernel3 = dt::reduction3(dt::abi::kSum, dt::abi::kInt64T);
  return call;
}

// x -> a x + b over integers modulo 2^32, packed as (a, b): associative, does not commute.
uint64_t after(uint64_t first, uint64_t second) {
  const auto a = static_cast<uint32_t>(first), b = static_cast<uint32_t>(first >> 32);
  const auto c = static_cast<uint32_t>(second), d = static_cast<uint32_t>(second >> 32);
  return static_cast<uint64_t>(a * c) | static_cast<uint64_t>(c * b + d) << 32;
}
void compose(void*, const void* in, void* inout, Count n) {
  const auto* left = static_cast<const uint64_t*>(in);
  auto* right = static_cast<uint64_t*>(inout);
  for (Count i = 0; i < n; ++i) right[i] = after(left[i], right[i]);
}

struct Group {
  std::vector<int> world_ranks;
  std::unique_ptr<Team> team;
};

// Groups of random members; whether places come in rank order depends on `places`.
std::deque<Group> random_groups(int ranks, int places, bool in_blocks, int count,
                                std::mt19937& random) {
  std::deque<Group> groups;
  for (int g = 0; g < count; ++g) {
    Group& group = groups.emplace_back();
    for (int r = 0; r < ranks; ++r) {
      if (g == 0 || random() % 3 != 0) group.world_ranks.push_back(r);
    }
    if (group.world_ranks.empty()) group.world_ranks.push_back(0);
    std::vector<int> place_of;
    for (const int r : group.world_ranks)
      place_of.push_back(in_blocks ? r * places / ranks : r % places);
    group.team = std::make_unique<Team>(place_of);
  }
  return groups;
}

struct Step {
  Group* group;
  int kind;      // 0 barrier, 1 sum, 2 composition, 3 sum in place
  size_t count;  // of elements
  std::atomic<int> came{0};
  Step(Group* g, int k, size_t n) : group(g), kind(k), count(n) {}
};

int64_t value_of(int step, int rank, size_t i) {
  return static_cast<int64_t>(step) * 1000003 + int64_t{rank} * 7919 +
         static_cast<int64_t>(i) * 31;
}

std::string check_sum(int number, const Group& group, const std::vector<int64_t>& got) {
  for (size_t i = 0; i < got.size(); ++i) {
    int64_t want = 0;
    for (const int r : group.world_ranks) want += value_of(number, r, i);
    if (got[i] != want)
      return "step " + std::to_string(number) + ": element " + std::to_string(i) +
             " of " + std::to_string(got.size()) + " is wrong";
  }
  return "";
}

std::string check_composition(int number, const Group& group,
                              const std::vector<uint64_t>& got) {
  for (size_t i = 0; i < got.size(); ++i) {
    bool is_first = true;
    uint64_t want = 0;
    for (const int r : group.world_ranks) {
      const auto value =
          static_cast<uint64_t>(value_of(number, r, i)) * 0x9e3779b97f4a7c15u;
      want = is_first ? value : after(want, value);
      is_first = false;
    }
    if (got[i] != want) return "step " + std::to_string(number) + ": order is wrong";
  }
  return "";
}

std::string play(int number, Step& step, int member, job::Rank& self) {
  Team& team = *step.group->team;
  const int me = self.world_rank;
  const auto members = static_cast<int>(step.group->world_ranks.size());
  if (step.kind == 0) {
    step.came.fetch_add(1, std::memory_order_relaxed);
    run(team, member, self, {}, kWhy);
    return step.came.load(std::memory_order_relaxed) == members ? "" : "left too early";
  }
  if (step.kind == 2) {
    std::vector<uint64_t> in(step.count), out(step.count);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<uint64_t>(value_of(number, me, i)) * 0x9e3779b97f4a7c15u;
    Call call;
    call.coll = Coll::kAllreduce;
    call.send = in.data();
    call.recv = out.data();
    call.count = static_cast<Count>(in.size());
    call.element_bytes = sizeof(uint64_t);
    call.op.apply = compose;
    run(team, member, self, call, kWhy);
    return check_composition(number, *step.group, out);
  }
  std::vector<int64_t> in(step.count), out(step.count);
  for (size_t i = 0; i < in.size(); ++i) in[i] = value_of(number, me, i);
  Call call = allreduce_of(in, out);
  if (step.kind == 3) {
    out = in;
    call.send = call.recv;
  }
  run(team, member, self, call, kWhy);
  return check_sum(number, *step.group, out);
}

struct Setup {
  int ranks, workers;
  bool in_blocks;
};

class DirectStress : public ::testing::TestWithParam<Setup> {};

TEST_P(DirectStress, KeepsRandomTeamsApart) {
  const auto [ranks, workers, in_blocks] = GetParam();
  std::mt19937 random(seed() + static_cast<unsigned>(ranks));
  RecordProperty("seed", static_cast<int>(seed()));
  auto groups = random_groups(ranks, workers, in_blocks, 5, random);
  std::deque<Step> steps;
  const size_t largest = ranks > 16 ? 2000 : 20000;
  for (int s = 0; s < 120; ++s) {
    Group& group = groups[random() % groups.size()];
    int kind = static_cast<int>(random() % 4);
    if (kind == 2 && !group.team->is_in_rank_order()) kind = 1;
    const size_t few = 1 + random() % 8, many = 1 + random() % largest;
    steps.emplace_back(&group, kind, random() % 4 == 0 ? many : few);
  }
  Findings findings;
  World world(ranks, workers, [&, n = workers, r = ranks, b = in_blocks](int rank) {
    return b ? rank * n / r : rank % n;
  });
  const std::string left = world.run([&](job::Rank& self) {
    std::mt19937 mine(seed() * 31 + static_cast<unsigned>(self.world_rank));
    for (size_t s = 0; s < steps.size(); ++s) {
      const auto& members = steps[s].group->world_ranks;
      const auto found =
          std::lower_bound(members.begin(), members.end(), self.world_rank);
      if (found == members.end() || *found != self.world_rank) continue;
      const int member = static_cast<int>(found - members.begin());
      delay(mine, self, 8);
      findings.add(take_step(self, mine() % 40 == 0, [&] {
        return play(static_cast<int>(s), steps[s], member, self);
      }));
    }
  });
  EXPECT_EQ(left, "");
  EXPECT_EQ(findings.all(), "") << "MPC_TEST_SEED=" << seed();
}

INSTANTIATE_TEST_SUITE_P(Worlds, DirectStress,
                         ::testing::Values(Setup{1, 1, true}, Setup{2, 2, true},
                                           Setup{3, 2, false}, Setup{5, 1, true},
                                           Setup{8, 2, true}, Setup{9, 3, false},
                                           Setup{16, 2, true}, Setup{24, 5, true},
                                           Setup{9, 9, true}, Setup{60, 30, false},
                                           Setup{70, 35, true}, Setup{64, 2, true}),
                         [](const auto& setup) {
                           return std::to_string(setup.param.ranks) + "RanksOn" +
                                  std::to_string(setup.param.workers) +
                                  (setup.param.in_blocks ? "Blocks" : "RoundRobin");
                         });

// A waker that is late meets a thread that waits for the next flag already: it must not use up
// the thread's entry, which the next waker looks for.
TEST(Sleeper, LosesNoWakeUpOfAKernelThreadThatIsOneFlagAhead) {
  constexpr uint64_t kForNs = 1'000'000'000, kLostNs = 10'000'000'000;
  std::atomic<uint64_t> flag{0}, seen{0};
  std::atomic<bool> is_over{false};
  std::atomic<sched::Execution*> waiting{nullptr};
  Sleeper sleeper;
  std::thread waiter([&] {
    sched::Execution& self = sched::Execution::self();
    waiting.store(&self);
    std::mt19937 random(seed());
    for (uint64_t number = 1; !is_over.load(); ++number) {
      const auto holds = [&] { return flag.load(std::memory_order_seq_cst) >= number; };
      if (!holds()) {
        sleeper.arm(self);
        // Mostly it sees the flag itself, while the waker is about to wake it.
        for (auto looks = random() % 400; looks > 0 && !holds(); --looks) {
        }
        while (!holds() && !is_over.load()) self.park(kWhy);
        sleeper.disarm();
      }
      seen.store(number, std::memory_order_release);
    }
    while (waiting.load() != nullptr) sched::Execution::self().yield();
  });
  std::mt19937 random(seed() + 1);
  const uint64_t end = sched::now_ns() + kForNs;
  bool is_lost = false;
  for (uint64_t number = 1; sched::now_ns() < end && !is_lost; ++number) {
    for (auto pauses = random() % 16; pauses > 0; --pauses) __builtin_ia32_pause();
    flag.store(number, std::memory_order_seq_cst);
    sleeper.wake();
    const uint64_t limit = sched::now_ns() + kLostNs;
    for (int turn = 0; seen.load(std::memory_order_acquire) < number && !is_lost;
         ++turn) {
      if (turn > 1000) sched::Execution::self().yield();
      is_lost = sched::now_ns() > limit;
    }
  }
  is_over.store(true);
  waiting.load()->unpark();
  waiting.store(nullptr);
  waiter.join();
  EXPECT_FALSE(is_lost) << "after " << seen.load() << " flags";
}

// Rank 4 calls a barrier, all others an allreduce; then all call the same.
void call_differently(int ranks, int workers, const std::vector<int>& place_of) {
  Team team(place_of);
  Findings findings;
  World world(ranks, workers, [&](int r) { return place_of[static_cast<size_t>(r)]; });
  std::atomic<int> right{0};
  world.run([&](job::Rank& self) {
    const int me = self.world_rank;
    std::vector<int64_t> in(2, 1), out(2, -1);
    Call call = allreduce_of(in, out);
    if (me == 4) call = {};
    const Outcome outcome = run(team, me, self, call, kWhy);
    if (outcome.mismatch == nullptr) {
      findings.add("no mismatch");
    } else if (*outcome.mismatch !=
               "rank 4 calls MPI_Barrier while rank 0 calls MPI_Allreduce of 16 "
               "bytes, "
               "MPI_SUM") {
      findings.add(*outcome.mismatch);
    }
    if (out[0] != -1) findings.add("data were moved");
    // The team goes on.
    Call good = allreduce_of(in, out);
    if (run(team, me, self, good, kWhy).mismatch == nullptr && out[1] == ranks) ++right;
  });
  EXPECT_EQ(findings.all(), "");
  EXPECT_EQ(right.load(), ranks);
}

TEST(Direct, TellsAllMembersWhoCallsSomethingElse) {
  call_differently(6, 2, {0, 0, 0, 1, 1, 1});
  call_differently(6, 2, {0, 1, 0, 1, 0, 1});
  call_differently(6, 6, {0, 1, 2, 3, 4, 5});
}

TEST(Direct, TellsItInStages) {
  std::vector<int> alone, in_pairs, in_turns;
  constexpr int kPlaces = 33;  // more than can meet at once
  EXPECT_LT(best_radix(kPlaces), kPlaces);
  for (int r = 0; r < 2 * kPlaces; ++r) {
    if (r < kPlaces) alone.push_back(r);
    in_pairs.push_back(r / 2);
    in_turns.push_back(r % kPlaces);
  }
  call_differently(kPlaces, kPlaces, alone);
  call_differently(2 * kPlaces, kPlaces, in_pairs);
  call_differently(2 * kPlaces, kPlaces, in_turns);
}

TEST(Direct, KnowsWhetherPlacesFollowTheRanks) {
  EXPECT_TRUE(Team(std::vector<int>{4, 4, 2, 2, 2, 7}).is_in_rank_order());
  EXPECT_FALSE(Team(std::vector<int>{0, 1, 0}).is_in_rank_order());
  EXPECT_EQ(Team(std::vector<int>{0, 1, 0}).place_count(), 2);
}

}  // namespace
}  // namespace mpc::nbc::direct

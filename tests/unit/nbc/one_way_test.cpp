// One-way collectives on the real scheduler: long mixes of them and of others on one team, with members
// that run ahead, wait late, and act through kernel threads. Each value names the collective that
// it belongs to, so a post that is written again too early is seen.
#include "nbc/direct/one_way.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
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

const Why kWhy{"a one-way collective"};

using Values = std::vector<int64_t>;

constexpr Coll kColls[] = {Coll::kBcast,
                           Coll::kGather,
                           Coll::kScatter,
                           Coll::kReduce,
                           Coll::kScan,
                           Coll::kExscan,
                           Coll::kNeighborAllgather,
                           Coll::kBarrier,
                           Coll::kNeighborAlltoall,
                           Coll::kAllreduce};

struct Step {
  Coll coll;
  int root;
  int count;  // elements of one block
  bool is_in_place;
};

int64_t value_of(int step, int rank, int i) {
  return static_cast<int64_t>(step) * 1000003 + rank * 7919 + i * 31;
}

// `blocks` blocks: element i of block b is element b * count + i.
Values values_of(int step, int rank, int elements) {
  Values out(static_cast<size_t>(elements));
  for (int i = 0; i < elements; ++i)
    out[static_cast<size_t>(i)] = value_of(step, rank, i);
  return out;
}

Block block(const Values& values, int count) {
  return {const_cast<int64_t*>(values.data()), count, dt::predefined(dt::abi::kInt64T)};
}

Operation sum() {
  Operation op;
  op.kernel = dt::reduction(dt::abi::kSum, dt::abi::kInt64T);
  op.kernel3 = dt::reduction3(dt::abi::kSum, dt::abi::kInt64T);
  return op;
}

// The sum over ranks [0, last).
Values sums(int step, int last, int count) {
  Values out(static_cast<size_t>(count));
  for (int r = 0; r < last; ++r)
    for (int i = 0; i < count; ++i) out[static_cast<size_t>(i)] += value_of(step, r, i);
  return out;
}

// Blocks that `rank` receives in a collective with blocks: count elements from each of `from`,
// their block `index`.
void append(Values& out, int step, int from, int index, int count) {
  for (int i = 0; i < count; ++i)
    out.push_back(value_of(step, from, index * count + i));
}

class Play {
 public:
  Play(Team& team, job::Rank& self, int number, const Step& step)
      : team_(team),
        self_(self),
        number_(number),
        step_(step),
        me_(self.world_rank),
        size_(team.size()) {}

  std::string run() {
    switch (step_.coll) {
      case Coll::kBarrier:
        return say(direct::run(team_, me_, self_, {}, kWhy), {}, {});
      case Coll::kAllreduce:
        return allreduce();
      case Coll::kNeighborAllgather:
      case Coll::kNeighborAlltoall:
        return neighbours();
      case Coll::kReduce:
      case Coll::kScan:
      case Coll::kExscan:
        return reduction();
      default:
        return blocks();
    }
  }

 private:
  std::string say(const Outcome& outcome, const Values& got, const Values& want) const {
    const std::string name =
        "step " + std::to_string(number_) + ", " + name_of(step_.coll);
    if (outcome.mismatch != nullptr) return name + ": " + *outcome.mismatch;
    if (outcome.truncated_by >= 0 || outcome.short_from >= 0)
      return name + ": wrong length";
    return got == want ? "" : name + ": wrong data";
  }

  std::string allreduce() {
    const Values in = values_of(number_, me_, step_.count);
    Values out(in.size());
    Call call;
    call.coll = Coll::kAllreduce;
    call.op_code = static_cast<uint8_t>(dt::abi::kSum);
    call.send = in.data();
    call.recv = out.data();
    call.count = step_.count;
    call.element_bytes = sizeof(int64_t);
    call.op = sum();
    return say(direct::run(team_, me_, self_, call, kWhy), out,
               sums(number_, size_, step_.count));
  }

  std::string reduction() {
    const int count = step_.count;
    Values in = values_of(number_, me_, count), out(static_cast<size_t>(count), -1);
    Values& to = step_.is_in_place ? in : out;
    OneWayCall call;
    call.coll = step_.coll;
    call.op_code = static_cast<uint8_t>(dt::abi::kSum);
    call.root = step_.root;
    call.send = block(in, count);
    call.recv = block(to, count);
    call.op = sum();
    Values want = to;
    if (step_.coll == Coll::kScan) want = sums(number_, me_ + 1, count);
    if (step_.coll == Coll::kExscan && me_ > 0) want = sums(number_, me_, count);
    if (step_.coll == Coll::kReduce && me_ == step_.root)
      want = sums(number_, size_, count);
    const Outcome outcome = run_one_way(team_, me_, self_, call, kWhy);
    return say(outcome, to, want);
  }

  std::string blocks() {
    const int count = step_.count;
    const bool is_root = me_ == step_.root;
    OneWayCall call;
    call.coll = step_.coll;
    call.root = step_.root;
    const Values in =
        values_of(number_, me_, step_.coll == Coll::kScatter ? size_ * count : count);
    const bool gathers = step_.coll == Coll::kGather;
    Values out(static_cast<size_t>(gathers ? size_ * count : count), -1), want = out;
    if (gathers || is_root) call.send = block(in, count);
    if (is_root == gathers || step_.coll == Coll::kScatter)
      call.recv = block(out, count);
    if (gathers && is_root) {
      want.clear();
      for (int r = 0; r < size_; ++r) append(want, number_, r, 0, count);
    } else if (!gathers && call.recv.type != nullptr) {
      want.clear();
      append(want, number_, step_.root, step_.coll == Coll::kScatter ? me_ : 0, count);
    }
    const Outcome outcome = run_one_way(team_, me_, self_, call, kWhy);
    return say(outcome, out, want);
  }

  std::string neighbours() {
    const int count = step_.count;
    const int ring[] = {(me_ + size_ - 1) % size_, (me_ + 1) % size_};
    const bool gathers = step_.coll == Coll::kNeighborAllgather;
    const Values in = values_of(number_, me_, gathers ? count : 2 * count);
    Values out(static_cast<size_t>(2 * count)), want;
    NeighbourCall call;
    call.coll = step_.coll;
    call.send = block(in, count);
    call.recv = block(out, count);
    call.sources = call.destinations = ring;
    append(want, number_, ring[0], gathers ? 0 : 1, count);
    append(want, number_, ring[1], 0, count);
    const Outcome outcome = run_with_neighbours(team_, me_, self_, call, kWhy);
    return say(outcome, out, want);
  }

  Team& team_;
  job::Rank& self_;
  const int number_;
  const Step& step_;
  const int me_, size_;
};

std::vector<Step> random_steps(int count, int size, std::mt19937& random) {
  std::vector<Step> steps;
  const int most = static_cast<int>(kScratchBytes / sizeof(int64_t)) / size;
  while (static_cast<int>(steps.size()) < count) {
    Step step{kColls[random() % std::size(kColls)],
              static_cast<int>(random() % static_cast<unsigned>(size)), 1,
              random() % 3 == 0};
    if (random() % 3 == 0) step.count += static_cast<int>(random()) % most;
    step.count = std::clamp(step.count, 1, most);
    const bool has_neighbours = traits_of(step.coll).is_neighborhood;
    if (has_neighbours && random() % 4 == 0) step.count = 3000;  // not in a post
    // A run of the same, in which a root goes ahead until it has no posts left.
    const auto run = random() % 4 == 0 ? 1 + random() % 40 : 1;
    for (unsigned i = 0; i < run; ++i) steps.push_back(step);
  }
  return steps;
}

struct Setup {
  int ranks, workers;
  bool in_blocks;
  int place_of(int rank) const {
    return in_blocks ? rank * workers / ranks : rank % workers;
  }
};

class OneWay : public ::testing::TestWithParam<Setup> {};

TEST_P(OneWay, KeepsLongMixesApart) {
  const auto setup = GetParam();
  const int ranks = setup.ranks;
  std::mt19937 random(seed() + static_cast<unsigned>(ranks));
  RecordProperty("seed", static_cast<int>(seed()));
  std::vector<int> places;
  for (int r = 0; r < ranks; ++r) places.push_back(setup.place_of(r));
  Team team(places);
  ASSERT_TRUE(can_go_one_way(team));
  const std::vector<Step> steps = random_steps(ranks > 8 ? 500 : 1500, ranks, random);
  Findings findings;
  World world(ranks, setup.workers, [&](int rank) { return setup.place_of(rank); });
  const std::string left = world.run([&](job::Rank& self) {
    std::mt19937 mine(seed() * 31 + static_cast<unsigned>(self.world_rank));
    for (size_t s = 0; s < steps.size(); ++s) {
      delay(mine, self, 16);
      findings.add(take_step(self, mine() % 200 == 0, [&] {
        return Play(team, self, static_cast<int>(s), steps[s]).run();
      }));
    }
  });
  EXPECT_EQ(left, "");
  EXPECT_EQ(findings.all(), "") << "MPC_TEST_SEED=" << seed();
}

INSTANTIATE_TEST_SUITE_P(Worlds, OneWay,
                         ::testing::Values(Setup{1, 1, true}, Setup{2, 2, true},
                                           Setup{3, 3, true}, Setup{5, 5, true},
                                           Setup{2, 1, true}, Setup{4, 2, true},
                                           Setup{5, 2, false}, Setup{16, 2, true},
                                           Setup{24, 3, false}),
                         [](const auto& setup) {
                           return std::to_string(setup.param.ranks) + "RanksOn" +
                                  std::to_string(setup.param.workers) +
                                  (setup.param.in_blocks ? "Blocks" : "RoundRobin");
                         });

// A root that never waits for anybody must not write a post that somebody still has to read, however far
// behind that member is; nor may it be held up by members that keep up with it.
TEST(OneWayRunsAhead, AsFarAsItsPostsGoAndNoFarther) {
  constexpr int kCalls = 400;
  Findings findings;
  Team team(std::vector<int>{0, 0, 0});
  World world(3, 1, [](int) { return 0; });
  std::atomic<int> given{0}, farthest{0};
  const std::string left = world.run([&](job::Rank& self) {
    const int me = self.world_rank;
    for (int number = 0; number < kCalls; ++number) {
      Values data(1, me == 0 ? number : -1);
      OneWayCall call;
      (me == 0 ? call.send : call.recv) = block(data, 1);
      const Outcome outcome = run_one_way(team, me, self, call, kWhy);
      if (outcome.mismatch != nullptr) findings.add(*outcome.mismatch);
      if (data[0] != number)
        findings.add("wrong value in call " + std::to_string(number));
      if (me == 0) given.store(number);
      if (me == 2) farthest.store(std::max(farthest.load(), given.load() - number));
    }
  });
  EXPECT_EQ(left, "");
  EXPECT_EQ(findings.all(), "");
  // On one core the root goes on until it has no post left.
  EXPECT_GE(farthest.load(), static_cast<int>(kPosts - kTellEvery) - 1);
  EXPECT_LE(farthest.load(), static_cast<int>(kPosts));
}

// Runs `body(rank, call)` of a bcast of 8 elements with root 0 on two members.
template <class Body>
void on_two(Body body) {
  Team team(std::vector<int>{0, 1});
  World world(2, 2);
  world.run([&](job::Rank& self) { body(team, self); });
}

TEST(OneWayErrors, TellWhoGetsMoreLessOrSomethingElse) {
  Findings findings;
  on_two([&](Team& team, job::Rank& self) {
    const int me = self.world_rank;
    for (const int taken : {4, 12}) {
      Values data(12, me);
      OneWayCall call;
      (me == 0 ? call.send : call.recv) = block(data, me == 0 ? 8 : taken);
      const Outcome outcome = run_one_way(team, me, self, call, kWhy);
      const bool is_right = outcome.truncated_by == (me == 1 && taken == 4 ? 0 : -1) &&
                            outcome.short_from == (me == 1 && taken == 12 ? 0 : -1);
      if (!is_right) findings.add("wrong outcome of " + std::to_string(taken));
    }
    Values value(1, me), all(2);
    OneWayCall call;
    call.coll = me == 0 ? Coll::kBcast : Coll::kScan;
    call.op = sum();
    call.send = block(value, 1);
    call.recv = block(all, 1);
    const Outcome outcome = run_one_way(team, me, self, call, kWhy);
    const std::string text = outcome.mismatch != nullptr ? *outcome.mismatch : "";
    if (text != (me == 0 ? ""
                         : "rank 0 calls MPI_Bcast of 8 bytes while rank 1 calls "
                           "MPI_Scan of 8 bytes"))
      findings.add(text);
    // The team goes on.
    if (direct::run(team, me, self, {}, kWhy).mismatch != nullptr)
      findings.add("no barrier");
  });
  EXPECT_EQ(findings.all(), "");
}

}  // namespace
}  // namespace mpc::nbc::direct

// Small collectives that do not block, on the real scheduler: long mixes with many of them under way, completed in any
// order, by tests and by waits, from several threads of a rank. Each value names the collective that it belongs to,
// so a post that is written again too early is seen.
#include "nbc/direct/pending.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "nbc/direct/trail.h"
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

const Why kWhy{"a small collective"};

using Values = std::vector<int64_t>;

constexpr Coll kColls[] = {
    Coll::kBarrier,  Coll::kBcast,     Coll::kGather, Coll::kScatter, Coll::kAllgather,
    Coll::kAlltoall, Coll::kAllreduce, Coll::kReduce, Coll::kScan,    Coll::kExscan};

struct Step {
  Coll coll;
  int root;
  bool is_in_place;
};

int64_t value_of(int step, int rank, int block) {
  return static_cast<int64_t>(step) * 1000003 + rank * 7919 + block * 31;
}

Block block(const int64_t* at) {
  return {const_cast<int64_t*>(at), 1, dt::predefined(dt::abi::kInt64T)};
}

bool is_reduction(Coll coll) { return traits_of(coll).is_reduction; }

// One collective of 8 bytes at one member.
struct Play {
  Play(int its_number, const Step& its_step, int rank, int ranks)
      : number(its_number), step(its_step), me(rank), size(ranks) {}

  std::string begin(Team& team, job::Rank& self, bool is_shared) {
    const auto n = static_cast<size_t>(size);
    for (int b = 0; b < size; ++b) in.push_back(value_of(number, me, b));
    out.assign(n, -1);
    OneWayCall call;
    call.coll = step.coll;
    call.root = step.root;
    const bool is_root = me == step.root;
    if (is_reduction(step.coll)) {
      call.op_code = static_cast<uint8_t>(dt::abi::kSum);
      call.op.kernel = dt::reduction(dt::abi::kSum, dt::abi::kInt64T);
      if (step.is_in_place) out[0] = in[0];
      call.send = block(step.is_in_place ? out.data() : in.data());
      call.recv = block(out.data());
    } else if (step.coll == Coll::kBcast) {
      (is_root ? call.send : call.recv) = block(is_root ? in.data() : out.data());
    } else if (step.coll != Coll::kBarrier) {
      call.send = block(in.data());
      call.recv = block(out.data());
    }
    return direct::begin(pending, team, me, self, call, is_shared) ? "" : "no memory";
  }

  std::string check() const {
    if (!is_right(pending)) return name() + ": wrong call or length";
    Values want(static_cast<size_t>(size), -1);
    const bool is_root = me == step.root;
    if (is_reduction(step.coll)) {
      int last = size;
      if (step.coll == Coll::kScan) last = me + 1;
      if (step.coll == Coll::kExscan) last = me;
      if (step.is_in_place) want[0] = in[0];
      if (last > 0 && (step.coll != Coll::kReduce || is_root)) {
        want[0] = 0;
        for (int r = 0; r < last; ++r) want[0] += value_of(number, r, 0);
      }
    } else if (step.coll == Coll::kBcast) {
      if (!is_root) want[0] = value_of(number, step.root, 0);
    } else if (step.coll == Coll::kScatter) {
      want[0] = value_of(number, step.root, me);
    } else if (step.coll == Coll::kAllgather || step.coll == Coll::kAlltoall ||
               (step.coll == Coll::kGather && is_root)) {
      for (int r = 0; r < size; ++r)
        want[static_cast<size_t>(r)] =
            value_of(number, r, step.coll == Coll::kAlltoall ? me : 0);
    }
    return out == want ? "" : name() + ": wrong data";
  }
  std::string name() const {
    return "step " + std::to_string(number) + ", " + name_of(step.coll);
  }

  const int number;
  const Step step;
  const int me, size;
  Values in, out;
  Pending pending;
};

std::vector<Step> random_steps(int count, int size, std::mt19937& random) {
  std::vector<Step> steps;
  while (static_cast<int>(steps.size()) < count) {
    const Step step{kColls[random() % std::size(kColls)],
                    static_cast<int>(random() % static_cast<unsigned>(size)),
                    random() % 3 == 0};
    const auto run = random() % 4 == 0 ? 1 + random() % 100 : 1;
    for (unsigned i = 0; i < run; ++i) steps.push_back(step);
  }
  return steps;
}

// Completes one of those under way.
void complete_one(std::deque<std::unique_ptr<Play>>& plays, std::mt19937& random,
                  job::Rank& self, Findings& findings) {
  const size_t which = random() % 2 == 0 ? 0 : random() % plays.size();
  Play& play = *plays[which];
  if (random() % 3 == 0 && !advance(play.pending)) return;
  findings.add(take_step(self, random() % 200 == 0, [&] {
    wait(play.pending, kWhy);
    return play.check();
  }));
  plays.erase(plays.begin() + static_cast<std::ptrdiff_t>(which));
}

struct Setup {
  int ranks, workers;
  int places;  // that the team is told of: as many as ranks, or members share them
};

class Small : public ::testing::TestWithParam<Setup> {};

TEST_P(Small, KeepsLongMixesApartWhateverIsCompletedFirst) {
  const int ranks = GetParam().ranks;
  std::mt19937 random(seed() + static_cast<unsigned>(ranks));
  RecordProperty("seed", static_cast<int>(seed()));
  std::vector<int> places;
  for (int r = 0; r < ranks; ++r) places.push_back(r * GetParam().places / ranks);
  Team team(places);
  const std::vector<Step> steps = random_steps(4000, ranks, random);
  for (const Step& step : steps)
    ASSERT_TRUE(fits_pending(team, step.coll, sizeof(int64_t)));
  Findings findings;
  World world(ranks, GetParam().workers);
  const std::string left = world.run([&](job::Rank& self) {
    const int me = self.world_rank;
    std::mt19937 mine(seed() * 31 + static_cast<unsigned>(me));
    std::deque<std::unique_ptr<Play>> plays;
    size_t most = 1;  // under way at this rank
    for (size_t s = 0; s < steps.size(); ++s) {
      delay(mine, self, 32);
      if (mine() % 50 == 0) most = 1 + mine() % (mine() % 4 == 0 ? 200 : 10);
      plays.push_back(std::make_unique<Play>(static_cast<int>(s), steps[s], me, ranks));
      findings.add(plays.back()->begin(team, self, true));
      while (plays.size() > most) complete_one(plays, mine, self, findings);
      // Blocking ones in between have numbers of their own.
      if (s % 100 == 99 && direct::run(team, me, self, {}, kWhy).mismatch != nullptr)
        findings.add("no barrier");
    }
    while (!plays.empty()) complete_one(plays, mine, self, findings);
  });
  EXPECT_EQ(left, "");
  EXPECT_EQ(findings.all(), "") << "MPC_TEST_SEED=" << seed();
}

INSTANTIATE_TEST_SUITE_P(Worlds, Small,
                         ::testing::Values(Setup{2, 2, 2}, Setup{3, 3, 3},
                                           Setup{4, 4, 4}, Setup{2, 1, 2},
                                           Setup{4, 2, 4}, Setup{2, 1, 1},
                                           Setup{4, 2, 2}, Setup{4, 3, 3}),
                         [](const auto& setup) {
                           return std::to_string(setup.param.ranks) + "RanksOn" +
                                  std::to_string(setup.param.workers) + "At" +
                                  std::to_string(setup.param.places);
                         });

// Plain threads, one for each member, that only test: nothing but the posts and counters orders them.
class SmallThreads : public ::testing::TestWithParam<std::vector<int>> {};

TEST_P(SmallThreads, KeepMixesApartWithNothingButPostsAndMeetings) {
  const int kThreads = static_cast<int>(GetParam().size());
  std::mt19937 random(seed());
  Team team(GetParam());
  const std::vector<Step> steps = random_steps(6000, kThreads, random);
  std::deque<job::Rank> ranks(GetParam().size());
  Findings findings;
  const auto run = [&](int me) {
    std::mt19937 mine(seed() * 31 + static_cast<unsigned>(me));
    std::deque<std::unique_ptr<Play>> plays;
    const auto complete_some = [&](size_t most) {
      while (plays.size() > most) {
        const size_t which = mine() % plays.size();
        if (!advance(plays[which]->pending)) {
          std::this_thread::yield();
          continue;
        }
        findings.add(plays[which]->check());
        plays.erase(plays.begin() + static_cast<std::ptrdiff_t>(which));
      }
    };
    for (size_t s = 0; s < steps.size(); ++s) {
      plays.push_back(
          std::make_unique<Play>(static_cast<int>(s), steps[s], me, kThreads));
      findings.add(plays.back()->begin(team, ranks[static_cast<size_t>(me)], me == 0));
      complete_some(mine() % 8 == 0 ? mine() % 4 : 150);
    }
    complete_some(0);
  };
  std::vector<std::thread> threads;
  for (int me = 0; me < kThreads; ++me) threads.emplace_back(run, me);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(findings.all(), "") << "MPC_TEST_SEED=" << seed();
}

INSTANTIATE_TEST_SUITE_P(Places, SmallThreads,
                         ::testing::Values(std::vector<int>{0, 1, 2},
                                           std::vector<int>{0, 1, 0},
                                           std::vector<int>{0, 0, 1, 1}));

// A start must not wait, however far behind the others are; the end of what only gives may wait for their starts.
TEST(SmallRunsAhead, AStartNeverWaitsAndTheRingGrows) {
  constexpr int kCalls = 1000;
  Findings findings;
  Team team(std::vector<int>{0, 1});
  World world(2, 1);
  std::atomic<bool> has_begun{false};
  const std::string left = world.run([&](job::Rank& self) {
    const int me = self.world_rank;
    std::deque<Play> plays;
    const auto begin_all = [&] {
      for (int number = 0; number < kCalls; ++number) {
        plays.emplace_back(number, Step{Coll::kBcast, 0, false}, me, 2);
        findings.add(plays.back().begin(team, self, false));
      }
    };
    if (me == 0) {
      begin_all();
      if (!advance(plays[kMostAhead - 1].pending))
        findings.add("the root waits although it is not far ahead");
      if (advance(plays[kMostAhead + kTellEvery].pending))
        findings.add("the root runs ahead without end");
      has_begun.store(true);
    } else {
      while (!has_begun.load()) sched::Execution::self().yield();
      begin_all();
    }
    for (Play& play : plays) {
      wait(play.pending, kWhy);
      findings.add(play.check());
    }
  });
  EXPECT_EQ(left, "");
  EXPECT_EQ(findings.all(), "");
}

// If nothing is left behind the ring stays as it was made.
TEST(SmallRunsAhead, ARootThatWaitsEachTimeNeedsOneRing) {
  constexpr int kCalls = 5000;
  Findings findings;
  Team team(std::vector<int>{0, 1});
  World world(2, 2);
  world.run([&](job::Rank& self) {
    for (int number = 0; number < kCalls; ++number) {
      Play play(number, {Coll::kBcast, 0, false}, self.world_rank, 2);
      findings.add(play.begin(team, self, false));
      wait(play.pending, kWhy);
      findings.add(play.check());
    }
  });
  EXPECT_EQ(findings.all(), "");
  EXPECT_EQ(team.trails()[0].rings.size(), 1u);
  EXPECT_EQ(team.trails()[1].rings.size(), 0u);  // it gives nothing
}

TEST(SmallErrors, TellWhoGetsMoreLessOrSomethingElse) {
  Findings findings;
  Team team(std::vector<int>{0, 1});
  World world(2, 2);
  world.run([&](job::Rank& self) {
    const int me = self.world_rank;
    const auto run = [&](Coll coll, int count, std::string& text) {
      Values data(4, me);
      OneWayCall call;
      call.coll = coll;
      (me == 0 ? call.send : call.recv) = block(data.data());
      call.send.count = call.recv.count = count;
      if (coll == Coll::kBarrier) call.send = call.recv = {};
      Pending pending;
      if (!begin(pending, team, me, self, call, false)) findings.add("no memory");
      wait(pending, kWhy);
      return outcome_of(pending, text);
    };
    std::string text;
    if (run(Coll::kBcast, me == 0 ? 2 : 1, text).truncated_by != (me == 0 ? -1 : 0))
      findings.add("too long");
    if (run(Coll::kBcast, me == 0 ? 2 : 3, text).short_from != (me == 0 ? -1 : 0))
      findings.add("too short");
    run(me == 0 ? Coll::kBcast : Coll::kBarrier, 1, text);
    if (text != (me == 0 ? ""
                         : "rank 0 calls MPI_Bcast of 8 bytes while rank 1 calls "
                           "MPI_Barrier"))
      findings.add(text);
  });
  EXPECT_EQ(findings.all(), "");
}

TEST(SmallFits, WhatGoesIntoOnePostOrIsQuicklySettled) {
  Team spread(std::vector<int>{0, 1}), shared(std::vector<int>{0, 0, 1, 1});
  EXPECT_TRUE(fits_pending(spread, Coll::kBcast, Post::kInlineBytes));
  EXPECT_FALSE(fits_pending(spread, Coll::kBcast, Post::kInlineBytes + 1));
  EXPECT_TRUE(fits_pending(spread, Coll::kAlltoall, Post::kInlineBytes / 2));
  EXPECT_FALSE(fits_pending(spread, Coll::kAlltoall, Post::kInlineBytes));
  EXPECT_FALSE(fits_pending(spread, Coll::kBcast, 0));
  EXPECT_FALSE(fits_pending(spread, Coll::kAlltoallv, 8));
  EXPECT_TRUE(fits_pending(shared, Coll::kBcast, Post::kInlineBytes));
  EXPECT_FALSE(fits_pending(shared, Coll::kBcast, Post::kInlineBytes + 1));
  EXPECT_FALSE(by_meeting(shared, Coll::kReduce));
  EXPECT_TRUE(by_meeting(shared, Coll::kBarrier));
  EXPECT_FALSE(by_meeting(spread, Coll::kBarrier));
  EXPECT_TRUE(fits_pending(shared, Coll::kBarrier, 0));
  EXPECT_TRUE(fits_pending(shared, Coll::kAllreduce, kScratchBytes));
  EXPECT_FALSE(fits_pending(shared, Coll::kAllreduce, kScratchBytes + 1));
  EXPECT_FALSE(fits_pending(shared, Coll::kAlltoall, 0));
  // With many members and many places trees divide what one member would have to do.
  std::vector<int> many;
  for (int m = 0; m < 160; ++m) many.push_back(m / 20);
  Team large(many);
  EXPECT_FALSE(fits_pending(large, Coll::kBcast, 8));
  EXPECT_FALSE(fits_pending(large, Coll::kAllreduce, 8));
  EXPECT_TRUE(fits_pending(large, Coll::kBarrier, 0));
}

}  // namespace
}  // namespace mpc::nbc::direct

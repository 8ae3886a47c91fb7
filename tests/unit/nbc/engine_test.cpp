// The engine on the real scheduler and message layer: every collective, alone and among others.
#include "nbc/engine/engine.h"
#include "base/counter.h"
#include "base/settings.h"

#include <gtest/gtest.h>

#include "tests/unit/message/world.h"
#include "tests/unit/nbc/engine_support.h"
#include "tests/unit/nbc/player.h"

namespace mpc::nbc {
namespace {

using msg::test::World;
using test::all_complete;
using test::counted;
using test::Findings;
using test::identity;
using test::kWhy;
using test::Player;
using test::seed;

class EngineRunsEveryAlgorithm : public ::testing::TestWithParam<int> {};

TEST_P(EngineRunsEveryAlgorithm, Blocking) {
  const Coll coll = static_cast<Coll>(GetParam());
  std::mt19937 random(seed() + static_cast<unsigned>(GetParam()));
  for (int n : {1, 2, 3, 5, 8, 13}) {
    std::deque<Player> players;
    for (const Algorithm& algorithm : algorithms(coll))
      for (int unit : {2, 9000}) {
        test::Case c = test::random_case(coll, n, random, unit / (n > 8 ? 4 : 1) + 1);
        if (!is_applicable(algorithm, c.ranks[0].shape)) continue;
        players.emplace_back(std::move(c), algorithm, random() % 3 == 0, identity(n),
                             static_cast<int>(players.size()) * kTagsPerCollective);
      }
    Findings findings;
    World world(n, 2);
    const std::string left = world.run([&](job::Rank& rank) {
      for (Player& player : players) {
        player.fill(rank.world_rank, 1);
        const auto status = run(rank, *player.schedule(rank.world_rank),
                                player.binding(rank.world_rank), kWhy);
        if (status.failed) findings.add("a status says that it failed");
        findings.add(player.check(rank.world_rank, 1));
      }
      forget_rank(rank);
    });
    EXPECT_EQ(left, "");
    ASSERT_EQ(findings.all(), "") << "seed " << seed();
  }
}

// Long messages that are reduced at once are: the tests above cover that way, too.
TEST(Engine, ReducesWhileItCopies) {
  const auto fused = [] { return counted("nbc.fused_reductions"); };
  constexpr int kRanks = 4;
  std::mt19937 random(seed());
  const uint64_t before = fused();
  for (const Algorithm& algorithm : algorithms(Coll::kAllreduce)) {
    for (int turn = 0; turn < 6; ++turn) {
      Player player(test::random_case(Coll::kAllreduce, kRanks, random, 20000),
                    algorithm, false, identity(kRanks), turn * kTagsPerCollective);
      if (!is_applicable(algorithm, player.description().ranks[0].shape)) continue;
      Findings findings;
      World world(kRanks, 2);
      const std::string left = world.run([&](job::Rank& rank) {
        const int me = rank.world_rank;
        player.fill(me, 1);
        run(rank, *player.schedule(me), player.binding(me), kWhy);
        findings.add(player.check(me, 1));
        forget_rank(rank);
      });
      EXPECT_EQ(left, "");
      ASSERT_EQ(findings.all(), "") << algorithm.name << " seed " << seed();
    }
  }
  EXPECT_GT(fused(), before);
}

std::string name_of_param(const ::testing::TestParamInfo<int>& info) {
  return name_of(static_cast<Coll>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Collectives, EngineRunsEveryAlgorithm,
                         ::testing::Range(0, kCollCount), name_of_param);

// Many collectives of all kinds in flight on ranks that start them when they like; with
// random splits.
void keep_a_random_mix_apart(unsigned seed_here, int rounds,
                             const std::function<void(World&, unsigned)>& prepare) {
  std::mt19937 random(seed_here);
  for (int round = 0; round < rounds; ++round) {
    const int n = 2 + static_cast<int>(random() % 9);
    std::deque<Player> players;
    while (players.size() < 24) {
      const Coll coll = static_cast<Coll>(random() % kCollCount);
      test::Case c = test::random_case(coll, n, random, random() % 4 == 0 ? 6000 : 4);
      for (auto& r : c.ranks) r.shape.split = static_cast<int>(random() % 4);
      const auto choices = algorithms(coll);
      const Algorithm& algorithm = choices[random() % choices.size()];
      if (!is_applicable(algorithm, c.ranks[0].shape)) continue;
      players.emplace_back(std::move(c), algorithm, random() % 2 == 0, identity(n),
                           tag_base(static_cast<uint32_t>(players.size())));
    }
    const unsigned shuffle = static_cast<unsigned>(random());
    const bool in_background = random() % 2 == 0;
    for (Player& player : players) player.let_run_in_background(in_background);
    Findings findings;
    World world(n, 2);
    prepare(world, static_cast<unsigned>(random()));
    const std::string left = world.run([&](job::Rank& rank) {
      const int me = rank.world_rank;
      std::mt19937 mine(shuffle + static_cast<unsigned>(me));
      std::vector<CollectivePtr> flying;
      for (Player& player : players) {
        player.fill(me, 1);
        flying.push_back(create(rank, player.schedule(me), player.binding(me)));
        if (mine() % 3 == 0) sched::Execution::self().yield();
        start(*flying.back());
        if (mine() % 4 == 0) msg::progress(rank);
        if (mine() % 8 == 0)
          msg::wait_until(rank, nullptr, 0, all_complete, &flying, kWhy);
      }
      msg::wait_until(rank, nullptr, 0, all_complete, &flying, kWhy);
      for (size_t i = 0; i < flying.size(); ++i) findings.add(players[i].check(me, 1));
      flying.clear();
      forget_rank(rank);
    });
    EXPECT_EQ(left, "");
    ASSERT_EQ(findings.all(), "") << "seed " << seed_here << " round " << round;
  }
}

TEST(Engine, KeepsARandomMixOfCollectivesApart) {
  keep_a_random_mix_apart(seed(), 6, [](World&, unsigned) {});
}

// The same with progress threads that take everything, however small.
TEST(Engine, KeepsThemApartInTheBackground) {
  ASSERT_TRUE(Settings::assign("progress.min_bytes=1").ok());
  ASSERT_TRUE(Settings::assign("progress.wake_bytes=1").ok());
  ASSERT_TRUE(Settings::assign("nbc.local_work_bytes=1").ok());
  ASSERT_TRUE(Settings::assign("message.eager_limit=256").ok());
  constexpr sched::ProgressPolicy kPolicies[] = {
      sched::ProgressPolicy::kClosest, sched::ProgressPolicy::kSame,
      sched::ProgressPolicy::kNext, sched::ProgressPolicy::kTasks};
  keep_a_random_mix_apart(seed() + 2, 12, [&](World& world, unsigned number) {
    world.with_progress(kPolicies[number % 4], static_cast<int>(number / 4 % 3));
  });
  ASSERT_TRUE(Settings::assign("progress.min_bytes=16k").ok());
  ASSERT_TRUE(Settings::assign("progress.wake_bytes=256k").ok());
  ASSERT_TRUE(Settings::assign("nbc.local_work_bytes=32k").ok());
  ASSERT_TRUE(Settings::assign("message.eager_limit=8k").ok());
}

}  // namespace
}  // namespace mpc::nbc

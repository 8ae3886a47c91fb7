// The engine on the real scheduler and message layer.
#include "nbc/engine/engine.h"
#include "base/counter.h"
#include "base/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>

#include "tests/unit/message/world.h"
#include "tests/unit/nbc/player.h"

namespace mpc::nbc {
namespace {

using msg::test::Why;
using msg::test::World;
using test::Player;

const Why kWhy{"a collective"};

std::vector<int> identity(int n) {
  std::vector<int> ranks;
  for (int i = 0; i < n; ++i) ranks.push_back(i);
  return ranks;
}

// What ranks found wrong.
class Findings {
 public:
  void add(const std::string& text) {
    if (text.empty()) return;
    std::lock_guard guard(mutex_);
    if (texts_.size() < 5) texts_.push_back(text);
  }
  std::string all() const {
    std::string out;
    for (const auto& text : texts_) out += text + "\n";
    return out;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

unsigned seed() {
  const char* text = std::getenv("MPC_TEST_SEED");
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 4711;
}

uint64_t counted(std::string_view name) {
  for (const Counter* counter : Counter::all())
    if (counter->name() == name) return counter->get();
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

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

bool all_complete(void* argument) {
  for (const auto& c : *static_cast<std::vector<CollectivePtr>*>(argument))
    if (!is_complete(*c)) return false;
  return true;
}

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

// Persistent ones: made, not started.
std::vector<CollectivePtr> create_all(job::Rank& rank,
                                      const std::deque<Player>& players) {
  std::vector<CollectivePtr> made;
  for (const Player& player : players)
    made.push_back(create(rank, player.schedule(rank.world_rank),
                          player.binding(rank.world_rank)));
  return made;
}

// Persistent: the same collectives again and again, with changed data.
TEST(Engine, StartsTheSameCollectiveAgain) {
  std::mt19937 random(seed() + 1);
  constexpr int kRanks = 6;
  std::deque<Player> players;
  for (int i = 0; i < kCollCount; ++i)
    players.emplace_back(test::random_case(static_cast<Coll>(i), kRanks, random, 20),
                         algorithms(static_cast<Coll>(i))[0], i % 2 == 0,
                         identity(kRanks), tag_base(static_cast<uint32_t>(i), true));
  Findings findings;
  World world(kRanks, 2);
  const std::string left = world.run([&](job::Rank& rank) {
    const int me = rank.world_rank;
    std::vector<CollectivePtr> kept = create_all(rank, players);
    for (unsigned round = 0; round < 10; ++round) {
      for (size_t i = 0; i < kept.size(); ++i) {
        players[i].fill(me, round);
        start(*kept[i]);
      }
      msg::wait_until(rank, nullptr, 0, all_complete, &kept, kWhy);
      for (Player& player : players) findings.add(player.check(me, round));
    }
    kept.clear();
    forget_rank(rank);
  });
  EXPECT_EQ(left, "");
  EXPECT_EQ(findings.all(), "");
}

// Who starts last leaves the others' nodes to one that waits, as soon as there is one.
TEST(Engine, AStartLeavesOthersNodesToThoseWhoWait) {
  ASSERT_TRUE(Settings::assign("nbc.start_nodes=0").ok());
  constexpr int kRanks = 8, kMostTurns = 20000;
  std::mt19937 random(seed());
  const auto choices = algorithms(Coll::kAllreduce);
  std::deque<Player> players;
  for (const Algorithm& algorithm : choices) {
    test::Case c = test::random_case(Coll::kAllreduce, kRanks, random, 4);
    if (!is_applicable(algorithm, c.ranks[0].shape)) continue;
    players.emplace_back(std::move(c), algorithm, false, identity(kRanks),
                         tag_base(static_cast<uint32_t>(players.size()), true));
  }
  for (int i = 0; i < 2; ++i)
    players.emplace_back(test::random_case(Coll::kBarrier, kRanks, random, 1),
                         algorithms(Coll::kBarrier)[0], false, identity(kRanks),
                         tag_base(static_cast<uint32_t>(players.size()), true));
  const uint64_t before = counted("nbc.relays");
  // Relaxed: each rank reads it between two barriers; rank 0 writes before it starts the first one
  // (the last player), and again only after the second one (the last but one of the next turn).
  std::atomic<bool> is_enough{false};
  int decided[kRanks] = {};
  Findings findings;
  World world(kRanks, 2);
  const std::string left = world.run([&](job::Rank& rank) {
    const int me = rank.world_rank;
    std::vector<CollectivePtr> kept = create_all(rank, players);
    std::vector<CollectivePtr> one(1);
    for (int turn = 0; turn < kMostTurns; ++turn) {
      for (size_t i = 0; i < kept.size(); ++i) {
        if (me == 0 && i + 1 == kept.size() && turn > 10)
          is_enough.store(counted("nbc.relays") >= before + 100,
                          std::memory_order_relaxed);
        players[i].fill(me, static_cast<unsigned>(turn));
        one[0] = std::move(kept[i]);
        start(*one[0]);
        msg::wait_until(rank, nullptr, 0, all_complete, &one, kWhy);
        kept[i] = std::move(one[0]);
        findings.add(players[i].check(me, static_cast<unsigned>(turn)));
      }
      ++decided[me];
      if (is_enough.load(std::memory_order_relaxed)) break;
    }
    kept.clear();
    forget_rank(rank);
  });
  EXPECT_EQ(left, "");
  EXPECT_EQ(findings.all(), "");
  EXPECT_GE(counted("nbc.relays"), before + 1);
  for (const int turns : decided) EXPECT_EQ(turns, decided[0]);
  ASSERT_TRUE(Settings::assign("nbc.start_nodes=6").ok());
}

// Rank 1 starts late; the ones that did start are not held up by what does not concern them.
TEST(Engine, StartIsLocal) {
  std::mt19937 random(1);
  test::Case c = test::random_case(Coll::kReduce, 4, random, 100);
  Player player(std::move(c), algorithms(Coll::kReduce)[0], false, identity(4), 0);
  Findings findings;
  World world(4, 2);
  const std::string left = world.run([&](job::Rank& rank) {
    const int me = rank.world_rank;
    player.fill(me, 0);
    auto reduce = create(rank, player.schedule(me), player.binding(me));
    char token = 0;
    if (me == 1) msg::recv(rank, msg::test::from(0, &token, 1, 0), kWhy);
    start(*reduce);
    // Rank 1 comes only after rank 0 has left its start.
    if (me == 0) msg::send(rank, msg::test::to(1, &token, 1, 0, 0), kWhy);
    std::vector<CollectivePtr> all;
    all.push_back(std::move(reduce));
    msg::wait_until(rank, nullptr, 0, all_complete, &all, kWhy);
    findings.add(player.check(me, 0));
    all.clear();
    forget_rank(rank);
  });
  EXPECT_EQ(left, "");
  EXPECT_EQ(findings.all(), "");
}

TEST(Engine, CallsBackOnceWhenComplete) {
  std::atomic<int> calls{0};
  std::mt19937 random(1);
  Player player(test::random_case(Coll::kBarrier, 5, random, 1),
                algorithms(Coll::kBarrier)[0], false, identity(5), 0);
  World world(5, 2);
  const std::string left = world.run([&](job::Rank& rank) {
    std::vector<CollectivePtr> all;
    all.push_back(create(rank, player.schedule(rank.world_rank),
                         player.binding(rank.world_rank)));
    set_on_complete(
        *all[0],
        [](void* argument) {
          // Relaxed: read after all ranks have ended.
          static_cast<std::atomic<int>*>(argument)->fetch_add(
              1, std::memory_order_relaxed);
        },
        &calls);
    start(*all[0]);
    msg::wait_until(rank, nullptr, 0, all_complete, &all, kWhy);
    all.clear();
    forget_rank(rank);
  });
  EXPECT_EQ(left, "");
  EXPECT_EQ(calls.load(), 5);
}

TEST(Engine, SaysThatAMessageWasTruncated) {
  ScheduleBuilder sender, receiver;
  sender.send(1, {kSendBuffer, kByteType, 0, 10});
  receiver.recv(0, {kRecvBuffer, kByteType, 0, 5});
  std::shared_ptr<const Schedule> schedules[2] = {sender.finish().value(),
                                                  receiver.finish().value()};
  msg::Status statuses[2];
  std::vector<int> ranks = identity(2);
  World world(2, 2);
  const std::string left = world.run([&](job::Rank& rank) {
    char data[10] = {};
    void* buffers[2] = {data, data};
    Binding b;
    b.buffers = buffers;
    b.world_ranks = ranks;
    b.my_rank = rank.world_rank;
    statuses[rank.world_rank] = run(rank, *schedules[rank.world_rank], b, kWhy);
    forget_rank(rank);
  });
  EXPECT_EQ(left, "");
  EXPECT_FALSE(statuses[0].failed);
  EXPECT_TRUE(statuses[1].failed);
  EXPECT_EQ(statuses[1].error, Errc::kTruncate);
}

// Sanitizers end a program that asks for so much.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Engine, SaysThatThereIsNoMemory) {
  ScheduleBuilder b;
  const BufferRef huge = b.scratch(int64_t{1} << 55, 8, kByteType);
  b.copy(huge, b.scratch(8, 8, kByteType));
  const auto schedule = b.finish().value();
  b.copy(b.scratch(8, 8, kByteType), b.scratch(8, 8, kByteType));
  const auto small = b.finish().value();
  const std::vector<int> ranks = {0};
  World world(1, 1);
  const std::string left = world.run([&](job::Rank& rank) {
    Binding binding;
    binding.world_ranks = ranks;
    const msg::Status status = run(rank, *schedule, binding, kWhy);
    EXPECT_TRUE(status.failed);
    EXPECT_EQ(status.error, Errc::kNoMem);
    EXPECT_EQ(create(rank, schedule, binding), nullptr);
    // What is left in the pool can be used.
    EXPECT_FALSE(run(rank, *small, binding, kWhy).failed);
    forget_rank(rank);
  });
  EXPECT_EQ(left, "");
}
#endif

// A chain of thousands of local nodes does not grow the stack.
TEST(Engine, RunsLongChainsWithoutRecursion) {
  ScheduleBuilder b;
  NodeId last = kNoNode;
  const BufferRef here = b.scratch(8, 8, kByteType);
  const BufferRef there = b.scratch(8, 8, kByteType);
  for (int i = 0; i < 200000; ++i) {
    const NodeId next = i % 2 == 0 ? b.copy(here, there) : b.send(0, here, 0);
    b.connect(last, next);
    if (i % 2 == 1) {
      const NodeId received = b.recv(0, there, 0);
      b.connect(last, received);
      const NodeId both = b.nop();
      b.connect(next, both);
      b.connect(received, both);
      last = both;
    } else {
      last = next;
    }
  }
  const auto schedule = b.finish().value();
  const std::vector<int> ranks = {0};
  World world(1, 1);
  const std::string left = world.run([&](job::Rank& rank) {
    Binding binding;
    binding.world_ranks = ranks;
    EXPECT_FALSE(run(rank, *schedule, binding, kWhy).failed);
    forget_rank(rank);
  });
  EXPECT_EQ(left, "");
}

}  // namespace
}  // namespace mpc::nbc

// What the calls of the engine promise: start, complete, fail.
#include "base/settings.h"
#include "nbc/engine/engine.h"

#include <gtest/gtest.h>

#include "runtime/message/cell.h"
#include "runtime/message/mailbox.h"
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

// A receive of rank 1, with what may follow it. After the start its messages are matched by their
// senders only if somebody gains by that.
struct LeftStart {
  int64_t bytes;
  bool sends_on, has_callback, is_left;
};

TEST(Engine, AStartThatConcernsNobodyElseLeavesTheRingToItsRank) {
  // What fits a cell of the ring gains nothing by it.
  constexpr auto kInCell = static_cast<int64_t>(msg::kInlineBytes);
  constexpr LeftStart kCases[] = {{8, false, false, false},
                                  {kInCell, false, false, false},
                                  {kInCell + 1, false, false, true},
                                  {8, true, false, true},
                                  {8, false, true, true}};
  const std::vector<int> ranks = identity(2);
  World world(2, 2);
  const bool is_over_network = world.is_over_network();
  const std::string left = world.run([&](job::Rank& rank) {
    std::vector<char> data(kInCell + 1), token(1);
    for (const LeftStart& one : kCases) {
      const auto bytes = static_cast<size_t>(one.bytes);
      if (rank.world_rank == 0) {
        msg::recv(rank, msg::test::from(1, token.data(), 1, 5),
                  kWhy);  // it has started
        msg::send(rank,
                  {data.data(), one.bytes, msg::test::byte_type(), 1, 0, 0, 0,
                   msg::Mode::kStandard},
                  kWhy);
        if (one.sends_on)
          msg::recv(rank, {data.data(), 8, msg::test::byte_type(), 1, 0, 1}, kWhy);
        continue;
      }
      ScheduleBuilder builder;
      const NodeId received =
          builder.recv(0, {kRecvBuffer, kByteType, 0, one.bytes}, 0);
      if (one.sends_on)
        builder.connect(received, builder.send(0, {kRecvBuffer, kByteType, 0, 8}, 1));
      void* buffers[2] = {data.data(), data.data()};
      Binding binding;
      binding.buffers = buffers;
      binding.world_ranks = ranks;
      binding.my_rank = 1;
      std::vector<CollectivePtr> all;
      all.push_back(create(rank, builder.finish().value(), binding));
      if (one.has_callback)
        set_on_complete(
            *all[0], [](void*) {}, nullptr);
      msg::mailbox_of(rank).start_polling();
      start(*all[0]);
      EXPECT_EQ(msg::mailbox_of(rank).is_delegated(), one.is_left || is_over_network)
          << bytes << " bytes";
      msg::send(rank, msg::test::to(0, token.data(), 1, 5, 1), kWhy);
      msg::wait_until(rank, nullptr, 0, all_complete, &all, kWhy);
      EXPECT_FALSE(status(*all[0]).failed);
    }
    forget_rank(rank);
  });
  EXPECT_EQ(left, "");
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

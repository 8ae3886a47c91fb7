#include "sim/player.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/traffic.h"

namespace mpc::sim {
namespace {

using Schedules = std::vector<std::shared_ptr<const nbc::Schedule>>;

nbc::Parameters simple() {
  nbc::Parameters p;
  for (nbc::CopyCost& copy : p.copy) copy = {0, 1};  // 1000 bytes in 1 us
  p.reduce_gbs = 2;
  return p;
}

nbc::BufferRef block(int64_t bytes) {
  return {nbc::kRecvBuffer, nbc::kByteType, 0, bytes};
}

std::shared_ptr<const nbc::Schedule> finish(nbc::ScheduleBuilder& b) {
  auto schedule = b.finish();
  EXPECT_TRUE(schedule.ok());
  return *schedule;
}

// `count` pairs of ranks, 2 i sends 1000 bytes to 2 i + 1.
Schedules pairs(int count, nbc::Where where = nbc::Where::kAny) {
  Schedules all;
  for (int i = 0; i < count; ++i) {
    nbc::ScheduleBuilder send, recv;
    send.node(send.send(2 * i + 1, block(1000))).where = where;
    recv.node(recv.recv(2 * i, block(1000))).where = where;
    all.push_back(finish(send));
    all.push_back(finish(recv));
  }
  return all;
}

Result<Outcome> play_on(const std::string& machine_name, const Schedules& schedules,
                        const nbc::Parameters& p, double compute_us = 0,
                        Rules rules = {}) {
  auto machine = topo::Machine::by_name(machine_name);
  const Placement placement = place(**machine, static_cast<int>(schedules.size()));
  return play({machine->get(), &p, &placement, &schedules, 1, compute_us, rules});
}

TEST(Player, CopiesInTheBackground) {
  const auto outcome = play_on("pack:1 core:4 pu:1", pairs(1), simple(), 5);
  ASSERT_TRUE(outcome.ok());
  EXPECT_DOUBLE_EQ(outcome->time_us, 5);
  EXPECT_DOUBLE_EQ(outcome->communication_us, 1);
  EXPECT_DOUBLE_EQ(outcome->helper_busy_us, 1);
}

TEST(Player, FoldsOverFewCommunicationCores) {
  const Schedules three = pairs(3);
  EXPECT_DOUBLE_EQ(play_on("pack:1 core:7 pu:1", three, simple())->time_us, 3);
  EXPECT_DOUBLE_EQ(play_on("pack:1 core:12 pu:1", three, simple())->time_us, 1);
}

TEST(Player, StartsDoWhatIsForTheApplicationBeforeTheComputation) {
  const auto outcome =
      play_on("pack:1 core:4 pu:1", pairs(1, nbc::Where::kApplication), simple(), 5);
  ASSERT_TRUE(outcome.ok());
  EXPECT_DOUBLE_EQ(outcome->time_us, 6);
  EXPECT_DOUBLE_EQ(outcome->helper_busy_us, 0);
}

TEST(Player, WithoutACommunicationCoreTheRanksDoItThemselves) {
  const auto outcome = play_on("pack:1 core:2 pu:1", pairs(1), simple(), 5);
  ASSERT_TRUE(outcome.ok());
  EXPECT_DOUBLE_EQ(outcome->time_us, 6);
}

TEST(Player, CountsNodesMessagesLatencyAndReductions) {
  nbc::Parameters p = simple();
  p.node_us = 0.25;
  p.message_us = 0.5;
  p.handover_us = 2;
  for (nbc::CopyCost& copy : p.copy) copy.latency_us = 0.125;
  nbc::ScheduleBuilder send, recv;
  send.send(1, block(1000));
  const nbc::NodeId received = recv.recv(0, block(1000));
  recv.connect(received, recv.reduce(block(1000), block(1000)));
  Rules blocking;
  blocking.all_on_application = true;
  const auto outcome =
      play_on("pack:1 core:4 pu:1", {finish(send), finish(recv)}, p, 0, blocking);
  ASSERT_TRUE(outcome.ok());
  EXPECT_NEAR(outcome->time_us, 0.25 + 0.5 + 0.125 + 1 + 0.25 + 0.5, 1e-5);
}

TEST(Player, SharesANumaNodesBandwidth) {
  nbc::Parameters p = simple();
  p.numa_gbs = 2;
  const auto outcome = play_on("pack:1 numa:1 core:16 pu:1", pairs(4), p);
  ASSERT_TRUE(outcome.ok());
  EXPECT_NEAR(outcome->time_us, 2, 1e-5);
}

TEST(Player, RefusesSchedulesThatDoNotMatch) {
  nbc::ScheduleBuilder send, nothing;
  send.send(1, block(8));
  nothing.nop();
  EXPECT_FALSE(
      play_on("pack:1 core:4 pu:1", {finish(send), finish(nothing)}, simple()).ok());
}

TEST(Player, NoticesADeadlock) {
  Schedules all;
  for (int rank = 0; rank < 2; ++rank) {
    nbc::ScheduleBuilder b;  // each waits for the other one's message before it sends
    b.connect(b.recv(1 - rank, block(8)), b.send(1 - rank, block(8)));
    all.push_back(finish(b));
  }
  const auto outcome = play_on("pack:1 core:4 pu:1", all, simple());
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find("never end"), std::string::npos);
}

TEST(Traffic, SlowsCopiesWhileTheyShareAndOnlyThen) {
  std::vector<Time> ends(2, 0);
  Traffic traffic(1, 1, [&](uint32_t copy, uint32_t, Time end) { ends[copy] = end; });
  const uint32_t first = traffic.begin(0, 1000, 1, 0, 0);
  traffic.settle(0);
  EXPECT_EQ(ends[first], ticks(1));
  const uint32_t second = traffic.begin(ticks(0.5), 1000, 1, 0, 0);
  traffic.settle(ticks(0.5));
  EXPECT_EQ(ends[first], ticks(1.5));
  EXPECT_EQ(ends[second], ticks(2.5));
  traffic.end(first);
  traffic.settle(ticks(1.5));
  EXPECT_EQ(ends[second], ticks(2));
}

TEST(Placement, GivesEachCoreOneRoleAndEachRankANearHelper) {
  for (const char* name : {"knl64", "skylake48", "pack:3 numa:1 core:5 pu:2"}) {
    auto machine = topo::Machine::by_name(name);
    const int cores = (*machine)->core_count();
    for (int ranks = 1; ranks <= cores; ++ranks) {
      const Placement placement = place(**machine, ranks);
      std::set<int> used(placement.core_of_rank.begin(), placement.core_of_rank.end());
      used.insert(placement.communication_cores.begin(),
                  placement.communication_cores.end());
      EXPECT_EQ(used.size(), static_cast<size_t>(cores));
      ASSERT_EQ(placement.core_of_rank.size(), static_cast<size_t>(ranks));
      std::vector<int> shared(static_cast<size_t>(cores));
      for (int helper : placement.helper_of_rank) {
        if (ranks == cores)
          EXPECT_EQ(helper, -1);
        else
          ++shared[static_cast<size_t>(helper)];
      }
      if (ranks == cores) continue;
      const int most = (ranks + cores - ranks - 1) / (cores - ranks);
      EXPECT_LE(*std::max_element(shared.begin(), shared.end()), most);
    }
  }
}

}  // namespace
}  // namespace mpc::sim

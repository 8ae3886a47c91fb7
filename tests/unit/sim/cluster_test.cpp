// Simulated clusters.
#include <gtest/gtest.h>

#include <cmath>

#include "nbc/model/levels.h"
#include "sim/experiment.h"
#include "sim/links.h"

namespace mpc::sim {
namespace {

TEST(Links, SendOneMessageAfterAnotherAndBothWaysAtOnce) {
  Links links(3, {1, 2});  // 2000 bytes in 1 us
  EXPECT_EQ(links.begin(0, 0, 1, 4000), ticks(3));
  EXPECT_EQ(links.begin(0, 0, 2, 2000), ticks(4));         // host 0 still sends
  EXPECT_EQ(links.begin(0, 1, 0, 2000), ticks(2));         // the other way
  EXPECT_EQ(links.begin(ticks(2), 2, 1, 2000), ticks(4));  // host 1 has just received
  EXPECT_EQ(links.begin(ticks(10), 0, 1, 0), ticks(11));
}

std::unique_ptr<topo::Machine> machine_named(const std::string& name) {
  auto machine = topo::Machine::by_name(name);
  EXPECT_TRUE(machine.ok());
  return std::move(machine).value();
}

Experiment experiment(const topo::Machine& machine, const char* coll, int hosts,
                      const char* algorithm = "tree") {
  Experiment e;
  e.machine = &machine;
  e.parameters = nbc::guess_parameters(shape_of(machine));
  e.coll = *nbc::coll_of_name(coll);
  e.algorithm = nbc::find_algorithm(e.coll, algorithm);
  e.hosts = hosts;
  return e;
}

// A copy takes 2000 us, a message between hosts 1000 and 2 us.
nbc::Parameters plain(int cores) {
  nbc::Parameters p;
  p.shape = {cores, cores, cores};
  for (nbc::CopyCost& copy : p.copy) copy = {0, 1};
  p.reduce_gbs = 4;
  p.network = {2, 2};
  return p;
}

TEST(SimulatedCluster, TakesTheLevelsOfTheNetworkAndThoseOfAHost) {
  const auto machine = machine_named("pack:1 numa:1 core:8 pu:1");
  Experiment e = experiment(*machine, "bcast", 4);
  e.parameters = plain(8);
  e.bytes = 2000000;
  // The root's link sends two messages, the second one while the first one is passed on.
  const auto point = simulate(e, 4, 2, 1e5);
  ASSERT_TRUE(point.ok()) << point.error().message;
  EXPECT_EQ(point->height, 4);
  for (double time : point->nonblocking_us) EXPECT_NEAR(time, 2 * 1002 + 2 * 2000, 5);
  EXPECT_NEAR(point->blocking_us, 2 * 1002 + 2 * 2000, 5);
  // Behind the computation: nothing is left of it with S = 0, a copy with S = 1.
  EXPECT_NEAR(point->overlapped_us[0], 2e5, 1e-6);
  EXPECT_NEAR(point->overlapped_us[1], 2e5 + 2000, 1e-6);
  e.coll = nbc::Coll::kReduce;
  e.algorithm = nbc::find_algorithm(e.coll, "tree");
  const auto reduce = simulate(e, 4, 2, 1e5);
  ASSERT_TRUE(reduce.ok());
  EXPECT_NEAR(reduce->blocking_us, 2 * 1502 + 2 * 2500, 5);
}

TEST(SimulatedCluster, OfOneHostIsTheHost) {
  const auto machine = machine_named("skylake48");
  for (const char* coll : {"bcast", "reduce", "gather", "allreduce"}) {
    Experiment e = experiment(*machine, coll, 1, "binomial");
    const auto host = simulate(e, 41, 6, 5000);
    e.parameters.network = {1e6, 1e-3};
    const auto one = simulate(e, 41, 6, 5000);
    ASSERT_TRUE(host.ok() && one.ok());
    EXPECT_EQ(host->overlapped_us, one->overlapped_us);
    EXPECT_EQ(host->nonblocking_us, one->nonblocking_us);
    EXPECT_EQ(host->chosen_split, one->chosen_split);
  }
}

// Each host has the ranks, cores and copies of the one.
TEST(SimulatedCluster, IsNearTheModelForEverySplit) {
  for (const char* name : {"knl64", "skylake48"}) {
    const auto machine = machine_named(name);
    const int cores = machine->core_count();
    for (const char* coll : {"bcast", "reduce", "allreduce"})
      for (const int ranks : {cores / 2, cores - 9, cores - 2}) {
        const Experiment e = experiment(*machine, coll, 8);
        nbc::Situation s;
        s.coll = e.coll;
        s.ranks = s.application_cores = ranks;
        s.communication_cores = cores - ranks;
        s.bytes = e.bytes;
        s.algorithm = "tree";
        s.hosts = 8;
        const double window = nbc::nominal_window_us(s, e.parameters);
        const auto times = nbc::predict(s, nbc::plans_for(s).front(), e.parameters);
        const int height = nbc::tree_height(ranks);
        const auto point = simulate(e, ranks, height, window * ranks / cores);
        ASSERT_TRUE(point.ok()) << point.error().message;
        for (int split = 0; split <= height; ++split) {
          const auto at = static_cast<size_t>(split);
          EXPECT_NEAR(times[at].overlapped_us(window) / point->overlapped_us[at], 1,
                      0.05)
              << name << " " << coll << " " << ranks << " S " << split;
        }
        EXPECT_LE(point->chosen_us(), 1.05 * point->best_us())
            << name << " " << coll << " " << ranks;
      }
  }
}

TEST(SimulatedCluster, PlaysGathersOverHosts) {
  const auto machine = machine_named("pack:1 numa:1 core:8 pu:1");
  for (const char* coll : {"gather", "scatter"})
    for (const int64_t bytes : {100, 1000000}) {
      Experiment e = experiment(*machine, coll, 5);
      e.bytes = bytes;
      e.root = 17;
      const auto point = simulate(e, 6, 3, 100);
      ASSERT_TRUE(point.ok()) << point.error().message;
      // All blocks of the other hosts pass the root's link.
      const double wire = 4 * 6 * static_cast<double>(bytes) /
                          (e.parameters.network.bandwidth_gbs * 1e3);
      EXPECT_GT(point->blocking_us, wire);
      EXPECT_LT(point->blocking_us, wire * 4 + 100);
    }
}

TEST(SimulatedCluster, HasAThousandHosts) {
  const auto machine = machine_named("knl64");
  const Experiment e = experiment(*machine, "bcast", 1024);
  const auto point = simulate(e, 57, 0, 2500);
  ASSERT_TRUE(point.ok()) << point.error().message;
  EXPECT_EQ(point->height, 16);
  EXPECT_GE(point->overlapped_us[0], point->compute_us);
}

}  // namespace
}  // namespace mpc::sim

// Collectives in two levels: how often they cross between hosts and processes.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "nbc/algorithms/nest.h"
#include "nbc/algorithms/parts.h"

namespace mpc::nbc {
namespace {

struct Members {
  std::vector<int> host, process, worker;
  int size() const { return static_cast<int>(process.size()); }
  Homes homes() const { return {host, process, worker}; }
};

// Ranks anyhow, or in rows, in some processes on some hosts.
Members random_where(std::mt19937& random, bool in_rows) {
  const auto below = [&](int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
  };
  Members where;
  const int size = 2 + below(40), processes = 2 + below(std::min(size - 1, 8)),
            hosts = 1 + below(processes);
  for (int r = 0; r < size; ++r) {
    where.process.push_back(in_rows ? r * processes / size : below(processes));
    where.host.push_back(where.process.back() * hosts / processes);
    where.worker.push_back(below(3));
  }
  return where;
}

int count(const std::vector<int>& numbers) {
  return static_cast<int>(std::set<int>(numbers.begin(), numbers.end()).size());
}

Shape shape_of(Coll coll, const Homes& homes, int size, Count elements) {
  Shape s;
  s.coll = coll;
  s.size = size;
  s.send_count = s.recv_count = elements;
  s.recv_type.size = s.recv_type.extent = s.recv_type.true_extent = 1;
  s.recv_type.is_contiguous = true;
  s.send_type = s.recv_type;
  s.homes = &homes;
  return s;
}

// Messages between ranks with different numbers.
int crossings(Shape s, const char* algorithm, const std::vector<int>& numbers) {
  int messages = 0;
  for (s.rank = 0; s.rank < s.size; ++s.rank) {
    const auto schedule = algorithm == nullptr
                              ? build(s).value()
                              : build(s, *find_algorithm(s.coll, algorithm)).value();
    for (const Node& node : schedule->nodes())
      messages +=
          node.kind == NodeKind::kSend && numbers[static_cast<size_t>(s.rank)] !=
                                              numbers[static_cast<size_t>(node.peer)];
  }
  return messages;
}

// Calls f(where, homes, what distinguishes the regions) for some placements that have groups.
template <class F>
void for_each_placement(bool in_rows, F f) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const Members where = random_where(random, in_rows);
    const Homes homes = where.homes();
    if (!homes.has_groups() || count(where.process) == 1) continue;
    f(where, homes, count(where.host) > 1 ? where.host : where.process);
    ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round;
  }
}

TEST(Regions, AreHostsOrProcessesOfOneHost) {
  const Members one{{0, 0, 0, 0}, {5, 7, 5, 7}, {0, 0, 0, 0}};
  const Homes processes = one.homes();
  EXPECT_EQ(processes.regions().count(), 2);
  EXPECT_EQ(processes.regions().members(1)[1], 3);
  EXPECT_EQ(processes.regions().index(2), 1);
  EXPECT_EQ(processes.rows(), nullptr);
  const Members two{{0, 0, 1, 1}, {0, 1, 2, 2}, {0, 0, 0, 0}};
  const Homes hosts = two.homes();
  EXPECT_EQ(hosts.regions().count(), 2);
  EXPECT_EQ(hosts.regions().leader(1), 2);
  ASSERT_NE(hosts.rows(), nullptr);
  EXPECT_EQ(hosts.rows()->count(), 2);
  // Hosts have ranks in turn, processes have rows of them.
  const Members mixed{{0, 0, 1, 1, 0, 0}, {0, 0, 1, 1, 2, 2}, {0, 0, 0, 0, 0, 0}};
  const Homes both = mixed.homes();
  EXPECT_EQ(both.regions().count(), 2);
  ASSERT_NE(both.rows(), nullptr);
  EXPECT_EQ(both.rows()->count(), 3);
}

TEST(Regions, AlltoallSendsOneMessageFromEachToEach) {
  for_each_placement(false, [](const Members& where, const Homes& homes,
                               const std::vector<int>& region) {
    const int regions = count(region);
    EXPECT_EQ(
        crossings(shape_of(Coll::kAlltoall, homes, where.size(), 8), nullptr, region),
        regions * (regions - 1));
  });
}

TEST(Regions, AllgathervAndSmallReduceScatterGoOnceUpAndOnceDown) {
  for_each_placement(false, [](const Members& where, const Homes& homes,
                               const std::vector<int>&) {
    const std::vector<Count> counts(static_cast<size_t>(where.size()), 8),
        displs(static_cast<size_t>(where.size()), 0);
    for (const Coll coll :
         {Coll::kAllgatherv, Coll::kReduceScatter, Coll::kReduceScatterBlock}) {
      Shape s = shape_of(coll, homes, where.size(), 8);
      s.recv_counts = counts;
      s.recv_displs = displs;
      EXPECT_EQ(crossings(s, nullptr, where.process), 2 * (count(where.process) - 1))
          << name_of(coll);
    }
  });
}

// A block of each region for each rank that is not in it.
TEST(Regions, LargeReduceScatterSendsWhatARegionHasInAll) {
  for_each_placement(false, [](const Members& where, const Homes& homes,
                               const std::vector<int>& region) {
    const Shape s = shape_of(Coll::kReduceScatterBlock, homes, where.size(), 20000);
    EXPECT_EQ(crossings(s, nullptr, region), where.size() * (count(region) - 1));
  });
}

TEST(Regions, ScansOfRowsCrossBetweenTheirLastRanksOnly) {
  for_each_placement(true, [](const Members& where, const Homes& homes,
                              const std::vector<int>& region) {
    const int regions = count(region);
    int expected = 0;  // recursive doubling
    for (int distance = 1; distance < regions; distance *= 2)
      expected += regions - distance;
    for (const Coll coll : {Coll::kScan, Coll::kExscan})
      for (const bool commutes : {false, true}) {
        Shape s = shape_of(coll, homes, where.size(), 1000);
        s.is_commutative = commutes;
        EXPECT_EQ(crossings(s, nullptr, region), expected) << name_of(coll);
      }
  });
}

TEST(Regions, SmallScansOfRanksInTurnGoOnceUpAndOnceDown) {
  Members where;
  for (int r = 0; r < 24; ++r) {
    where.host.push_back(0);
    where.process.push_back(r % 3);
    where.worker.push_back(0);
  }
  const Homes homes = where.homes();
  for (const Coll coll : {Coll::kScan, Coll::kExscan})
    EXPECT_EQ(crossings(shape_of(coll, homes, 24, 8), nullptr, where.process), 4);
}

// In each step all that are sent to somebody are received from him, and a rank meets each other one once.
TEST(Regions, StepsOfAnAlltoallMeetEachOnce) {
  for_each_placement(
      false, [](const Members& where, const Homes& homes, const std::vector<int>&) {
        std::vector<std::vector<Step>> all;
        Shape s = shape_of(Coll::kAlltoallv, homes, where.size(), 1);
        for (s.rank = 0; s.rank < s.size; ++s.rank) all.push_back(steps_of(s));
        for (int r = 0; r < s.size; ++r) {
          std::multiset<int> to;
          const auto& steps = all[static_cast<size_t>(r)];
          for (size_t i = 0; i < steps.size(); ++i) {
            if (steps[i].to < 0) continue;
            to.insert(steps[i].to);
            EXPECT_EQ(all[static_cast<size_t>(steps[i].to)][i].from, r);
          }
          EXPECT_EQ(to.size(), where.size() - 1u);
          EXPECT_EQ(std::set<int>(to.begin(), to.end()).size(), to.size());
          EXPECT_EQ(to.count(r), 0u);
        }
      });
}

TEST(Regions, StepsOfAnAlltoallGoToDifferentOnesAtATime) {
  Members where;
  for (int r = 0; r < 16; ++r) {
    where.host.push_back(r / 4);
    where.process.push_back(r / 4);
    where.worker.push_back(0);
  }
  const Homes homes = where.homes();
  Shape s = shape_of(Coll::kAlltoallv, homes, 16, 1);
  std::vector<std::vector<Step>> all;
  for (s.rank = 0; s.rank < 4; ++s.rank) all.push_back(steps_of(s));
  for (size_t i = 4; i < 16; ++i) {  // in the first four each rank meets itself once
    std::set<int> hosts;
    for (const auto& steps : all) hosts.insert(steps[i].to / 4);
    EXPECT_EQ(hosts.size(), 4u) << "step " << i;
  }
}

}  // namespace
}  // namespace mpc::nbc

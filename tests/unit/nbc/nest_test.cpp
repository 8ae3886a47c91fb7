// Trees over hosts, processes and workers.
#include "nbc/algorithms/nest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "nbc/algorithms/parts.h"
#include "nbc/model/levels.h"

namespace mpc::nbc {
namespace {

struct Members {
  std::vector<int> host, process, worker;
  int size() const { return static_cast<int>(process.size()); }
  Homes homes() const { return {host, process, worker}; }
};

// Two hosts with two processes each, of two workers with two ranks each; the last one has one.
Members small() {
  Members where;
  for (int r = 0; r < 15; ++r) {
    where.host.push_back(r / 8);
    where.process.push_back(r / 4);
    where.worker.push_back(r / 2 % 2);
  }
  return where;
}

Members random_where(std::mt19937& random) {
  const auto below = [&](int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
  };
  Members where;
  const int size = 1 + below(40), processes = 1 + below(size),
            hosts = 1 + below(processes);
  for (int r = 0; r < size; ++r) {
    where.process.push_back(below(processes));
    where.host.push_back(where.process.back() * hosts / processes);
    where.worker.push_back(below(3));
  }
  return where;
}

std::vector<Tree> trees(const Nest& nest, int size, int root, NestForm form = {}) {
  std::vector<Tree> all;
  for (int r = 0; r < size; ++r) all.push_back(nest.tree(r, root, form));
  return all;
}

TEST(Nest, JoinsHostsThenProcessesThenWorkersThenRanks) {
  const Homes homes = small().homes();
  const Tree root = homes.all().tree(0, 0);
  EXPECT_EQ(root.height, 4);
  ASSERT_EQ(root.children.size(), 4u);
  const int ranks[] = {1, 2, 4, 8}, levels[] = {3, 2, 1, 0}, counts[] = {1, 2, 4, 7};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(root.children[i].rank, ranks[i]);
    EXPECT_EQ(root.children[i].level, levels[i]);
    EXPECT_EQ(root.children[i].count, counts[i]);
  }
  EXPECT_EQ(homes.all().tree(8, 0).parent, 0);
  EXPECT_EQ(homes.all().tree(14, 0).parent, 12);  // alone on its worker: a level higher
  EXPECT_EQ(homes.all().tree(14, 0).level, 2);
}

TEST(Nest, PutsTheRootFirstInItsHostProcessAndWorker) {
  const Homes homes = small().homes();
  const Tree root = homes.all().tree(13, 13);
  EXPECT_EQ(root.parent, -1);
  std::vector<int> children;
  for (const TreeChild& child : root.children) children.push_back(child.rank);
  EXPECT_EQ(children, (std::vector<int>{12, 14, 8, 0}));
}

// A tree: every rank but the root has a parent that knows it, and the subtree of a child has as many ranks as
// it says, which follow each other in order().
void expect_tree(const std::vector<Tree>& all, const std::vector<int>& order,
                 int root) {
  std::vector<size_t> position(all.size());
  for (size_t i = 0; i < order.size(); ++i) position[static_cast<size_t>(order[i])] = i;
  ASSERT_EQ(order[0], root);
  EXPECT_EQ(all[static_cast<size_t>(root)].span, static_cast<int>(all.size()));
  size_t edges = 0;
  for (size_t r = 0; r < all.size(); ++r) {
    int next = 1;
    for (const TreeChild& child : all[r].children) {
      const Tree& below = all[static_cast<size_t>(child.rank)];
      EXPECT_EQ(below.parent, static_cast<int>(r));
      EXPECT_EQ(below.level, child.level);
      EXPECT_EQ(below.span, child.count);
      EXPECT_EQ(child.first, next);
      EXPECT_EQ(position[static_cast<size_t>(child.rank)],
                position[r] + static_cast<size_t>(child.first));
      EXPECT_GE(child.level, 0);
      EXPECT_LT(child.level, all[r].height);
      EXPECT_GT(child.level, all[r].level);
      next += child.count;
      ++edges;
    }
    EXPECT_EQ(all[r].span, next);
    EXPECT_EQ(all[r].height, all[0].height);
  }
  EXPECT_EQ(edges + 1, all.size());
}

TEST(Nest, IsATreeWhoseEdgesCrossAsRarelyAsTheyCan) {
  const unsigned seed = 7;
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const Members where = random_where(random);
    const Homes homes = where.homes();
    const int size = where.size(),
              root = static_cast<int>(random() % static_cast<unsigned>(size));
    const NestForm form{random() % 2 == 0, random() % 2 == 0};
    for (const Nest* nest : {&homes.all(), &homes.outside(), &homes.in_order()}) {
      const auto all = trees(*nest, size, root, form);
      expect_tree(all, nest->order(root), root);
      if (nest == &homes.in_order()) continue;
      int between_hosts = 0, between_processes = 0;
      for (int r = 0; r < size; ++r) {
        const int parent = all[static_cast<size_t>(r)].parent;
        if (parent < 0) continue;
        const auto a = static_cast<size_t>(r), b = static_cast<size_t>(parent);
        between_hosts += where.host[a] != where.host[b];
        between_processes += where.process[a] != where.process[b];
      }
      const auto count = [](const std::vector<int>& numbers) {
        return static_cast<int>(std::set<int>(numbers.begin(), numbers.end()).size());
      };
      EXPECT_EQ(between_hosts, count(where.host) - 1);
      EXPECT_EQ(between_processes, count(where.process) - 1);
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed << " round " << round;
  }
}

// A reduction whose order matters stands on rank 0.
TEST(Nest, KeepsRankOrderWhereGroupsAreNoRows) {
  std::mt19937 random(8);
  for (int round = 0; round < 100; ++round) {
    const Members where = random_where(random);
    const Homes homes = where.homes();
    std::vector<int> ranks(static_cast<size_t>(where.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    EXPECT_EQ(homes.in_order().order(0), ranks);
  }
}

TEST(Nest, IsOneBinomialTreeWhereNothingIsShared) {
  Members where;
  for (int r = 0; r < 13; ++r) {
    where.host.push_back(0);
    where.process.push_back(r);
    where.worker.push_back(0);
  }
  const Homes homes = where.homes();
  EXPECT_FALSE(homes.has_groups());
  EXPECT_EQ(homes.all().layers(), 1);
  EXPECT_EQ(homes.all().tree(0, 0).height, tree_height(13));
  where.host[7] = 1;  // two hosts: one of them has several processes
  EXPECT_TRUE(where.homes().has_groups());
}

// What is chosen over processes sends one message up and one down for each process.
TEST(Nest, LetsOnlyLeadersTalkBetweenProcesses) {
  std::mt19937 random(9);
  for (int round = 0; round < 40; ++round) {
    const Members where = random_where(random);
    const Homes homes = where.homes();
    if (!homes.has_groups()) continue;
    const std::set<int> processes(where.process.begin(), where.process.end());
    for (const Coll coll :
         {Coll::kBarrier, Coll::kBcast, Coll::kReduce, Coll::kAllreduce, Coll::kGather,
          Coll::kScatter, Coll::kAllgather}) {
      Shape s;
      s.coll = coll;
      s.size = where.size();
      s.root = static_cast<int>(random() % static_cast<unsigned>(s.size));
      s.send_count = s.recv_count = 10;
      s.recv_type.size = s.recv_type.extent = s.recv_type.true_extent = 1;
      s.recv_type.is_contiguous = true;
      s.send_type = s.recv_type;
      s.homes = &homes;
      s.is_nonblocking = random() % 2 == 0;
      size_t messages = 0;
      for (s.rank = 0; s.rank < s.size; ++s.rank) {
        const auto schedule = build(s).value();
        for (const Node& node : schedule->nodes())
          messages += node.kind == NodeKind::kSend &&
                      where.process[static_cast<size_t>(s.rank)] !=
                          where.process[static_cast<size_t>(node.peer)];
      }
      const bool goes_twice = traits_of(coll).root == RootRole::kNoRoot;
      EXPECT_EQ(messages, (processes.size() - 1) * (goes_twice ? 2 : 1))
          << name_of(coll) << " round " << round;
    }
  }
}

// S counts from the leaves: the levels within processes come before those between them.
TEST(Nest, SplitKeepsMemoryLevelsFirst) {
  const Members where = small();
  const Homes homes = where.homes();
  Shape s;
  s.coll = Coll::kBcast;
  s.size = where.size();
  s.recv_count = 1 << 20;
  s.recv_type.size = s.recv_type.extent = s.recv_type.true_extent = 1;
  s.recv_type.is_contiguous = true;
  s.homes = &homes;
  s.is_nonblocking = true;
  for (s.split = 0; s.split <= 4; ++s.split)
    for (s.rank = 0; s.rank < s.size; ++s.rank) {
      const auto schedule = build(s, *find_algorithm(s.coll, "tree")).value();
      for (const Node& node : schedule->nodes()) {
        const auto a = static_cast<size_t>(s.rank), b = static_cast<size_t>(node.peer);
        const int from_leaves = where.host[a] != where.host[b]         ? 4
                                : where.process[a] != where.process[b] ? 3
                                : where.worker[a] != where.worker[b]   ? 2
                                                                       : 1;
        EXPECT_EQ(node.where == Where::kApplication, from_leaves <= s.split);
      }
    }
}

}  // namespace
}  // namespace mpc::nbc

// The table of collectives against what their algorithms do.
#include "nbc/schedule/coll.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "nbc/algorithms/collectives.h"
#include "tests/unit/nbc/cases.h"

namespace mpc::nbc {
namespace {

TEST(CollTraits, FindsEachCollectiveByItsName) {
  std::set<std::string> names;
  for (int i = 0; i < kCollCount; ++i) {
    const Coll coll = static_cast<Coll>(i);
    EXPECT_EQ(traits_of(coll).coll, coll);
    EXPECT_EQ(coll_of_name(name_of(coll)), coll);
    names.insert(name_of(coll));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kCollCount));
  EXPECT_EQ(coll_of_name("nothing"), std::nullopt);
}

// What the algorithm "linear" of a collective does, at all of five ranks.
struct Seen {
  bool reduces = false;
  bool root_sends = false, root_receives = false, others_exchange = false;
};

Seen look_at(Coll coll) {
  std::mt19937 random(5);
  Seen seen;
  test::Case c = test::random_case(coll, 5, random, 7);
  for (auto& r : c.ranks) {
    r.shape.is_commutative = true;  // or rank 0 would reduce, and send to the root
    const auto schedule = build(r.shape, *find_algorithm(coll, "linear")).value();
    for (const Node& node : schedule->nodes()) {
      seen.reduces |= node.kind == NodeKind::kReduce;
      if (node.kind != NodeKind::kSend && node.kind != NodeKind::kRecv) continue;
      const bool is_send = node.kind == NodeKind::kSend;
      if (r.shape.rank == r.shape.root)
        (is_send ? seen.root_sends : seen.root_receives) = true;
      else if (node.peer != r.shape.root)
        seen.others_exchange = true;
    }
  }
  return seen;
}

TEST(CollTraits, SayWhatAlgorithmsDo) {
  for (int i = 0; i < kCollCount; ++i) {
    const Coll coll = static_cast<Coll>(i);
    if (find_algorithm(coll, "linear") == nullptr) continue;
    const CollTraits& traits = traits_of(coll);
    const Seen seen = look_at(coll);
    EXPECT_EQ(traits.is_reduction, seen.reduces) << traits.name;
    if (!traits.is_rooted()) continue;
    EXPECT_FALSE(seen.others_exchange) << traits.name;
    EXPECT_EQ(traits.root == RootRole::kSends, seen.root_sends) << traits.name;
    EXPECT_EQ(traits.root == RootRole::kReceives, seen.root_receives) << traits.name;
  }
}

TEST(CollTraits, NameTheCollectivesWithAFact) {
  const auto names = [](auto holds) {
    std::string out;
    for (int i = 0; i < kCollCount; ++i)
      if (holds(traits_of(static_cast<Coll>(i))))
        out += std::string(name_of(static_cast<Coll>(i))) + " ";
    return out;
  };
  EXPECT_EQ(names([](const CollTraits& t) { return t.is_rooted(); }),
            "bcast gather gatherv scatter scatterv reduce ");
  EXPECT_EQ(names([](const CollTraits& t) { return t.gathers_on_the_way(); }),
            "gather scatter ");
  EXPECT_EQ(names([](const CollTraits& t) { return t.has_split_tree; }),
            "bcast gather gatherv scatter scatterv reduce allreduce ");
  EXPECT_EQ(names([](const CollTraits& t) { return t.has_blocks() && !t.is_rooted(); }),
            "allgather allgatherv alltoall alltoallv alltoallw neighbor_allgather "
            "neighbor_allgatherv neighbor_alltoall neighbor_alltoallv "
            "neighbor_alltoallw ");
  EXPECT_EQ(names([](const CollTraits& t) { return t.is_irregular(); }),
            "gatherv scatterv allgatherv alltoallv alltoallw neighbor_allgatherv "
            "neighbor_alltoallv neighbor_alltoallw ");
}

}  // namespace
}  // namespace mpc::nbc

// The split of trees: marks, and nothing but marks.
#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "nbc/algorithms/cache.h"
#include "nbc/algorithms/parts.h"
#include "nbc/model/levels.h"
#include "tests/unit/nbc/cases.h"

namespace mpc::nbc {
namespace {

bool is_message(const Node& node) {
  return node.kind == NodeKind::kSend || node.kind == NodeKind::kRecv;
}

auto fields(const BufferRef& p) {
  return std::tuple(p.slot, p.type, p.offset, p.count);
}
auto fields(const Node& n) {  // all but `where`
  return std::tuple(n.kind, n.level, n.peer, n.tag_offset, fields(n.from), fields(n.to),
                    n.repeat.times, n.repeat.from_stride, n.repeat.to_stride,
                    n.first_successor, n.successor_count, n.predecessor_count,
                    n.request);
}

std::shared_ptr<const Schedule> with_split(Shape shape, int split,
                                           const Algorithm& how) {
  shape.split = split;
  return build(shape, how).value();
}

int height_of(std::string_view algorithm, const Shape& s) {
  const bool gathers = traits_of(s.coll).gathers_on_the_way();
  if (algorithm == "tree" && gathers)
    return s.homes != nullptr ? nested_tree(s).height : tree_height(s.size);
  const TreeKind kind = algorithm.starts_with("knomial")  ? TreeKind::kKnomial
                        : algorithm.starts_with("linear") ? TreeKind::kFlat
                        : algorithm.starts_with("chain")  ? TreeKind::kChain
                        : algorithm.starts_with("tree")   ? TreeKind::kPlaces
                                                          : TreeKind::kBinomial;
  const TreeKind fit = algorithm == "tree"
                           ? fit_tree(kind, s, total_bytes(s.recv_count, s.recv_type))
                           : kind;
  return split_tree(fit, s, 0).height;
}

bool is_tree(const Algorithm& a) {
  const std::string_view name = a.name;
  return name != "scatter_ring" && name != "recursive_doubling" && name != "halving" &&
         name != "ring";
}

// All that a test wants to see of one rank's schedule with levels 0..H - 1 and a split of S.
void check(const Shape& shape, const Algorithm& how, int split) {
  const auto plain = with_split(shape, 0, how), marked = with_split(shape, split, how);
  ASSERT_EQ(plain->nodes().size(), marked->nodes().size());
  const int first_kept = std::max(0, height_of(how.name, shape) - split);
  for (NodeId id = 0; id < plain->nodes().size(); ++id) {
    const Node &a = plain->nodes()[id], &b = marked->nodes()[id];
    EXPECT_EQ(fields(a), fields(b));
    EXPECT_EQ(a.where, Where::kAny);
    // One rank alone has the first algorithm, whatever is asked for.
    if (!is_tree(how) && shape.size > 1) EXPECT_EQ(b.where, Where::kAny);
    if (is_tree(how) && (is_message(b) || b.kind == NodeKind::kReduce))
      EXPECT_EQ(b.where == Where::kApplication, split > 0 && b.level >= first_kept)
          << "node " << id << " level " << b.level << " of " << split << "\n"
          << marked->dump();
  }
  for (const Node& node : plain->nodes()) {
    const auto before = plain->successors(node), after = marked->successors(node);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin(), after.end()));
  }
}

TEST(Split, ChangesMarksAndNothingElse) {
  std::mt19937 random(99);
  for (int i = 0; i < kCollCount; ++i)
    for (int n : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 100, 130}) {
      const Coll coll = static_cast<Coll>(i);
      if (!traits_of(coll).has_split_tree) continue;
      const test::Case c = test::random_case(coll, n, random);
      for (const Algorithm& how : algorithms(coll)) {
        if (!is_applicable(how, c.ranks[0].shape)) continue;
        for (int split = 1; split <= tree_height(n) + 1; ++split)
          // Another S at each rank, as nothing depends on what the others have.
          for (int rank = n > 40 ? split : 0; rank<n; rank += n> 40 ? 17 : 1)
            check(c.ranks[static_cast<size_t>(rank)].shape, how,
                  1 + (rank + split) % (tree_height(n) + 1));
        ASSERT_FALSE(HasFailure()) << how.name << ": " << c.text();
      }
    }
}

// In a reduction what is kept comes before what is not, in a broadcast after it.
TEST(Split, KeepsTheLeavesFirstOrLast) {
  std::mt19937 random(100);
  for (const Coll coll : {Coll::kBcast, Coll::kScatter, Coll::kReduce, Coll::kGather})
    for (int n : {2, 5, 8, 21, 64, 97})
      for (const Algorithm& how : algorithms(coll)) {
        const test::Case c = test::random_case(coll, n, random);
        if (!is_tree(how) || !is_applicable(how, c.ranks[0].shape)) continue;
        const bool is_upwards = coll == Coll::kReduce || coll == Coll::kGather;
        for (int split = 1; split <= tree_height(n); ++split)
          for (const auto& r : c.ranks) {
            const auto schedule = with_split(r.shape, split, how);
            for (const Node& node : schedule->nodes())
              for (const NodeId next : schedule->successors(node)) {
                const Node& later = schedule->nodes()[next];
                if (is_upwards && later.where == Where::kApplication)
                  EXPECT_EQ(node.where, Where::kApplication) << schedule->dump();
                if (!is_upwards && node.where == Where::kApplication)
                  EXPECT_EQ(later.where, Where::kApplication) << schedule->dump();
              }
            ASSERT_FALSE(HasFailure())
                << how.name << " S " << split << ": " << c.text();
          }
      }
}

TEST(Split, KeepsAsManyMessagesAsTheModelCounts) {
  Shape shape;
  shape.recv_count = 1;
  shape.recv_type = test::case_type(1).shape;
  for (const Coll coll : {Coll::kBcast, Coll::kReduce, Coll::kAllreduce})
    for (int n = 2; n <= 130; ++n)
      for (int split = 0; split <= tree_height(n); ++split) {
        int kept = 0, expected = 0;
        for (shape.rank = 0; shape.rank < n; ++shape.rank) {
          shape.coll = coll;
          shape.size = n;
          const auto schedule =
              with_split(shape, split, *find_algorithm(coll, "binomial"));
          for (const Node& node : schedule->nodes())
            kept += node.kind == NodeKind::kSend && node.where == Where::kApplication;
        }
        for (int level = tree_height(n) - split; level < tree_height(n); ++level)
          expected += edges_at_level(n, level) * (coll == Coll::kAllreduce ? 2 : 1);
        EXPECT_EQ(kept, expected) << n << " ranks, S " << split;
      }
}

TEST(Split, IsPartOfTheCacheKey) {
  ScheduleCache cache;
  Shape shape;
  shape.coll = Coll::kReduce;
  shape.size = 8;
  shape.recv_count = 1;
  shape.recv_type = test::case_type(1).shape;
  const auto plain = cache.get(shape).value();
  shape.split = 2;
  EXPECT_NE(cache.get(shape).value(), plain);
  shape.split = 0;
  EXPECT_EQ(cache.get(shape).value(), plain);
  shape.arity = 3;
  EXPECT_NE(cache.get(shape).value(), plain);
  shape.arity = 0;
  shape.segment_bytes = 100;
  EXPECT_NE(cache.get(shape).value(), plain);
}

}  // namespace
}  // namespace mpc::nbc

// Every algorithm, on all ranks, proved by the verifier for N = 1..130.
#include "nbc/schedule/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "nbc/algorithms/cache.h"
#include "nbc/model/levels.h"
#include "nbc/schedule/rounds.h"
#include "tests/unit/nbc/cases.h"

namespace mpc::nbc {
namespace {

using test::Case;
using test::RankCase;

struct Prepared {
  std::vector<Symbol> send, recv, input;
};

// Fresh atoms everywhere, so that any byte in a wrong place shows.
std::vector<Symbol> fill(Verifier& verifier, int rank, uint16_t slot,
                         const std::vector<test::Block>& blocks) {
  auto [low, high] = test::bounds(blocks);
  std::vector<Symbol> cells;
  for (int64_t i = low; i < high; ++i) cells.push_back(verifier.symbols().atom());
  verifier.set_buffer(rank, slot, low, cells);
  std::vector<Symbol> packed;
  for (int64_t offset : test::packed_offsets(blocks))
    packed.push_back(cells[static_cast<size_t>(offset - low)]);
  return packed;
}

enum Form { kGraph, kRounds };

// Nothing else of the user's receive buffer has been touched.
::testing::AssertionResult leaves_gaps(Verifier& verifier, const RankCase& r,
                                       const std::vector<int64_t>& offsets) {
  const int rank = r.shape.rank;
  auto [low, high] = test::bounds(r.recv);
  std::vector<int64_t> data(offsets.begin(), offsets.end());
  std::sort(data.begin(), data.end());
  for (int64_t at = low; at < high; ++at)
    if (!std::binary_search(data.begin(), data.end(), at) &&
        !verifier.symbols().is_atom(verifier.at(rank, kRecvBuffer, at)))
      return ::testing::AssertionFailure() << "rank " << rank << " gap " << at;
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult proves(const Case& c, const Algorithm& algorithm,
                                  Form form = kGraph) {
  Verifier verifier(c.size);
  std::vector<std::shared_ptr<const Schedule>> schedules;
  std::vector<Prepared> prepared;
  for (const RankCase& r : c.ranks) {
    auto built = build(r.shape, algorithm);
    if (built && form == kRounds) built = to_rounds(**built);
    if (!built) return ::testing::AssertionFailure() << built.error().message;
    schedules.push_back(*built);
    std::vector<const VerifyType*> types;
    for (int index : r.type_indices) types.push_back(&test::case_type(index).verify);
    const int rank = r.shape.rank;
    verifier.set_schedule(rank, **built, types);
    Prepared p;
    p.send = fill(verifier, rank, kSendBuffer, r.send);
    p.recv = fill(verifier, rank, kRecvBuffer, r.recv);
    const auto& from = r.input_in_recv ? p.recv : p.send;
    p.input.assign(from.begin() + r.input_offset,
                   from.begin() + r.input_offset + r.input_bytes);
    prepared.push_back(std::move(p));
  }
  if (auto result = verifier.run(); !result)
    return ::testing::AssertionFailure() << result.error().message;
  for (const RankCase& r : c.ranks) {
    const int rank = r.shape.rank;
    const auto& mine = prepared[static_cast<size_t>(rank)];
    const auto offsets = test::packed_offsets(r.recv);
    for (size_t k = 0; k < r.want.size(); ++k) {
      const Symbol got = verifier.at(rank, kRecvBuffer, offsets[k]);
      std::vector<Symbol> want;
      for (int from : r.want[k].ranks)
        want.push_back(prepared[static_cast<size_t>(from)]
                           .input[static_cast<size_t>(r.want[k].index)]);
      if (want.empty()) want.push_back(mine.recv[k]);
      std::vector<Symbol> have = verifier.symbols().sequence(got);
      if (c.is_commutative) {
        std::sort(want.begin(), want.end());
        std::sort(have.begin(), have.end());
      }
      if (want != have)
        return ::testing::AssertionFailure()
               << "rank " << rank << " byte " << k << " is wrong";
      // The same result everywhere: not only the same contributions, the same parentheses.
      if (c.coll == Coll::kAllreduce) {
        const Symbol first = verifier.at(0, kRecvBuffer, offsets[k]);
        if (first != got)
          return ::testing::AssertionFailure() << "rank " << rank << " byte " << k
                                               << " was added up in another order";
      }
    }
    if (auto left = leaves_gaps(verifier, r, offsets); !left) return left;
  }
  return ::testing::AssertionSuccess();
}

// Small segments, so that pipelines have several; any arity; any split, different at each rank.
Case any_case(Coll coll, int n, std::mt19937& random, int unit = 2) {
  Case c = test::random_case(coll, n, random, unit);
  const int arity = static_cast<int>(random() % 9);
  const int64_t segment = 1 + static_cast<int64_t>(random() % 4);
  for (RankCase& r : c.ranks) {
    r.shape.arity = arity < 2 ? 0 : arity;
    r.shape.segment_bytes = segment;
    r.shape.split =
        static_cast<int>(random() % static_cast<unsigned>(tree_height(n) + 2));
  }
  return c;
}

unsigned seed_of(Coll coll) {
  const char* text = std::getenv("MPC_TEST_SEED");
  const unsigned base =
      text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 20240;
  return base + static_cast<unsigned>(coll);
}

#ifndef MPC_TEST_MOST_RANKS
#define MPC_TEST_MOST_RANKS 130
#endif

bool is_full() { return std::getenv("MPC_TEST_FULL") != nullptr; }

class EveryAlgorithm : public ::testing::TestWithParam<std::tuple<int, Form>> {
 protected:
  Coll coll() const { return static_cast<Coll>(std::get<0>(GetParam())); }
  Form form() const { return std::get<1>(GetParam()); }
};

// Graphs: every algorithm for every N. Rounds: above 40 ranks, where the checks of what has n^2
// messages take 50 ms each, one of the algorithms per N in turn, unless MPC_TEST_FULL asks.
TEST_P(EveryAlgorithm, IsProvedForAllRankCounts) {
  std::mt19937 random(seed_of(coll()) + (form() == kRounds ? 1000 : 0));
  ASSERT_FALSE(algorithms(coll()).empty());
  EXPECT_EQ(algorithms(coll())[0].restrictions, kNoRestriction);
  size_t turn = 0;
  for (int n = 1; n <= MPC_TEST_MOST_RANKS; ++n)
    for (int repeat = 0; repeat < (n <= 12 ? 8 : 1); ++repeat) {
      const Case c = any_case(coll(), n, random);
      const size_t count = algorithms(coll()).size();
      ++turn;
      for (size_t i = 0; i < count; ++i) {
        if (form() == kRounds && !is_full() && n > 40 && turn % count != i) continue;
        const Algorithm& algorithm = algorithms(coll())[i];
        if (is_applicable(algorithm, c.ranks[0].shape))
          ASSERT_TRUE(proves(c, algorithm, form()))
              << algorithm.name << ": " << c.text() << ", seed " << seed_of(coll());
      }
    }
}

std::string name_of_param(const ::testing::TestParamInfo<std::tuple<int, Form>>& info) {
  return std::string(name_of(static_cast<Coll>(std::get<0>(info.param)))) +
         (std::get<1>(info.param) == kRounds ? "_in_rounds" : "");
}

INSTANTIATE_TEST_SUITE_P(Collectives, EveryAlgorithm,
                         ::testing::Combine(::testing::Range(0, kCollCount),
                                            ::testing::Values(kGraph, kRounds)),
                         name_of_param);

// --- the verifier finds what is wrong -----------------------------------------------------

std::shared_ptr<const Schedule> finish(ScheduleBuilder& b) {
  return b.finish().value();
}

struct Pair {
  Verifier verifier{2};
  std::shared_ptr<const Schedule> a, b;
  Result<> run(ScheduleBuilder& first, ScheduleBuilder& second) {
    a = finish(first);
    b = finish(second);
    verifier.set_schedule(0, *a, {});
    verifier.set_schedule(1, *b, {});
    for (int rank = 0; rank < 2; ++rank)
      for (uint16_t slot : {kSendBuffer, kRecvBuffer})
        verifier.set_buffer(rank, slot, 0,
                            {verifier.symbols().atom(), verifier.symbols().atom()});
    return verifier.run();
  }
};

const BufferRef kSend1{kSendBuffer, kByteType, 0, 1};
const BufferRef kRecv1{kRecvBuffer, kByteType, 0, 1};

TEST(Verifier, FindsADeadlockOfSendsBeforeReceives) {
  ScheduleBuilder x, y;
  x.connect(x.send(1, kSend1), x.recv(1, kRecv1));
  y.connect(y.send(0, kSend1), y.recv(0, kRecv1));
  EXPECT_FALSE(Pair().run(x, y).ok());
}

TEST(Verifier, AcceptsTheSameWithoutTheDependency) {
  ScheduleBuilder x, y;
  x.send(1, kSend1);
  x.recv(1, kRecv1);
  y.send(0, kSend1);
  y.recv(0, kRecv1);
  EXPECT_TRUE(Pair().run(x, y).ok());
}

TEST(Verifier, FindsAReceiveThatNobodySends) {
  ScheduleBuilder x, y;
  x.recv(1, kRecv1);
  EXPECT_FALSE(Pair().run(x, y).ok());
}

TEST(Verifier, FindsDifferentSizes) {
  ScheduleBuilder x, y;
  x.send(1, {kSendBuffer, kByteType, 0, 2});
  y.recv(0, kRecv1);
  EXPECT_FALSE(Pair().run(x, y).ok());
}

TEST(Verifier, FindsMessagesWithoutOrder) {
  ScheduleBuilder x, y;
  x.send(1, kSend1);
  x.send(1, kSend1);
  y.connect(y.recv(0, kRecv1), y.recv(0, kRecv1));
  EXPECT_FALSE(Pair().run(x, y).ok());
}

TEST(Verifier, FindsTwoWritersOfOneByte) {
  ScheduleBuilder x, y;
  x.send(1, kSend1, 0);
  x.send(1, kSend1, 1);
  y.recv(0, kRecv1, 0);
  y.recv(0, kRecv1, 1);
  EXPECT_FALSE(Pair().run(x, y).ok());
}

TEST(Verifier, FindsAccessOutsideOfABuffer) {
  ScheduleBuilder x, y;
  x.copy({kSendBuffer, kByteType, 1, 2}, {kRecvBuffer, kByteType, 0, 2});
  EXPECT_FALSE(Pair().run(x, y).ok());
}

TEST(Verifier, FindsReadsOfUnwrittenScratch) {
  ScheduleBuilder x, y;
  const BufferRef scratch = x.scratch(1, 1, kByteType);
  x.copy(scratch, kRecv1);
  EXPECT_FALSE(Pair().run(x, y).ok());
}

// --- schedules and the cache ----------------------------------------------------------------

TEST(ScheduleBuilder, RefusesCycles) {
  ScheduleBuilder b;
  const NodeId x = b.nop(), y = b.nop();
  b.connect(x, y);
  b.connect(y, x);
  EXPECT_EQ(b.finish().error().code, Errc::kInternal);
}

TEST(ScheduleBuilder, RefusesScratchBeyondTheAddressSpace) {
  ScheduleBuilder b;
  b.scratch(INT64_MAX - 100, 1, kByteType);
  b.scratch(200, 1, kByteType);
  EXPECT_EQ(b.finish().error().code, Errc::kNoMem);
}

TEST(Schedule, DumpsTextAndDot) {
  ScheduleBuilder b;
  const NodeId received = b.recv(1, kRecv1);
  b.connect(received, b.send(2, kRecv1));
  const auto schedule = finish(b);
  EXPECT_NE(schedule->dump().find("recv from 1"), std::string::npos);
  EXPECT_NE(schedule->graphviz().find("n0 -> n1"), std::string::npos);
  EXPECT_EQ(schedule->sink_count(), 1u);
  EXPECT_EQ(schedule->message_count(), 2u);
}

TEST(ScheduleCache, GivesTheSameScheduleForTheSameShapeOnly) {
  ScheduleCache cache;
  Shape shape;
  shape.coll = Coll::kAllreduce;
  shape.size = 8;
  shape.recv_count = 1;
  shape.recv_type = test::case_type(1).shape;
  const auto first = cache.get(shape).value();
  EXPECT_EQ(cache.get(shape).value(), first);
  shape.is_in_place = true;
  EXPECT_NE(cache.get(shape).value(), first);
  shape.is_in_place = false;
  EXPECT_EQ(cache.get(shape).value(), first);
  EXPECT_EQ(cache.hits(), 2u);
  EXPECT_EQ(cache.builds(), 2u);
}

TEST(ScheduleCache, ForgetsTheLeastRecentlyUsed) {
  ScheduleCache cache;
  Shape shape;
  shape.coll = Coll::kBcast;
  shape.size = 4;
  shape.recv_type = test::case_type(0).shape;
  for (int i = 1; i <= 200; ++i) {
    shape.recv_count = i;
    ASSERT_TRUE(cache.get(shape).ok());
    shape.recv_count = 1;  // stays in use
    ASSERT_TRUE(cache.get(shape).ok());
  }
  EXPECT_EQ(cache.entries(), 64u);
  EXPECT_EQ(cache.builds(), 200u);
}

TEST(Algorithms, AreAllInTheDocumentation) {
  std::ifstream file(MPC_SOURCE_DIR "/docs/collectives.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(text.empty());
  for (const Algorithm& algorithm : algorithms())
    EXPECT_NE(text.find("`" + std::string(algorithm.name) + "`"), std::string::npos)
        << name_of(algorithm.coll) << ":" << algorithm.name;
}

TEST(Tree, LevelsHaveTheEdgesThatTheModelCounts) {
  // design section 3: level i from the root has as many edges as there are ranks r, a multiple
  // of 2^(H-i+1), with r + 2^(H-i) < N.
  for (int n = 2; n <= 130; ++n) {
    int height = 0;
    while ((1 << height) < n) ++height;
    std::vector<int> edges(static_cast<size_t>(height));
    for (int rank = 0; rank < n; ++rank) {
      Shape shape;
      shape.coll = Coll::kBcast;
      shape.rank = rank;
      shape.size = n;
      shape.recv_count = 1;
      shape.recv_type = test::case_type(0).shape;
      const auto schedule =
          build(shape, *find_algorithm(Coll::kBcast, "binomial")).value();
      for (const Node& node : schedule->nodes())
        if (node.kind == NodeKind::kSend) ++edges[static_cast<size_t>(node.level)];
    }
    for (int i = 1; i <= height; ++i) {
      int expected = 0;  // by brute force
      for (int r = 0; r < n; r += 1 << (height - i + 1))
        expected += r + (1 << (height - i)) < n;
      EXPECT_EQ(edges[static_cast<size_t>(i - 1)], expected) << n << " level " << i;
      EXPECT_EQ(edges_at_level(n, i - 1), expected) << n << " level " << i;
    }
  }
}

}  // namespace
}  // namespace mpc::nbc

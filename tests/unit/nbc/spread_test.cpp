// Exchanges and divided reductions of members with a worker each, on the real scheduler: some fit into
// posts and some do not, members with gaps in their data meet members without, buffers are too short.
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

#include "nbc/direct/direct.h"
#include "runtime/datatype/reduce.h"
#include "tests/unit/message/world.h"
#include "tests/unit/nbc/findings.h"
#include "tests/unit/nbc/rank_steps.h"

namespace mpc::nbc::direct {
namespace {

using msg::test::Why;
using msg::test::World;
using nbc::test::delay;
using nbc::test::Findings;
using nbc::test::seed;
using nbc::test::take_step;

const Why kWhy{"a direct collective"};
constexpr Coll kExchanges[] = {Coll::kAllgather, Coll::kAlltoall, Coll::kAllgatherv,
                               Coll::kAlltoallv};

bool is_gather(Coll coll) {
  return coll == Coll::kAllgather || coll == Coll::kAllgatherv;
}
bool is_even(Coll coll) { return coll == Coll::kAllgather || coll == Coll::kAlltoall; }

// What all members know of one exchange.
struct Exchange {
  Coll coll;
  std::vector<std::vector<size_t>> bytes;  // [from][to]
  std::vector<bool> is_plain;              // of an even one: a member's blocks
  int cheated = -1, cheater = -1;  // that member's block from the other is too short

  Exchange(int members, std::mt19937& random)
      : coll(kExchanges[random() % std::size(kExchanges)]),
        bytes(static_cast<size_t>(members),
              std::vector<size_t>(static_cast<size_t>(members))) {
    // Most fit into a post of 32 bytes.
    const size_t most =
        random() % 8 == 0 ? 3000 : 1 + 28 / static_cast<size_t>(members);
    const size_t equal = 1 + random() % most;
    for (auto& row : bytes) {
      const size_t same = random() % (most + 1);
      for (size_t& n : row)
        n = is_even(coll) ? equal : is_gather(coll) ? same : random() % (most + 1);
      is_plain.push_back(random() % 4 != 0);
    }
    if (is_even(coll) || random() % 4 != 0) return;
    cheated = static_cast<int>(random() % bytes.size());
    cheater = static_cast<int>(random() % bytes.size());
    if (bytes[static_cast<size_t>(cheater)][static_cast<size_t>(cheated)] == 0)
      cheated = cheater = -1;
  }
};

unsigned char byte_of(int step, int from, int to, size_t i) {
  return static_cast<unsigned char>(step * 31 + from * 7 + to * 13 +
                                    static_cast<int>(i));
}

struct MemberCall final : Call {
  std::vector<std::vector<unsigned char>> out, in;  // by member, if blocks are apart
  std::vector<unsigned char> all_out, all_in;       // otherwise

  static Block block_of(std::vector<unsigned char>& data) {
    return {data.data(), static_cast<Count>(data.size()),
            dt::predefined(dt::abi::kByte)};
  }
  MemberCall(int number, const Exchange& step, int me) {
    const auto members = static_cast<int>(step.bytes.size());
    coll = step.coll;
    for (int m = 0; m < members; ++m) {
      const size_t there = step.bytes[static_cast<size_t>(me)][static_cast<size_t>(m)];
      const size_t here = step.bytes[static_cast<size_t>(m)][static_cast<size_t>(me)];
      out.emplace_back(there);
      for (size_t i = 0; i < there; ++i)
        out.back()[i] = byte_of(number, me, is_gather(coll) ? 0 : m, i);
      const bool is_short = me == step.cheated && m == step.cheater;
      in.emplace_back(is_short ? here - 1 : here);
    }
    block_to = [](const Call& call, int m) {
      auto& self = const_cast<MemberCall&>(static_cast<const MemberCall&>(call));
      return block_of(self.out[is_gather(call.coll) ? 0 : static_cast<size_t>(m)]);
    };
    block_from = [](const Call& call, int m) {
      auto& self = const_cast<MemberCall&>(static_cast<const MemberCall&>(call));
      return block_of(self.in[static_cast<size_t>(m)]);
    };
    if (!is_even(coll)) return;
    send_block = recv_block = out.front().size();
    is_send_plain = is_recv_plain = step.is_plain[static_cast<size_t>(me)];
    if (!is_send_plain) return;
    for (const auto& block : out)
      all_out.insert(all_out.end(), block.begin(), block.end());
    all_in.resize(all_out.size());
    send = all_out.data();
    recv = all_in.data();
    recv_step = static_cast<Count>(recv_block);
    send_step = is_gather(coll) ? 0 : recv_step;
  }
  const unsigned char* received(int m) const {
    return is_recv_plain ? all_in.data() + static_cast<size_t>(m) * recv_block
                         : in[static_cast<size_t>(m)].data();
  }
};

std::string play(int number, const Exchange& step, Team& team, int me,
                 job::Rank& self) {
  const MemberCall call(number, step, me);
  const Outcome outcome = run(team, me, self, call, kWhy);
  const std::string where =
      "step " + std::to_string(number) + ", member " + std::to_string(me) + ": ";
  if (outcome.mismatch != nullptr) return where + *outcome.mismatch;
  if (outcome.truncated_by != (me == step.cheated ? step.cheater : -1))
    return where + "truncated by " + std::to_string(outcome.truncated_by);
  for (int m = 0; m < team.size(); ++m) {
    if (me == step.cheated && m == step.cheater) continue;
    const size_t bytes = step.bytes[static_cast<size_t>(m)][static_cast<size_t>(me)];
    for (size_t i = 0; i < bytes; ++i)
      if (call.received(m)[i] != byte_of(number, m, is_gather(step.coll) ? 0 : me, i))
        return where + "block " + std::to_string(m) + " is wrong";
  }
  return "";
}

class Spread : public ::testing::TestWithParam<int> {
 protected:
  // All members, each on a worker of its own, take `steps` steps.
  template <class Step>
  static void play_all(int members, int steps, Step step) {
    std::vector<int> places;
    for (int m = 0; m < members; ++m) places.push_back(m);
    Team team(places);
    Findings findings;
    World world(members, members, [](int rank) { return rank; });
    const std::string left = world.run([&](job::Rank& self) {
      std::mt19937 mine(seed() * 31 + static_cast<unsigned>(self.world_rank));
      for (int s = 0; s < steps; ++s) {
        delay(mine, self, 8);
        findings.add(take_step(self, mine() % 40 == 0,
                               [&] { return step(s, team, self.world_rank, self); }));
      }
    });
    EXPECT_EQ(left, "");
    EXPECT_EQ(findings.all(), "") << "MPC_TEST_SEED=" << seed();
  }
};

TEST_P(Spread, ExchangesBlocks) {
  std::mt19937 random(seed() + static_cast<unsigned>(GetParam()));
  std::deque<Exchange> steps;
  for (int s = 0; s < 400; ++s) steps.emplace_back(GetParam(), random);
  play_all(GetParam(), 400, [&](int s, Team& team, int me, job::Rank& self) {
    return play(s, steps[static_cast<size_t>(s)], team, me, self);
  });
}

// Equal parts, or parts of `counts` elements.
struct PartsCall final : Call {
  const std::vector<Count>* counts = nullptr;
};

TEST_P(Spread, ReducesParts) {
  std::mt19937 random(seed() + static_cast<unsigned>(GetParam()));
  const int members = GetParam();
  std::deque<std::vector<Count>> steps;
  for (int s = 0; s < 400; ++s) {
    const bool is_equal = random() % 2 == 0;
    const Count equal = 1 + static_cast<Count>(random() % 3);
    std::vector<Count>& counts = steps.emplace_back();
    for (int m = 0; m < members; ++m)
      counts.push_back(is_equal ? equal : static_cast<Count>(random() % 4));
    if (!is_equal) counts[0] += 4;  // not nothing, and not equal
  }
  play_all(
      members, 400, [&](int s, Team& team, int me, job::Rank& self) -> std::string {
        const auto& counts = steps[static_cast<size_t>(s)];
        Count first = 0, all = 0;
        for (size_t m = 0; m < counts.size(); ++m) {
          if (static_cast<int>(m) == me) first = all;
          all += counts[m];
        }
        std::vector<int32_t> in,
            out(static_cast<size_t>(counts[static_cast<size_t>(me)]));
        for (Count i = 0; i < all; ++i)
          in.push_back(s + me * 100 + static_cast<int>(i));
        PartsCall call;
        const bool is_equal = counts.front() == counts.back();
        call.coll = is_equal ? Coll::kReduceScatterBlock : Coll::kReduceScatter;
        call.counts = &counts;
        if (!is_equal)
          call.part = [](const Call& c, int m) {
            return (*static_cast<const PartsCall&>(c).counts)[static_cast<size_t>(m)];
          };
        call.op_code = static_cast<uint8_t>(dt::abi::kSum);
        call.send = in.data();
        call.recv = out.data();
        call.count = all;
        call.element_bytes = sizeof(int32_t);
        call.op.kernel = dt::reduction(dt::abi::kSum, dt::abi::kInt32T);
        call.op.kernel3 = dt::reduction3(dt::abi::kSum, dt::abi::kInt32T);
        if (const Outcome got = run(team, me, self, call, kWhy);
            got.mismatch != nullptr)
          return *got.mismatch;
        for (size_t i = 0; i < out.size(); ++i) {
          const int element = static_cast<int>(first) + static_cast<int>(i);
          if (out[i] != members * (s + element) + 100 * members * (members - 1) / 2)
            return "step " + std::to_string(s) + ": element " + std::to_string(element);
        }
        return "";
      });
}

INSTANTIATE_TEST_SUITE_P(Members, Spread, ::testing::Values(2, 3, 5, 17));

}  // namespace
}  // namespace mpc::nbc::direct

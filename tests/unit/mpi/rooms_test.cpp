// What rooms of several processes tell each other, and that all of them conclude alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "mpi/objects/context_reserve.h"
#include "mpi/objects/intercomm_rooms.h"
#include "mpi/objects/split_rooms.h"
#include "mpi/topo/graph_room.h"

namespace mpc::mpi {
namespace {

constexpr ContextGrant kAgreed{1000, 12};

// Each room packs, and merges what the others have packed, as meeting.cpp does.
template <class R>
void exchange_and_conclude(std::vector<std::unique_ptr<R>>& rooms) {
  std::vector<Bytes> bytes;
  for (const auto& room : rooms) {
    ByteWriter out;
    room->pack(out);
    bytes.push_back(out.take());
  }
  for (size_t mine = 0; mine < rooms.size(); ++mine) {
    for (size_t other = 0; other < rooms.size(); ++other) {
      if (other == mine) continue;
      ByteReader in(bytes[other]);
      rooms[mine]->merge(in);
      ASSERT_TRUE(in.is_at_end() && !in.has_failed());
    }
    Ids ids(kAgreed);
    rooms[mine]->conclude(ids);
  }
}

template <class R>
std::vector<std::unique_ptr<R>> make_rooms(int processes) {
  std::vector<std::unique_ptr<R>> rooms;
  for (int i = 0; i < processes; ++i) rooms.push_back(std::make_unique<R>());
  return rooms;
}

class Rooms : public testing::TestWithParam<int> {
 protected:
  int up_to(int n) {
    return static_cast<int>(random_() % static_cast<unsigned>(n + 1));
  }
  // World ranks in any order, each at most once.
  GroupRef random_group(int first, int end) {
    std::vector<int> ranks(static_cast<size_t>(end - first));
    std::iota(ranks.begin(), ranks.end(), first);
    std::shuffle(ranks.begin(), ranks.end(), random_);
    ranks.resize(static_cast<size_t>(1 + up_to(end - first - 1)));
    return GroupTable::make(std::move(ranks));
  }
  Choice random_choice() {
    return {up_to(4) == 0 ? MPI_UNDEFINED : up_to(3), up_to(6) - 3};
  }
  // The room of the process in which a rank lives: any, as long as all agree.
  size_t home_of(int world_rank) const {
    return static_cast<size_t>(world_rank * 7 / 3 % GetParam());
  }

  const unsigned seed_ = std::random_device{}();
  testing::ScopedTrace trace_{__FILE__, __LINE__, seed_};
  std::mt19937 random_{seed_};
};

TEST_P(Rooms, SplitAlikeInAllProcesses) {
  for (int round = 0; round < 50; ++round) {
    const GroupRef group = random_group(0, 30);
    auto rooms = make_rooms<SplitRoom>(GetParam());
    SplitRoom whole;
    // A process in a meeting has a member; here it may have none.
    for (auto& room : rooms) room->visit(group, 0, Choice{});
    for (int i = 0; i < group->size(); ++i) {
      const Choice choice = random_choice();
      whole.visit(group, i, choice);
      rooms[home_of(group->world_rank(i))]->visit(group, i, choice);
    }
    exchange_and_conclude(rooms);
    ContextIds source(0, 1);
    Ids ids(source);
    whole.conclude(ids);
    for (const auto& room : rooms) {
      ASSERT_EQ(room->part_of, whole.part_of);
      ASSERT_EQ(room->rank_of, whole.rank_of);
      ASSERT_EQ(room->parts.size(), whole.parts.size());
      for (size_t i = 0; i < whole.parts.size(); ++i) {
        ASSERT_EQ(room->parts[i].group, whole.parts[i].group);
        ASSERT_EQ(room->parts[i].ids, kAgreed);
      }
    }
    for (size_t i = 1; i < whole.parts.size(); ++i)
      ASSERT_NE(whole.parts[i].ids, whole.parts[i - 1].ids);
  }
}

TEST_P(Rooms, SplitTwoGroupsAlikeInAllProcesses) {
  for (int round = 0; round < 50; ++round) {
    const GroupRef groups[2] = {random_group(0, 15), random_group(15, 40)};
    auto rooms = make_rooms<InterSplitRoom>(GetParam());
    InterSplitRoom whole;
    for (int side = 0; side < 2; ++side)
      for (int i = 0; i < groups[side]->size(); ++i) {
        const Choice choice = random_choice();
        whole.visit(groups, side, i, choice);
        for (auto& room : rooms) room->visit(groups, side, i, Choice{});
        rooms[home_of(groups[side]->world_rank(i))]->visit(groups, side, i, choice);
      }
    exchange_and_conclude(rooms);
    ContextIds source(0, 1);
    Ids ids(source);
    whole.conclude(ids);
    for (const auto& room : rooms) {
      ASSERT_EQ(room->parts.size(), whole.parts.size());
      for (size_t i = 0; i < whole.parts.size(); ++i)
        for (int side = 0; side < 2; ++side)
          ASSERT_EQ(room->parts[i].groups[side], whole.parts[i].groups[side]);
      for (int side = 0; side < 2; ++side) {
        ASSERT_EQ(room->sides[side].part_of, whole.sides[side].part_of);
        ASSERT_EQ(room->sides[side].rank_of, whole.sides[side].rank_of);
      }
    }
  }
}

TEST_P(Rooms, PutTheSameGraphTogether) {
  for (int round = 0; round < 50; ++round) {
    const int n = 1 + up_to(20);
    auto rooms = make_rooms<GraphRoom>(GetParam());
    GraphRoom whole;
    for (auto& room : rooms) room->given.resize(static_cast<size_t>(n));
    for (int rank = 0; rank < n; ++rank) {
      std::vector<GraphRoom::Given> edges(static_cast<size_t>(up_to(4)));
      for (auto& e : edges) e = {up_to(n - 1), up_to(n - 1), up_to(9)};
      whole.visit(n, rank, edges);
      rooms[home_of(rank)]->visit(n, rank, edges);
    }
    exchange_and_conclude(rooms);
    Ids none(ContextGrant{});
    whole.conclude(none);
    for (const auto& room : rooms) {
      ASSERT_EQ(room->in, whole.in);
      ASSERT_EQ(room->out, whole.out);
    }
  }
}

TEST_P(Rooms, TellAGroupWhatItsLeaderHasLearnt) {
  for (int round = 0; round < 20; ++round) {
    auto rooms = make_rooms<LocalRoom>(GetParam());
    const bool is_bad = up_to(3) == 0;
    Learnt learnt{is_bad ? nullptr : random_group(0, 30),
                  {static_cast<msg::ContextId>(2 * up_to(500)), up_to(9)},
                  static_cast<msg::ContextId>(up_to(500)),
                  is_bad ? MPI_ERR_RANK : MPI_SUCCESS,
                  is_bad ? std::string(static_cast<size_t>(up_to(50)), 'x') : ""};
    LocalRoom& home = *rooms[home_of(up_to(30))];
    home.learnt = learnt;
    home.is_learnt = true;
    exchange_and_conclude(rooms);
    for (const auto& room : rooms) {
      ASSERT_TRUE(room->is_learnt);
      ASSERT_EQ(room->learnt.remote, learnt.remote);
      ASSERT_EQ(room->learnt.ids, learnt.ids);
      ASSERT_EQ(room->learnt.local_context, learnt.local_context);
      ASSERT_EQ(room->learnt.error, learnt.error);
      ASSERT_EQ(room->learnt.message, learnt.message);
    }
  }
}

TEST_P(Rooms, MergeTwoGroupsInTheSameOrder) {
  for (const bool low_is_high : {false, true}) {
    const GroupRef groups[2] = {GroupTable::make({3, 1}), GroupTable::make({7, 5, 6})};
    auto rooms = make_rooms<MergeRoom>(GetParam());
    for (auto& room : rooms)
      for (int side = 0; side < 2; ++side) room->groups[side] = groups[side];
    for (int side = 0; side < 2; ++side)
      for (const int rank : groups[side]->world_ranks())
        rooms[home_of(rank)]->high[side] = (side == 0) == low_is_high;
    exchange_and_conclude(rooms);
    for (const auto& room : rooms) {
      EXPECT_EQ(room->merged, low_is_high ? GroupTable::make({7, 5, 6, 3, 1})
                                          : GroupTable::make({3, 1, 7, 5, 6}));
      EXPECT_EQ(room->ids, kAgreed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Processes, Rooms, testing::Values(1, 2, 3, 8));

TEST(LeadersRoom, TellsEachLeaderTheOthersGroup) {
  auto rooms = make_rooms<LeadersRoom>(2);
  rooms[0]->sides[1] = {
      GroupTable::make({8, 9}), 70, false, {}, {}};  // the larger rank in process 0
  rooms[1]->sides[0] = {GroupTable::make({1, 2, 3}), 900, false, {}, {}};
  for (auto& room : rooms) room->is_reserved = true;
  exchange_and_conclude(rooms);
  for (const auto& room : rooms) {
    EXPECT_EQ(room->sides[0].group, GroupTable::make({1, 2, 3}));
    EXPECT_EQ(room->sides[0].local_context, 900u);
    EXPECT_EQ(room->sides[1].group, GroupTable::make({8, 9}));
    EXPECT_EQ(room->sides[1].local_context, 70u);
    EXPECT_EQ(room->ids, kAgreed);
  }
}

TEST(ContextReserve, GivesItsIdsInOrderThenThoseOfTheNextAgreement) {
  ContextReserve reserve(ContextGrant{100, 2});
  EXPECT_EQ(reserve.take().id(), 100u);
  ASSERT_FALSE(reserve.is_empty());
  EXPECT_EQ(reserve.take().id(), 102u);
  ASSERT_TRUE(reserve.is_empty());
  auto room = std::make_shared<ReserveRoom>();
  reserve.refill(room);
  // Taken before the members have agreed.
  std::vector<ContextSlot> slots;
  while (!reserve.is_empty()) slots.push_back(reserve.take());
  ASSERT_EQ(slots.size(), size_t{kReservePairs});
  for (ContextSlot& slot : slots) EXPECT_FALSE(slot.is_known());
  Ids ids(ContextGrant{500, kReservePairs});
  room->conclude(ids);
  room->is_over.store(true, std::memory_order_release);
  for (size_t i = 0; i < slots.size(); ++i) {
    ASSERT_TRUE(slots[i].is_known());
    EXPECT_EQ(slots[i].id(), 500u + 2 * i);
  }
  // A later agreement leaves them what they are.
  reserve.refill(std::make_shared<ReserveRoom>());
  EXPECT_EQ(slots.back().id(), 514u);
}

TEST(ByteReader, SaysThatItHasReadPastTheEnd) {
  ByteWriter out;
  out.put(7);
  out.put_text("seven");
  Bytes bytes = out.take();
  {
    ByteReader in(bytes);
    EXPECT_EQ(in.get<int>(), 7);
    EXPECT_EQ(in.get_text(), "seven");
    EXPECT_TRUE(in.is_at_end() && !in.has_failed());
    EXPECT_EQ(in.get<int>(), 0);
    EXPECT_TRUE(in.has_failed());
  }
  for (size_t n = 0; n < bytes.size(); ++n) {
    ByteReader in(std::span<const std::byte>(bytes).first(n));
    in.get<int>();
    EXPECT_EQ(in.get_text(), "");
    EXPECT_TRUE(in.has_failed()) << n;
  }
}

}  // namespace
}  // namespace mpc::mpi

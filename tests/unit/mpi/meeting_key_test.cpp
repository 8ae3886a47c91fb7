#include "mpi/objects/meeting_key.h"

#include <gtest/gtest.h>

#include "mpi/objects/process_list.h"

namespace mpc::mpi {
namespace {

// Equal content in another object, as another process would have it.
GroupRef copy_of(const GroupRef& group) {
  return std::make_shared<const GroupTable>(
      GroupTable::PrivateTag{},
      std::vector<int>(group->world_ranks().begin(), group->world_ranks().end()));
}

TEST(MeetingKey, IsTheSameForEqualGroupsAtDifferentAddresses) {
  const GroupRef group = GroupTable::make({4, 2, 9});
  const GroupRef other = copy_of(group);
  ASSERT_NE(group, other);
  const MeetingKey a = key_of_members(MeetingKind::kCreateGroup, group, 64, 3);
  const MeetingKey b = key_of_members(MeetingKind::kCreateGroup, other, 64, 3);
  EXPECT_EQ(a, b);
  EXPECT_EQ(MeetingKeyHash{}(a), MeetingKeyHash{}(b));
  EXPECT_NE(a, key_of_members(MeetingKind::kCreateGroup, group, 64, 4));
  EXPECT_NE(a, key_of_members(MeetingKind::kCreateGroup, group, 66, 3));
  EXPECT_NE(a, key_of_members(MeetingKind::kFromGroup, group, 64, 3));
}

TEST(MeetingKey, TellsGroupsOfTheSameHashApart) {
  MeetingKey a =
      key_of_members(MeetingKind::kCreateGroup, GroupTable::make({4, 2, 9}), 64, 3);
  MeetingKey b =
      key_of_members(MeetingKind::kCreateGroup, GroupTable::make({4, 9, 2}), 64, 3);
  b.place = a.place;  // a collision
  EXPECT_EQ(MeetingKeyHash{}(a), MeetingKeyHash{}(b));
  EXPECT_NE(a, b);
  b.members = nullptr;
  EXPECT_NE(a, b);
}

TEST(MeetingKey, TellsCommunicatorsOfTheSameIdApartByTheirFirstMember) {
  EXPECT_NE(place_of(64, 0), place_of(64, 1));
  EXPECT_NE(place_of(64, 1), place_of(66, 1));
}

TEST(MeetingKey, IsTheSameWhenItHasGoneToAnotherProcess) {
  for (const GroupRef& members : {GroupRef(), GroupTable::make({4, 2, 9})}) {
    const MeetingKey key{MeetingKind::kMerge, ~uint64_t{0}, 1u << 20, members};
    ByteWriter out;
    put_key(out, key);
    const Bytes bytes = out.take();
    ByteReader in(bytes);
    EXPECT_EQ(get_key(in), key);
    EXPECT_TRUE(in.is_at_end() && !in.has_failed());
  }
}

TEST(ProcessList, CountsTheMembersOfEachProcess) {
  const auto map = job::ProcessMap::in_blocks(10, 3);  // 0-2, 3-5, 6-9
  const int a[] = {9, 0, 7}, b[] = {1, 6};
  const ProcessList list(map, {a, b});
  EXPECT_EQ(std::vector<int>(list.processes().begin(), list.processes().end()),
            (std::vector<int>{0, 2}));
  EXPECT_EQ(list.first(), 0);
  EXPECT_FALSE(list.is_one_process());
  EXPECT_EQ(list.members_in(0), 2);
  EXPECT_EQ(list.members_in(1), 0);
  EXPECT_EQ(list.members_in(2), 3);
  EXPECT_EQ(list.index_of(1), -1);
  EXPECT_EQ(list.index_of(2), 1);
  EXPECT_TRUE(ProcessList(map, {std::span<const int>(b, 1)}).is_one_process());
}

}  // namespace
}  // namespace mpc::mpi

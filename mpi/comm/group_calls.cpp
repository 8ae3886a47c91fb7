// Bodies of MPI-4.1 section 7.3: groups.

#include <fmt/format.h>

#include <vector>

#include "mpi/impl/group_comm.h"
#include "mpi/objects/group.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi {
namespace impl {
namespace {

std::vector<int> to_vector(std::span<const int> ranks) {
  return {ranks.begin(), ranks.end()};
}

// Checks that ranks are in the group and none occurs twice.
Err check_ranks(const Group& group, std::span<const int> ranks) {
  std::vector<bool> seen(static_cast<size_t>(group.size()));
  for (const int rank : ranks) {
    if (rank < 0 || rank >= group.size())
      return fail(MPI_ERR_RANK, fmt::format("rank {} is not in 0..{} of the group",
                                            rank, group.size() - 1));
    if (seen[static_cast<size_t>(rank)])
      return fail(MPI_ERR_RANK, fmt::format("rank {} is given twice", rank));
    seen[static_cast<size_t>(rank)] = true;
  }
  return kSuccess;
}

// The ranks of (first, last, stride) triplets, in order.
Err expand_ranges(const Group& group, std::span<int[3]> ranges, std::vector<int>* out) {
  for (const int* range : ranges) {
    const int first = range[0], last = range[1], stride = range[2];
    if (stride == 0) return fail(MPI_ERR_ARG, "the stride of a range is 0");
    if (first < 0 || first >= group.size() || last < 0 || last >= group.size())
      return fail(MPI_ERR_RANK, fmt::format("range {}..{} is not inside 0..{}", first,
                                            last, group.size() - 1));
    if ((last - first) / stride < 0 ||
        (first != last && (last > first) != (stride > 0)))
      return fail(MPI_ERR_ARG, fmt::format("the range {}..{} with stride {} is empty",
                                           first, last, stride));
    for (int r = first; stride > 0 ? r <= last : r >= last; r += stride)
      out->push_back(r);
  }
  return check_ranks(group, *out);
}

MPI_Group include(const Group& group, std::span<const int> ranks) {
  std::vector<int> world;
  world.reserve(ranks.size());
  for (const int rank : ranks) world.push_back(group.table()->world_rank(rank));
  return create_group(GroupTable::make(std::move(world)), group.session_buffer());
}

MPI_Group exclude(const Group& group, std::span<const int> ranks) {
  std::vector<bool> out(static_cast<size_t>(group.size()));
  for (const int rank : ranks) out[static_cast<size_t>(rank)] = true;
  std::vector<int> world;
  for (int i = 0; i < group.size(); ++i)
    if (!out[static_cast<size_t>(i)]) world.push_back(group.table()->world_rank(i));
  return create_group(GroupTable::make(std::move(world)), group.session_buffer());
}

// Members of `a` that are (or are not) in `b`, in the order of `a`.
std::vector<int> filter(const Group& a, const Group& b, bool in_b) {
  std::vector<int> world;
  for (const int rank : a.table()->world_ranks())
    if ((b.table()->index_of(rank) >= 0) == in_b) world.push_back(rank);
  return world;
}

}  // namespace

Err group_size(Group& group, int* size) {
  *size = group.size();
  return kSuccess;
}

Err group_rank(Group& group, int* rank) {
  const int index = group.table()->index_of(this_world_rank());
  *rank = index < 0 ? MPI_UNDEFINED : index;
  return kSuccess;
}

Err group_translate_ranks(Group& a, int, std::span<const int> ranks, Group& b,
                          std::span<int> out) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    const int rank = ranks[i];
    if (rank == MPI_PROC_NULL) {
      out[i] = MPI_PROC_NULL;
      continue;
    }
    if (rank < 0 || rank >= a.size())
      return fail(MPI_ERR_RANK,
                  fmt::format("rank {} is not in 0..{} of the first group", rank,
                              a.size() - 1));
    const int index = b.table()->index_of(a.table()->world_rank(rank));
    out[i] = index < 0 ? MPI_UNDEFINED : index;
  }
  return kSuccess;
}

Err group_compare(Group& a, Group& b, int* result) {
  *result = compare_groups(*a.table(), *b.table());
  return kSuccess;
}

Err group_union(Group& a, Group& b, MPI_Group* out) {
  std::vector<int> world = to_vector(a.table()->world_ranks());
  for (const int rank : filter(b, a, false)) world.push_back(rank);
  *out = create_group(GroupTable::make(std::move(world)), a.session_buffer());
  return kSuccess;
}

Err group_intersection(Group& a, Group& b, MPI_Group* out) {
  *out = create_group(GroupTable::make(filter(a, b, true)), a.session_buffer());
  return kSuccess;
}

Err group_difference(Group& a, Group& b, MPI_Group* out) {
  *out = create_group(GroupTable::make(filter(a, b, false)), a.session_buffer());
  return kSuccess;
}

Err group_incl(Group& group, int, std::span<const int> ranks, MPI_Group* out) {
  MPC_MPI_TRY(check_ranks(group, ranks));
  *out = include(group, ranks);
  return kSuccess;
}

Err group_excl(Group& group, int, std::span<const int> ranks, MPI_Group* out) {
  MPC_MPI_TRY(check_ranks(group, ranks));
  *out = exclude(group, ranks);
  return kSuccess;
}

Err group_range_incl(Group& group, int, std::span<int[3]> ranges, MPI_Group* out) {
  std::vector<int> ranks;
  MPC_MPI_TRY(expand_ranges(group, ranges, &ranks));
  *out = include(group, ranks);
  return kSuccess;
}

Err group_range_excl(Group& group, int, std::span<int[3]> ranges, MPI_Group* out) {
  std::vector<int> ranks;
  MPC_MPI_TRY(expand_ranges(group, ranges, &ranks));
  *out = exclude(group, ranks);
  return kSuccess;
}

Err group_free(HandleRef<Group, MPI_Group> ref) {
  Group* group = ref.object;
  *ref.handle = MPI_GROUP_NULL;
  if (group->is_empty_constant) return kSuccess;
  group->mark_freed();
  forget_handle(*group);
  if (group->release()) delete group;
  return kSuccess;
}

}  // namespace impl
}  // namespace mpc::mpi

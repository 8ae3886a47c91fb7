#include "mpi/objects/group.h"

#include "mpi/objects/rank_state.h"

namespace mpc::mpi {

MPI_Group Group::handle() noexcept {
  return is_empty_constant ? MPI_GROUP_EMPTY : reinterpret_cast<MPI_Group>(this);
}

MPI_Group create_group(GroupRef table, const SessionBufferRef& session_buffer) {
  if (table->size() == 0) return MPI_GROUP_EMPTY;
  return (new Group(this_world_rank(), std::move(table), session_buffer))->handle();
}

int compare_groups(const GroupTable& a, const GroupTable& b) noexcept {
  if (&a == &b) return MPI_IDENT;  // equal tables are one object
  if (a.size() != b.size()) return MPI_UNEQUAL;
  for (const int rank : a.world_ranks())
    if (b.index_of(rank) < 0) return MPI_UNEQUAL;
  return MPI_SIMILAR;
}

}  // namespace mpc::mpi

#pragma once
// Group: the handle object around a GroupTable.
//
// Role:      MPI-4.1 section 7.3.
// Users:     bodies of mpi/.
// Threads:   constant after creation.
// See also:  mpi/objects/group_table.h.

#include "mpi.h"
#include "mpi/objects/buffered.h"
#include "mpi/objects/error.h"
#include "mpi/objects/group_table.h"
#include "mpi/objects/object.h"

namespace mpc::mpi {

class Group final : public Object {
 public:
  Group(int owner, GroupRef table, SessionBufferRef session_buffer = nullptr) noexcept
      : Object(Kind::kGroup, owner),
        table_(std::move(table)),
        session_buffer_(std::move(session_buffer)) {}
  const GroupRef& table() const noexcept { return table_; }
  // The buffer of the session from which this group, or the group it was made from, comes; null:
  // none.
  const SessionBufferRef& session_buffer() const noexcept { return session_buffer_; }
  int size() const noexcept { return table_->size(); }
  MPI_Group handle() noexcept;
  bool is_empty_constant = false;  // MPI_GROUP_EMPTY

 private:
  GroupRef table_;
  SessionBufferRef session_buffer_;
};

// A handle for the calling rank; MPI_GROUP_EMPTY for an empty table.
MPI_Group create_group(GroupRef table,
                       const SessionBufferRef& session_buffer = nullptr);

// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare_groups(const GroupTable& a, const GroupTable& b) noexcept;

}  // namespace mpc::mpi

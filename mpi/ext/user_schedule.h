#pragma once
// UserSchedule: collectives that users write as graphs (<mpc/schedule.h>).
//
// Role:      the objects behind MPCX_Builder and MPCX_Schedule: nodes over the user's
//            addresses, and how they are started as collectives of the communicator.
// Users:     mpi/ext/user_schedule_entry.cpp.
// Threads:   executions of the owner rank, one at a time for a builder.
// See also:  nbc/schedule/schedule.h, docs/schedules.md.

#include <memory>
#include <string>
#include <vector>

#include "mpi.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/error.h"
#include "mpi/objects/object.h"
#include "mpi/objects/op.h"
#include "mpi/objects/request.h"
#include "mpi/objects/views.h"
#include "nbc/schedule/schedule.h"

namespace mpc::mpi {

// A buffer of a node, as the user gave it.
struct Region {
  const void* address = nullptr;
  Count count = 0;
  const dt::Datatype* type = nullptr;
};

class UserSchedule final : public Object {
 public:
  explicit UserSchedule(Comm& comm) noexcept;
  Comm& comm() const noexcept { return *comm_; }
  std::string dump() const { return schedule_->dump(); }
  std::string graphviz() const { return schedule_->graphviz(); }
  // A request for one start, or a persistent one. Ownership: the request keeps this object.
  Err make_request(bool is_persistent, Request** out);
  // Proves the schedules of all members together (user_schedule_verify.cpp). Switches: yes.
  // Errors: the same at all members. MPI_ERR_ARG: a fault, whose place the message names;
  // MPI_ERR_COMM: an intercommunicator; MPI_ERR_COUNT: too large to be proved.
  Err verify();
  void drop() noexcept;

 private:
  friend class UserBuilder;
  ~UserSchedule();

  Comm* comm_;
  std::shared_ptr<const nbc::Schedule> schedule_;
  std::vector<void*> buffers_;       // by slot
  std::vector<int64_t> slot_bytes_;  // from there on
  std::vector<const dt::Datatype*> types_;
  std::vector<dt::TypeRef> kept_types_;
  BoundOp op_;
  const Op* reduces_with_ = nullptr;  // null: no reduction yet
};

class UserBuilder final : public Object {
 public:
  explicit UserBuilder(Comm& comm);
  ~UserBuilder();
  Comm& comm() const noexcept { return result_->comm(); }

  // Errors: MPI_ERR_TAG; the entry point has checked the rest.
  Err send(const Region& from, int peer, int tag, nbc::NodeId* out);
  Err recv(const Region& to, int peer, int tag, nbc::NodeId* out);
  Err copy(const Region& from, const Region& to, nbc::NodeId* out);
  // Errors: MPI_ERR_OP if the operation does not fit the type, or if another reduction of the
  // schedule has a different operation or type.
  Err reduce(const Region& in, const Region& inout, Op& op, MPI_Datatype handle,
             nbc::NodeId* out);
  nbc::NodeId nop() { return builder_.nop(); }
  // Errors: MPI_ERR_ARG for numbers that are no nodes.
  Err connect(int before, int after);
  // Errors: MPI_ERR_ARG (a cycle), also if an earlier commit() has failed.
  Err commit(UserSchedule** out);

 private:
  nbc::BufferRef ref_of(const Region& region);
  void rebase();

  nbc::ScheduleBuilder builder_;
  UserSchedule* result_;
  const dt::Datatype* reduced_type_ = nullptr;
  bool is_spent_ = false;
};

// Errors: MPI_ERR_ARG: null, freed, of another kind or rank.
Err lookup_own(void* handle, UserBuilder** out);
Err lookup_own(void* handle, UserSchedule** out);

}  // namespace mpc::mpi

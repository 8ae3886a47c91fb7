#pragma once
// Forms: the three forms of a collective call: blocking, non-blocking, persistent.
//
// Role:      run(), start() and prepare() treat a description as the form of the call requires.
// Users:     mpi/coll: its generated functions (forms.cpp), three for each collective of the list
//            that has a description.
// Threads:   any execution of the rank.
// See also:  mpi/coll/describe.h; nbc/engine/engine.h for how schedules are run.

#include <memory>
#include <utility>

#include "base/trace.h"
#include "mpi/coll/describe.h"
#include "mpi/coll/direct.h"
#include "mpi/coll/uses.h"
#include "mpi/objects/check.h"
#include "mpi/objects/members.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/wait_reasons.h"

namespace mpc::mpi::impl {

// The schedule of the call: cached by the communicator; built anew for two groups.
Result<std::shared_ptr<const nbc::Schedule>> schedule_of(Call& call);
// How many levels of the tree stay with the ranks. Intercommunicators have no trees.
nbc::SplitCall choose_split(Comm& comm, nbc::Shape& shape);

// The call as the user made it; with mpi.check it is compared with those of the other members.
template <class Describe>
Err describe_and_check(const char* name, Call& call, bool may_wait,
                       Describe& describe) {
  MPC_MPI_TRY(check_members(name, call.comm));
  const Err error = describe(call);
  if (error || !is_checking()) return error;
  compare_with_others(call.comm, {name, call.shape, call.pair[0], call.pair[1],
                                  call.many_types, call.op.op(), may_wait});
  if (may_wait) look_at_buffers(call);
  return kSuccess;
}

template <class Describe>
Err run(const char* name, Comm& comm, Coll coll, Describe&& describe) {
  Call call(comm, coll);
  if (const Err error = describe_and_check(name, call, true, describe)) return error;
  auto schedule = schedule_of(call);
  if (!schedule) return fail(schedule.error());
  const CollectiveReason reason(name, comm);
  const msg::Status status =
      nbc::run(comm.self(), **schedule,
               call.binding(nbc::tag_base(comm.next_collective())), reason);
  return error_of_collective(status, name);
}

template <class Describe>
Err make(const char* name, Comm& comm, Coll coll, bool is_persistent, Request** out,
         Describe&& describe) {
  auto call = std::make_unique<Call>(comm, coll);
  if (const Err error = describe_and_check(name, *call, false, describe)) return error;
  call->shape.is_nonblocking = true;
  MPC_TRACE("mpi", "describe", coll);
  call->split = choose_split(comm, call->shape);
  auto schedule = schedule_of(*call);
  if (!schedule) return fail(schedule.error());
  call->keep_types();
  const uint32_t sequence =
      is_persistent ? comm.next_persistent() : comm.next_collective();
  call->collective = nbc::create(comm.self(), std::move(*schedule),
                                 call->binding(nbc::tag_base(sequence, is_persistent)));
  if (call->collective == nullptr)
    return fail(MPI_ERR_NO_MEM, "no memory for a collective in flight");
  *out = Request::make(*rank_state(), RequestKind::kCollective, &comm, name);
  if (is_checking()) watch_buffers(**out, *call, is_persistent);
  (*out)->collective = std::move(call);
  return kSuccess;
}

template <class Describe>
Err start(const char* name, Comm& comm, Coll coll, Request** request,
          Describe&& describe) {
  if (const Err error = make(name, comm, coll, false, request, describe)) return error;
  return start_request(*rank_state(), **request);
}

template <class Describe>
Err prepare(const char* name, Comm& comm, Coll coll, Request** request,
            Describe&& describe) {
  if (const Err error = make(name, comm, coll, true, request, describe)) return error;
  (*request)->is_persistent = true;
  return kSuccess;
}

}  // namespace mpc::mpi::impl

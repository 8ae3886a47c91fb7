// Entry points of <mpc/schedule.h>: they check arguments and pass errors to the communicator's
// handler, as the generated entry points of MPI do.
#include "mpi/ext/user_schedule.h"

#include <algorithm>
#include <cstring>

#include "mpi/api/checks.h"
#include "mpi/api/entry_scope.h"
#include "mpi/ext/include/mpc/schedule.h"
#include "mpi/objects/lookup.h"

// The bodies of C functions.
using namespace mpc;
using namespace mpc::mpi;

static_assert(MPCX_TAG_UB == nbc::kTagsPerCollective - 1);

namespace {

// Calls `body` with the object behind `handle`; not called if there is none, or if the pointer to
// the handle is null.
template <class T, class Handle, class Body>
int with(const char* function, Handle handle, Body body) {
  EntryScope call(function);
  if (!call.is_running() && !EntryScope::is_checked(__builtin_return_address(0)))
      [[unlikely]]
    return call.not_running();
  T* object = nullptr;
  if (Err error = lookup_own(handle, &object)) [[unlikely]]
    return call.fail(error);
  if (Err error = body(*object)) [[unlikely]]
    return call.fail(error, &object->comm());
  return MPI_SUCCESS;
}

template <class Body>
int with_builder(const char* function, MPCX_Builder builder, Body body) {
  return with<UserBuilder>(function, builder, body);
}
template <class Body>
int with_schedule(const char* function, MPCX_Schedule schedule, Body body) {
  return with<UserSchedule>(function, schedule, body);
}

Err region(const void* buffer, Count count, MPI_Datatype type, Region* out) {
  MPC_MPI_TRY(check::count(count, "count"));
  MPC_MPI_TRY(check::committed(type, &out->type));
  MPC_MPI_TRY(check::buffer(buffer, count, out->type));
  out->address = buffer;
  out->count = count;
  return kSuccess;
}

// Gives a node's number to the user, unless the pointer is null.
void give(nbc::NodeId id, MPCX_Node* node) {
  if (node != nullptr) *node = static_cast<MPCX_Node>(id);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int MPCX_Builder_create(MPI_Comm comm, MPCX_Builder* builder) {
  EntryScope call("MPCX_Builder_create");
  if (!call.is_running() && !EntryScope::is_checked(__builtin_return_address(0)))
    return call.not_running();
  Comm* c = nullptr;
  if (Err error = check::comm(comm, &c)) return call.fail(error);
  if (Err error = check::not_null(builder, "builder")) return call.fail(error, c);
  *builder = reinterpret_cast<MPCX_Builder>(static_cast<Object*>(new UserBuilder(*c)));
  return MPI_SUCCESS;
}

int MPCX_Builder_free(MPCX_Builder* builder) {
  return with_builder(
      "MPCX_Builder_free", builder == nullptr ? nullptr : *builder,
      [&](UserBuilder& b) {
        delete &b;
        *builder = MPCX_BUILDER_NULL;  // NOLINT(clang-analyzer-core.NullDereference)
        return kSuccess;
      });
}

int MPCX_Send(MPCX_Builder builder, const void* buffer, MPI_Count count,
              MPI_Datatype type, int dest, int tag, MPCX_Node* node) {
  return with_builder("MPCX_Send", builder, [&](UserBuilder& b) {
    Region from;
    nbc::NodeId id = 0;
    MPC_MPI_TRY(check::destination(dest, b.comm()));
    MPC_MPI_TRY(region(buffer, count, type, &from));
    MPC_MPI_TRY(b.send(from, dest, tag, &id));
    give(id, node);
    return kSuccess;
  });
}

int MPCX_Recv(MPCX_Builder builder, void* buffer, MPI_Count count, MPI_Datatype type,
              int source, int tag, MPCX_Node* node) {
  return with_builder("MPCX_Recv", builder, [&](UserBuilder& b) {
    Region to;
    nbc::NodeId id = 0;
    if (source == MPI_ANY_SOURCE)
      return fail(MPI_ERR_RANK, "MPCX_Recv: a schedule has no wildcards");
    MPC_MPI_TRY(check::source(source, b.comm()));
    MPC_MPI_TRY(region(buffer, count, type, &to));
    MPC_MPI_TRY(b.recv(to, source, tag, &id));
    give(id, node);
    return kSuccess;
  });
}

int MPCX_Reduce(MPCX_Builder builder, const void* in, void* inout, MPI_Count count,
                MPI_Datatype type, MPI_Op op, MPCX_Node* node) {
  return with_builder("MPCX_Reduce", builder, [&](UserBuilder& b) {
    Region first, second;
    Op* operation = nullptr;
    nbc::NodeId id = 0;
    MPC_MPI_TRY(region(in, count, type, &first));
    MPC_MPI_TRY(region(inout, count, type, &second));
    MPC_MPI_TRY(lookup(op, &operation));
    MPC_MPI_TRY(b.reduce(first, second, *operation, type, &id));
    give(id, node);
    return kSuccess;
  });
}

int MPCX_Copy(MPCX_Builder builder, const void* from, MPI_Count from_count,
              MPI_Datatype from_type, void* to, MPI_Count to_count,
              MPI_Datatype to_type, MPCX_Node* node) {
  return with_builder("MPCX_Copy", builder, [&](UserBuilder& b) {
    Region source, target;
    nbc::NodeId id = 0;
    MPC_MPI_TRY(region(from, from_count, from_type, &source));
    MPC_MPI_TRY(region(to, to_count, to_type, &target));
    MPC_MPI_TRY(b.copy(source, target, &id));
    give(id, node);
    return kSuccess;
  });
}

int MPCX_Nop(MPCX_Builder builder, MPCX_Node* node) {
  return with_builder("MPCX_Nop", builder, [&](UserBuilder& b) {
    give(b.nop(), node);
    return kSuccess;
  });
}

int MPCX_Connect(MPCX_Builder builder, MPCX_Node before, MPCX_Node after) {
  return with_builder("MPCX_Connect", builder,
                      [&](UserBuilder& b) { return b.connect(before, after); });
}

int MPCX_Commit(MPCX_Builder* builder, MPCX_Schedule* schedule) {
  return with_builder(
      "MPCX_Commit", builder == nullptr ? nullptr : *builder, [&](UserBuilder& b) {
        MPC_MPI_TRY(check::not_null(schedule, "schedule"));
        UserSchedule* made = nullptr;
        MPC_MPI_TRY(b.commit(&made));
        *schedule = reinterpret_cast<MPCX_Schedule>(static_cast<Object*>(made));
        delete &b;
        *builder = MPCX_BUILDER_NULL;  // NOLINT(clang-analyzer-core.NullDereference)
        return kSuccess;
      });
}

int MPCX_Schedule_start(MPCX_Schedule schedule, MPI_Request* request) {
  return with_schedule("MPCX_Schedule_start", schedule, [&](UserSchedule& s) {
    MPC_MPI_TRY(check::not_null(request, "request"));
    Request* made = nullptr;
    MPC_MPI_TRY(s.make_request(false, &made));
    MPC_MPI_TRY(start_request(*rank_state(), *made));
    store(made, request);
    return kSuccess;
  });
}

int MPCX_Schedule_init(MPCX_Schedule schedule, MPI_Info info, MPI_Request* request) {
  return with_schedule("MPCX_Schedule_init", schedule, [&](UserSchedule& s) {
    MPC_MPI_TRY(check::not_null(request, "request"));
    Info* hints = nullptr;
    MPC_MPI_TRY(lookup(info, &hints));
    Request* made = nullptr;
    MPC_MPI_TRY(s.make_request(true, &made));
    store(made, request);
    return kSuccess;
  });
}

int MPCX_Schedule_free(MPCX_Schedule* schedule) {
  return with_schedule(
      "MPCX_Schedule_free", schedule == nullptr ? nullptr : *schedule,
      [&](UserSchedule& s) {
        s.mark_freed();
        s.drop();
        *schedule = MPCX_SCHEDULE_NULL;  // NOLINT(clang-analyzer-core.NullDereference)
        return kSuccess;
      });
}

int MPCX_Schedule_verify(MPCX_Schedule schedule) {
  return with_schedule("MPCX_Schedule_verify", schedule,
                       [](UserSchedule& s) { return s.verify(); });
}

int MPCX_Schedule_dump(MPCX_Schedule schedule, int form, char* text, MPI_Count size,
                       MPI_Count* length) {
  return with_schedule("MPCX_Schedule_dump", schedule, [&](UserSchedule& s) {
    if (form != MPCX_FORM_TEXT && form != MPCX_FORM_DOT)
      return fail(MPI_ERR_ARG, "MPCX_Schedule_dump: an unknown form");
    MPC_MPI_TRY(check::count(size, "size"));
    if (size > 0) MPC_MPI_TRY(check::not_null(text, "text"));
    const std::string all = form == MPCX_FORM_TEXT ? s.dump() : s.graphviz();
    if (length != nullptr) *length = static_cast<MPI_Count>(all.size());
    if (size > 0) {
      const size_t n = std::min(all.size(), static_cast<size_t>(size) - 1);
      std::memcpy(text, all.data(), n);
      text[n] = 0;
    }
    return kSuccess;
  });
}

}  // extern "C"
#pragma GCC visibility pop

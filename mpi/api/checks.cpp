#include "mpi/api/checks.h"

#include <fmt/format.h>

#include "base/settings.h"
#include "mpi/objects/group.h"
#include "mpi/objects/info.h"
#include "mpi/objects/request.h"
#include "mpi/objects/topology.h"

namespace mpc::mpi {
namespace {

BoolSetting allows_aliasing(
    "mpi.aliased_buffers", false,
    "Collectives whose send buffer is their receive buffer, which MPI forbids, pass "
    "(results are "
    "what the algorithm makes of it) instead of failing with MPI_ERR_BUFFER");

}  // namespace

namespace check {

Err bad_null(const char* name) {
  return fail(MPI_ERR_ARG, fmt::format("argument {} is a null pointer", name));
}
Err bad_count(Count value, const char* name) {
  return fail(MPI_ERR_COUNT,
              fmt::format("argument {} is {}; it may not be negative", name, value));
}
Err bad_count_at(Count value, Count index, const char* name) {
  return fail(
      MPI_ERR_COUNT,
      fmt::format("argument {}[{}] is {}; it may not be negative", name, index, value));
}
Err bad_rank(int value, const Comm& comm, const char* what) {
  return fail(MPI_ERR_RANK, fmt::format("{} {} is not in 0..{}", what, value,
                                        comm.remote_size() - 1));
}
Err bad_root(int value, const Comm& comm) {
  return fail(MPI_ERR_ROOT,
              fmt::format("root {} is not in 0..{}", value, comm.remote_size() - 1));
}
Err bad_tag(int value) {
  return fail(MPI_ERR_TAG, fmt::format("tag {} is negative", value));
}
Err bad_buffer(const void* address, Count count) {
  return fail(
      MPI_ERR_BUFFER,
      fmt::format("the buffer of {} elements is {}", count,
                  address == nullptr ? "a null pointer"
                                     : "MPI_IN_PLACE, which is not for this argument"));
}
Err in_place_between_groups() {
  return fail(MPI_ERR_BUFFER, "MPI_IN_PLACE is not for intercommunicators");
}
Err aliased(const void* address) {
  if (allows_aliasing.get()) return kSuccess;
  return fail(
      MPI_ERR_BUFFER,
      fmt::format(
          "the send and the receive buffer are the same ({}); give MPI_IN_PLACE, "
          "or set mpi.aliased_buffers=1 to let it pass",
          address));
}
Err near_buffers(const void* send, const void* recv, Count n,
                 const dt::Datatype& type) {
  if (n == 0) return kSuccess;
  if (Err error = buffer(send, n, type)) return error;
  if (send == nullptr || send == MPI_IN_PLACE) return kSuccess;
  if (send == recv) return aliased(send);
  if (!type.is_contiguous() || allows_aliasing.get()) return kSuccess;
  return fail(MPI_ERR_BUFFER,
              fmt::format("the send buffer ({}) and the receive buffer ({}) of {} "
                          "bytes each overlap; set mpi.aliased_buffers=1 to let it "
                          "pass",
                          send, recv, n * type.size()));
}
Err type_of_nothing(Err error, MPI_Datatype handle, const dt::Datatype** out) {
  if (handle != MPI_DATATYPE_NULL) return error;
  *out = dt::predefined(dt::abi::kByte);
  return kSuccess;
}
Err not_committed() {
  return fail(MPI_ERR_TYPE, "the datatype is not committed (MPI_Type_commit)");
}
Err bad_type_at(Err error, Count index) {
  return fail(error.code, fmt::format("datatype {}: {}", index, last_error_message()));
}

// A communicator of the wrong kind is there all the same: its error handler gets the error.
Err intracomm(MPI_Comm handle, Comm** out) {
  if (Err error = lookup(handle, out)) return error;
  return !(*out)->is_inter()
             ? kSuccess
             : fail(MPI_ERR_COMM,
                    "an intercommunicator was given where the call needs an "
                    "intracommunicator");
}

Err intercomm(MPI_Comm handle, Comm** out) {
  if (Err error = lookup(handle, out)) return error;
  return (*out)->is_inter()
             ? kSuccess
             : fail(MPI_ERR_COMM,
                    "an intracommunicator was given where the call needs an "
                    "intercommunicator");
}

Err info_object(MPI_Info handle, Info** out) {
  if (Err error = lookup(handle, out)) return error;
  return *out != nullptr ? kSuccess : fail(MPI_ERR_INFO, "the info is MPI_INFO_NULL");
}

Err handle_inout(MPI_Info* handle, const char* name, HandleRef<Info, MPI_Info>* out) {
  if (handle == nullptr) return bad_null(name);
  return info_object(*handle, &out->object);
}

Err types(const MPI_Datatype* types, Count n) {
  if (Err error = array(types, n, "array of datatypes")) return error;
  for (Count i = 0; i < n; ++i) {
    const dt::Datatype* type = nullptr;
    if (Err error = lookup(types[i], &type)) return bad_type_at(error, i);
  }
  return kSuccess;
}

Err committed_types(const MPI_Datatype* types, Count n) {
  if (Err error = array(types, n, "array of datatypes")) return error;
  for (Count i = 0; i < n; ++i) {
    const dt::Datatype* type = nullptr;
    if (Err error = committed(types[i], &type)) return bad_type_at(error, i);
  }
  return kSuccess;
}

bool leads(const Group& group, int leader) noexcept {
  return leader >= 0 && leader < group.size() &&
         group.table()->world_rank(leader) == this_world_rank();
}

namespace {

// Incoming or outgoing neighbours of the rank; MPI-4.1 section 8.6.
Count degree(const Comm& comm, bool incoming) noexcept {
  const Topology* topology = comm.topology.get();
  if (topology == nullptr) return 0;
  switch (topology->kind) {
    case MPI_CART:
      return 2 * static_cast<Count>(topology->dims.size());
    case MPI_GRAPH: {
      const auto rank = static_cast<size_t>(comm.rank());
      return topology->index[rank] - (rank == 0 ? 0 : topology->index[rank - 1]);
    }
    case MPI_DIST_GRAPH:
      return static_cast<Count>(incoming ? topology->sources.size()
                                         : topology->destinations.size());
    default:
      return 0;
  }
}

}  // namespace

Count indegree(const Comm& comm) noexcept { return degree(comm, true); }
Count outdegree(const Comm& comm) noexcept { return degree(comm, false); }

Count cartesian_dims(const Comm& comm) noexcept {
  const Topology* topology = comm.topology.get();
  if (topology == nullptr || topology->kind != MPI_CART) return 0;
  return static_cast<Count>(topology->dims.size());
}

Count total(const int* values, Count n) noexcept {
  Count sum = 0;
  for (Count i = 0; i < n; ++i) sum += values[i];
  return sum;
}

}  // namespace check
}  // namespace mpc::mpi

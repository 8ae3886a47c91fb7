// Bodies of MPI-4.1 chapter 4: partitioned communication.

#include <fmt/format.h>

#include <utility>

#include "mpi/impl/partitioned.h"
#include "mpi/objects/blame.h"
#include "mpi/p2p/partitioned.h"
#include "mpi/p2p/request_array.h"

namespace mpc::mpi::impl {
namespace {

using dt::Count;

template <class Half>
Err make(const char* call, const void* buf, int partitions, Count count,
         const dt::Datatype& type, int peer, int tag, Comm& comm, Request** out) {
  Count bytes = 0;
  if (__builtin_mul_overflow(count, type.size(), &bytes) ||
      __builtin_mul_overflow(bytes, partitions, &bytes))
    return fail(MPI_ERR_COUNT,
                fmt::format("{} partitions of {} elements are more bytes "
                            "than there can be",
                            partitions, count));
  Request* request = Request::make(this_rank(), RequestKind::kPartitioned, &comm, call);
  request->type = dt::TypeRef(&type);
  request->peer = peer;
  request->is_persistent = true;
  request->several = std::make_unique<Half>(
      comm,
      PartitionedBuffer{const_cast<void*>(buf), partitions, count, &type, peer, tag});
  *out = request;
  return kSuccess;
}

// The half behind a request; null: `error` says why there is none, and belongs to its communicator.
Partitioned* half_of(Request& request, Err& error) {
  if (request.kind() == RequestKind::kPartitioned)
    return static_cast<Partitioned*>(request.several.get());
  error =
      blame(fail(MPI_ERR_REQUEST,
                 fmt::format("the request of {} is not partitioned", request.call())),
            request.comm());
  return nullptr;
}

Partitioned* active_half_of(Request& request, Err& error) {
  Partitioned* const half = half_of(request, error);
  if (half == nullptr || request.is_active) return half;
  error = blame(fail(MPI_ERR_REQUEST,
                     "the request is inactive: MPI_Start comes before MPI_Pready"),
                request.comm());
  return nullptr;
}

// The request may be freed when its last partition is ready; the communicator is kept.
Err ready(Request& request, Partitioned& half, int low, int high) {
  Comm* const comm = request.comm();
  const Err error = half.ready(low, high);
  return error ? blame(error, comm) : error;
}

}  // namespace

Err psend_init(const void* buf, int partitions, Count count, const dt::Datatype& type,
               int dest, int tag, Comm& comm, Info*, Request** request) {
  return make<PartitionedSend>("MPI_Psend_init", buf, partitions, count, type, dest,
                               tag, comm, request);
}

Err precv_init(void* buf, int partitions, Count count, const dt::Datatype& type,
               int source, int tag, Comm& comm, Info*, Request** request) {
  return make<PartitionedReceive>("MPI_Precv_init", buf, partitions, count, type,
                                  source, tag, comm, request);
}

Err pready(int partition, Request& request) {
  Err error;
  Partitioned* const half = active_half_of(request, error);
  if (half == nullptr) return error;
  return ready(request, *half, partition, partition);
}

Err pready_range(int low, int high, Request& request) {
  Err error;
  Partitioned* const half = active_half_of(request, error);
  if (half == nullptr) return error;
  if (low > high)
    return blame(
        fail(MPI_ERR_ARG,
             fmt::format("the range of partitions {}..{} is empty", low, high)),
        request.comm());
  return ready(request, *half, low, high);
}

Err pready_list(int, std::span<const int> partitions, Request& request) {
  Err error;
  Partitioned* const half = active_half_of(request, error);
  if (half == nullptr) return error;
  // All are checked before the first one is sent: the request may be freed after the last.
  for (const int partition : partitions) {
    if (!half->has_partition(partition))
      return ready(request, *half, partition, partition);
  }
  for (const int partition : partitions)
    MPC_MPI_TRY(ready(request, *half, partition, partition));
  return kSuccess;
}

Err parrived(Request& request, int partition, int* flag) {
  Err error;
  Partitioned* const half = half_of(request, error);
  if (half == nullptr) return error;
  bool has_arrived = false;
  const auto look = [&] {
    error = half->arrived(partition, &has_arrived);
    return error || has_arrived;
  };
  // An inactive request has ended, or has nothing to wait for.
  if (request.is_active) {
    test_for(look);
  } else {
    look();
    has_arrived = true;
  }
  if (error) return blame(error, request.comm());
  *flag = has_arrived;
  return kSuccess;
}

}  // namespace mpc::mpi::impl

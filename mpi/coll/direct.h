#pragma once
// Direct collectives of MPI: blocking calls without messages, for members that share memory.
//
// Role:      translates MPI's arguments for nbc/direct. An empty result: the call uses its
//            schedule. The choice depends only on facts that are the same for all members.
// Users:     mpi/coll: the generated blocking forms.
// Threads:   any execution of the rank.
// See also:  docs/collectives.md, docs/design/0007-direct-collectives.md.

#include <optional>

#include "mpi/objects/comm.h"
#include "mpi/objects/error.h"
#include "mpi/objects/op.h"
#include "mpi/objects/request.h"
#include "mpi/objects/views.h"
#include "runtime/datatype/datatype.h"

namespace mpc::mpi {

std::optional<Err> direct_barrier(Comm& comm);
std::optional<Err> direct_allreduce(const void* sendbuf, void* recvbuf, dt::Count count,
                                    TypeArg type, Op& op, Comm& comm);
std::optional<Err> direct_reduce_scatter_block(const void* sendbuf, void* recvbuf,
                                               dt::Count count, TypeArg type, Op& op,
                                               Comm& comm);
std::optional<Err> direct_reduce_scatter(const void* sendbuf, void* recvbuf,
                                         CountView recvcounts, TypeArg type, Op& op,
                                         Comm& comm);
std::optional<Err> direct_allgather(const void* sendbuf, dt::Count sendcount,
                                    const dt::Datatype* sendtype, void* recvbuf,
                                    dt::Count recvcount, const dt::Datatype& recvtype,
                                    Comm& comm);
std::optional<Err> direct_allgatherv(const void* sendbuf, dt::Count sendcount,
                                     const dt::Datatype* sendtype, void* recvbuf,
                                     CountView recvcounts, CountView displs,
                                     const dt::Datatype& recvtype, Comm& comm);
std::optional<Err> direct_alltoall(const void* sendbuf, dt::Count sendcount,
                                   const dt::Datatype* sendtype, void* recvbuf,
                                   dt::Count recvcount, const dt::Datatype& recvtype,
                                   Comm& comm);
std::optional<Err> direct_alltoallv(const void* sendbuf, CountView sendcounts,
                                    CountView sdispls, const dt::Datatype* sendtype,
                                    void* recvbuf, CountView recvcounts,
                                    CountView rdispls, const dt::Datatype& recvtype,
                                    Comm& comm);

// Members do not wait for each other in the call: mpi/coll/direct_later.cpp.
std::optional<Err> direct_ibarrier(Comm& comm, Request** request);
std::optional<Err> direct_ibcast(void* buffer, dt::Count count,
                                 const dt::Datatype* type, int root, Comm& comm,
                                 Request** request);
std::optional<Err> direct_igather(const void* sendbuf, dt::Count sendcount,
                                  const dt::Datatype* sendtype, void* recvbuf,
                                  dt::Count recvcount, const dt::Datatype* recvtype,
                                  int root, Comm& comm, Request** request);
std::optional<Err> direct_iscatter(const void* sendbuf, dt::Count sendcount,
                                   const dt::Datatype* sendtype, void* recvbuf,
                                   dt::Count recvcount, const dt::Datatype* recvtype,
                                   int root, Comm& comm, Request** request);
std::optional<Err> direct_iallgather(const void* sendbuf, dt::Count sendcount,
                                     const dt::Datatype* sendtype, void* recvbuf,
                                     dt::Count recvcount, const dt::Datatype& recvtype,
                                     Comm& comm, Request** request);
std::optional<Err> direct_ialltoall(const void* sendbuf, dt::Count sendcount,
                                    const dt::Datatype* sendtype, void* recvbuf,
                                    dt::Count recvcount, const dt::Datatype& recvtype,
                                    Comm& comm, Request** request);
std::optional<Err> direct_ireduce(const void* sendbuf, void* recvbuf, dt::Count count,
                                  TypeArg type, Op* op, int root, Comm& comm,
                                  Request** request);
std::optional<Err> direct_iallreduce(const void* sendbuf, void* recvbuf,
                                     dt::Count count, TypeArg type, Op& op, Comm& comm,
                                     Request** request);
std::optional<Err> direct_iscan(const void* sendbuf, void* recvbuf, dt::Count count,
                                TypeArg type, Op& op, Comm& comm, Request** request);
std::optional<Err> direct_iexscan(const void* sendbuf, void* recvbuf, dt::Count count,
                                  TypeArg type, Op& op, Comm& comm, Request** request);

// Collectives in which not all members need to meet: mpi/coll/direct_one_way.cpp.
std::optional<Err> direct_bcast(void* buffer, dt::Count count, const dt::Datatype* type,
                                int root, Comm& comm);
std::optional<Err> direct_gather(const void* sendbuf, dt::Count sendcount,
                                 const dt::Datatype* sendtype, void* recvbuf,
                                 dt::Count recvcount, const dt::Datatype* recvtype,
                                 int root, Comm& comm);
std::optional<Err> direct_scatter(const void* sendbuf, dt::Count sendcount,
                                  const dt::Datatype* sendtype, void* recvbuf,
                                  dt::Count recvcount, const dt::Datatype* recvtype,
                                  int root, Comm& comm);
std::optional<Err> direct_reduce(const void* sendbuf, void* recvbuf, dt::Count count,
                                 TypeArg type, Op* op, int root, Comm& comm);
std::optional<Err> direct_scan(const void* sendbuf, void* recvbuf, dt::Count count,
                               TypeArg type, Op& op, Comm& comm);
std::optional<Err> direct_exscan(const void* sendbuf, void* recvbuf, dt::Count count,
                                 TypeArg type, Op& op, Comm& comm);
std::optional<Err> direct_neighbor_allgather(const void* sendbuf, dt::Count sendcount,
                                             const dt::Datatype& sendtype,
                                             void* recvbuf, dt::Count recvcount,
                                             const dt::Datatype& recvtype, Comm& comm);
std::optional<Err> direct_neighbor_alltoall(const void* sendbuf, dt::Count sendcount,
                                            const dt::Datatype& sendtype, void* recvbuf,
                                            dt::Count recvcount,
                                            const dt::Datatype& recvtype, Comm& comm);

}  // namespace mpc::mpi

/* The call of a collective of storm.c: MPI_Ix, or MPI_X_init for a persistent one. */
#ifndef STORM_CALL_H
#define STORM_CALL_H

#include "storm_collective.h"

#define CALL(NOW, INIT, ...)                                        \
  do {                                                              \
    if (o->is_persistent)                                           \
      MPI_##INIT##_init(__VA_ARGS__, comm, MPI_INFO_NULL, request); \
    else                                                            \
      MPI_##NOW(__VA_ARGS__, comm, request);                        \
  } while (0)
#define SENT in, s->count, s->type
#define RECEIVED out, r->count, r->type
#define SENT_V in, s->called, s->displs, s->type
#define RECEIVED_V out, r->called, r->displs, r->type
#define SENT_W in, s->called, s->byte_displs, s->types
#define RECEIVED_W out, r->called, r->byte_displs, r->types

/* Long: one line or two for each collective. */
static void call(const collective* o, MPI_Request* request) {
  const MPI_Comm comm = o->where->comm;
  const side *s = &o->send, *r = &o->receive;
  const int kind = kTraits[o->kind].root, root = o->root;
  void* in = o->is_in_place && (kind == kNoRoot || (kind == kToRoot && is_root(o)))
                 ? MPI_IN_PLACE
                 : s->data;
  void* out =
      o->is_in_place && kind == kFromRoot && is_root(o) ? MPI_IN_PLACE : r->data;
  switch (o->kind) {
    case kBarrier:
      if (o->is_persistent)
        MPI_Barrier_init(comm, MPI_INFO_NULL, request);
      else
        MPI_Ibarrier(comm, request);
      break;
    case kBcast:
      CALL(Ibcast, Bcast, RECEIVED, root);
      break;
    case kGather:
      CALL(Igather, Gather, SENT, RECEIVED, root);
      break;
    case kGatherv:
      CALL(Igatherv, Gatherv, SENT, RECEIVED_V, root);
      break;
    case kScatter:
      CALL(Iscatter, Scatter, SENT, RECEIVED, root);
      break;
    case kScatterv:
      CALL(Iscatterv, Scatterv, SENT_V, RECEIVED, root);
      break;
    case kAllgather:
      CALL(Iallgather, Allgather, SENT, RECEIVED);
      break;
    case kAllgatherv:
      CALL(Iallgatherv, Allgatherv, SENT, RECEIVED_V);
      break;
    case kAlltoall:
      CALL(Ialltoall, Alltoall, SENT, RECEIVED);
      break;
    case kAlltoallv:
      CALL(Ialltoallv, Alltoallv, SENT_V, RECEIVED_V);
      break;
    case kAlltoallw:
      CALL(Ialltoallw, Alltoallw, SENT_W, RECEIVED_W);
      break;
    case kReduce:
      CALL(Ireduce, Reduce, in, RECEIVED, o->op, root);
      break;
    case kAllreduce:
      CALL(Iallreduce, Allreduce, in, RECEIVED, o->op);
      break;
    case kReduceScatterBlock:
      CALL(Ireduce_scatter_block, Reduce_scatter_block, in, RECEIVED, o->op);
      break;
    case kReduceScatter:
      CALL(Ireduce_scatter, Reduce_scatter, in, out, s->called, s->type, o->op);
      break;
    case kScan:
      CALL(Iscan, Scan, in, RECEIVED, o->op);
      break;
    case kExscan:
      CALL(Iexscan, Exscan, in, RECEIVED, o->op);
      break;
    case kNeighborAllgather:
      CALL(Ineighbor_allgather, Neighbor_allgather, SENT, RECEIVED);
      break;
    case kNeighborAllgatherv:
      CALL(Ineighbor_allgatherv, Neighbor_allgatherv, SENT, RECEIVED_V);
      break;
    case kNeighborAlltoall:
      CALL(Ineighbor_alltoall, Neighbor_alltoall, SENT, RECEIVED);
      break;
    case kNeighborAlltoallv:
      CALL(Ineighbor_alltoallv, Neighbor_alltoallv, SENT_V, RECEIVED_V);
      break;
    default:
      CALL(Ineighbor_alltoallw, Neighbor_alltoallw, in, s->called, s->wide_displs,
           s->types, out, r->called, r->wide_displs, r->types);
      break;
  }
}

static void become(side* s, MPI_Datatype type) {
  s->type = type;
  for (int i = 0; i < s->blocks; ++i) s->types[i] = type;
}

/* The call with types and an operation that are freed while the collective is in flight. */
static void call_with_own_handles(collective* o, MPI_Request* request) {
  MPI_Datatype types[2] = {o->send.type, o->receive.type};
  const int has_op = reduces(o->kind);
  for (int i = 0; i < 2; ++i) MPI_Type_dup(types[i], &types[i]);
  become(&o->send, types[0]);
  become(&o->receive, types[1]);
  if (has_op)
    MPI_Op_create(o->combine == composed ? compose : add, o->combine == added, &o->op);
  call(o, request);
  if (has_op) MPI_Op_free(&o->op);
  for (int i = 0; i < 2; ++i) MPI_Type_free(&types[i]);
}

static void initiate(collective* o, MPI_Request* request, unsigned* own) {
  if (draw(own, 3) == 0 && o->op != MPI_SUM)
    call_with_own_handles(o, request);
  else
    call(o, request);
}

#endif

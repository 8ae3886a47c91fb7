/* The call of a random collective. Part of collectives.c. */

#if MPI_VERSION >= 4
#define CALL(Name, name, ...)                                 \
  (c.form == 0   ? MPI_##Name(__VA_ARGS__, c.comm)            \
   : c.form == 1 ? MPI_I##name(__VA_ARGS__, c.comm, &request) \
                 : MPI_##Name##_init(__VA_ARGS__, c.comm, MPI_INFO_NULL, &request))
#else
#define CALL(Name, name, ...)                    \
  (c.form == 0 ? MPI_##Name(__VA_ARGS__, c.comm) \
               : MPI_I##name(__VA_ARGS__, c.comm, &request))
#endif

/* The root as this member has to name it. */
static int root_argument(void) {
  if (!c.is_inter) return c.root;
  if (rank == c.root) return MPI_ROOT;
  return is_other(rank, c.root) ? number_of(c.root) : MPI_PROC_NULL;
}

static MPI_Request make_rooted(const void* out, void* in) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int root = root_argument();
  side* const o = &c.out[rank];
  side* const i = &c.in[rank];
  const MPI_Datatype out_type = o->blocks != 0 ? o->types[0] : MPI_INT;
  const MPI_Datatype in_type = i->blocks != 0 ? i->types[0] : MPI_INT;
  switch (c.op) {
    case kBcast:
      if (o->blocks != 0)
        CALL(Bcast, bcast, (void*)out, o->count[0], out_type, root);
      else
        CALL(Bcast, bcast, in, i->count[0], in_type, root);
      break;
    case kGather:
      CALL(Gather, gather, out, o->count[0], out_type, in, i->count[0], in_type, root);
      break;
    case kGatherv:
      CALL(Gatherv, gatherv, out, o->count[0], out_type, in, i->count, i->first,
           in_type, root);
      break;
    case kScatter:
      CALL(Scatter, scatter, out, o->count[0], out_type, in, i->count[0], in_type,
           root);
      break;
    default:
      CALL(Scatterv, scatterv, out, o->count, o->first, out_type, in, i->count[0],
           in_type, root);
  }
  return request;
}

static MPI_Request make_for_all(const void* out, void* in) {
  MPI_Request request = MPI_REQUEST_NULL;
  side* const o = &c.out[rank];
  side* const i = &c.in[rank];
  switch (c.op) {
    case kAllgather:
      CALL(Allgather, allgather, out, o->count[0], o->types[0], in, i->count[0],
           i->types[0]);
      break;
    case kAllgatherv:
      CALL(Allgatherv, allgatherv, out, o->count[0], o->types[0], in, i->count,
           i->first, i->types[0]);
      break;
    case kAlltoall:
      CALL(Alltoall, alltoall, out, o->count[0], o->types[0], in, i->count[0],
           i->types[0]);
      break;
    case kAlltoallv:
      CALL(Alltoallv, alltoallv, out, o->count, o->first, o->types[0], in, i->count,
           i->first, i->types[0]);
      break;
    default:
      CALL(Alltoallw, alltoallw, out, o->count, o->bytes, o->types, in, i->count,
           i->bytes, i->types);
  }
  return request;
}

static MPI_Request make_for_neighbours(const void* out, void* in) {
  MPI_Request request = MPI_REQUEST_NULL;
  side* const o = &c.out[rank];
  side* const i = &c.in[rank];
  const MPI_Datatype out_type = o->blocks != 0 ? o->types[0] : MPI_INT;
  const MPI_Datatype in_type = i->blocks != 0 ? i->types[0] : MPI_INT;
  MPI_Aint out_bytes[kMostRanks], in_bytes[kMostRanks];
  for (int k = 0; k < kMostRanks; ++k) {
    out_bytes[k] = o->bytes[k];
    in_bytes[k] = i->bytes[k];
  }
  switch (c.op) {
    case kNeighborAllgather:
      CALL(Neighbor_allgather, neighbor_allgather, out, o->count[0], out_type, in,
           i->count[0], in_type);
      break;
    case kNeighborAllgatherv:
      CALL(Neighbor_allgatherv, neighbor_allgatherv, out, o->count[0], out_type, in,
           i->count, i->first, in_type);
      break;
    case kNeighborAlltoall:
      CALL(Neighbor_alltoall, neighbor_alltoall, out, o->count[0], out_type, in,
           i->count[0], in_type);
      break;
    case kNeighborAlltoallv:
      CALL(Neighbor_alltoallv, neighbor_alltoallv, out, o->count, o->first, out_type,
           in, i->count, i->first, in_type);
      break;
    default:
      CALL(Neighbor_alltoallw, neighbor_alltoallw, out, o->count, out_bytes, o->types,
           in, i->count, in_bytes, i->types);
      /* The arrays of displacements have to live until it is complete. */
      if (c.form != 0) {
#if MPI_VERSION >= 4
        if (c.form == 2) MPI_Start(&request);
#endif
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
      }
  }
  return request;
}

static void make_call(void) {
  side* const o = &c.out[rank];
  side* const i = &c.in[rank];
  const void* out = o->blocks != 0 ? base_of(&o->all) : NULL;
  void* in = i->blocks != 0 && i->all.memory != NULL ? base_of(&i->all) : NULL;
  if (c.is_in_place && (c.op >= kAllgather || (rank == c.root && c.op <= kGatherv)))
    out = MPI_IN_PLACE;
  if (c.is_in_place && rank == c.root && is_in(c.op, kScatter, kScatterv))
    in = MPI_IN_PLACE;
  MPI_Request request = c.op >= kNeighborAllgather ? make_for_neighbours(out, in)
                        : c.op >= kAllgather       ? make_for_all(out, in)
                                                   : make_rooted(out, in);
#if MPI_VERSION >= 4
  if (c.form == 2 && request != MPI_REQUEST_NULL) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!c.is_in_place) { /* again, with the same result */
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
  }
#endif
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

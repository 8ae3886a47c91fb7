/* Scenes in which all take part: collectives, of which several may be under way, and new communicators.
   Part of progress.c. */

enum { kMostCalls = 6, kCallWords = 600 };
enum call {
  kBarrier,
  kBcast,
  kAllreduce,
  kReduce,
  kAllgather,
  kAlltoall,
  kScan,
  kGather,
  kCalls
};

typedef struct {
  int call, form, root, n; /* form: blocking, non-blocking, persistent */
  unsigned *out, *in;
  MPI_Request request;
} collective;

static unsigned part_of(const scene* s, int index, int rank, long i) {
  return word_of(key_of(s, index, rank), i) & 0xffff;
}

#define CALL(Name, name, ...)                           \
  (c->form == 0 ? MPI_##Name(__VA_ARGS__, s->comm)      \
   : c->form == 1                                       \
       ? MPI_I##name(__VA_ARGS__, s->comm, &c->request) \
       : MPI_##Name##_init(__VA_ARGS__, s->comm, MPI_INFO_NULL, &c->request))

static void begin_call(scene* s, collective* c, int index) {
  const int wide = c->call == kAlltoall ? s->size : 1;
  c->out = room((size_t)(c->n * wide) * 4);
  c->in = room((size_t)(c->n * s->size) * 4);
  for (long i = 0; i < c->n * wide; ++i) c->out[i] = part_of(s, index, s->rank, i);
  switch (c->call) {
    case kBarrier:
      if (c->form == 0) MPI_Barrier(s->comm);
      if (c->form == 1) MPI_Ibarrier(s->comm, &c->request);
      if (c->form == 2) MPI_Barrier_init(s->comm, MPI_INFO_NULL, &c->request);
      break;
    case kBcast:
      CALL(Bcast, bcast, c->out, c->n, MPI_UNSIGNED, c->root);
      break;
    case kAllreduce:
      CALL(Allreduce, allreduce, c->out, c->in, c->n, MPI_UNSIGNED, MPI_SUM);
      break;
    case kReduce:
      CALL(Reduce, reduce, c->out, c->in, c->n, MPI_UNSIGNED, MPI_SUM, c->root);
      break;
    case kAllgather:
      CALL(Allgather, allgather, c->out, c->n, MPI_UNSIGNED, c->in, c->n, MPI_UNSIGNED);
      break;
    case kAlltoall:
      CALL(Alltoall, alltoall, c->out, c->n, MPI_UNSIGNED, c->in, c->n, MPI_UNSIGNED);
      break;
    case kScan:
      CALL(Scan, scan, c->out, c->in, c->n, MPI_UNSIGNED, MPI_SUM);
      break;
    default:
      CALL(Gather, gather, c->out, c->n, MPI_UNSIGNED, c->in, c->n, MPI_UNSIGNED,
           c->root);
  }
  if (c->form == 2) MPI_Start(&c->request);
}

static unsigned sum_of(const scene* s, int index, int ranks, long i) {
  unsigned sum = 0;
  for (int r = 0; r < ranks; ++r) sum += part_of(s, index, r, i);
  return sum;
}

static void check_call(const scene* s, const collective* c, int index) {
  for (long i = 0; i < c->n; ++i) {
    if (c->call == kBcast)
      expect(s, "a word of a broadcast", c->out[i], part_of(s, index, c->root, i));
    if (c->call == kAllreduce || (c->call == kReduce && c->root == s->rank))
      expect(s, "a sum", c->in[i], sum_of(s, index, s->size, i));
    if (c->call == kScan)
      expect(s, "a sum of some", c->in[i], sum_of(s, index, s->rank + 1, i));
    const int gathers =
        c->call == kAllgather || (c->call == kGather && c->root == s->rank);
    for (int r = 0; r < s->size; ++r) {
      if (gathers)
        expect(s, "a word gathered", c->in[r * c->n + i], part_of(s, index, r, i));
      if (c->call == kAlltoall)
        expect(s, "a word from each", c->in[r * c->n + i],
               part_of(s, index, r, s->rank * c->n + i));
    }
  }
}

static void collectives(scene* s) {
  collective all[kMostCalls];
  MPI_Request open[kMostCalls];
  MPI_Status statuses[kMostCalls];
  const int n = (int)draw(&s->common, 1, kMostCalls);
  for (int i = 0; i < n; ++i) {
    collective* const c = &all[i];
    *c = (collective){
        .call = (int)draw(&s->common, 0, kCalls - 1),
        .form = (int)draw(&s->common, 0, 2),
        .root = (int)draw(&s->common, 0, s->size - 1),
        .n = (int)draw(&s->common, 0, one_in(&s->common, 3) ? kCallWords : 8),
        .request = MPI_REQUEST_NULL};
    pause_a_little(&s->own);
    begin_call(s, c, i);
  }
  pause_a_little(&s->own);
  for (int i = 0; i < n; ++i)
    open[i] = all[i].form == 2 ? MPI_REQUEST_NULL : all[i].request;
  finish(n, open, statuses, &s->own);
  for (int i = 0; i < n; ++i) {
    if (all[i].form == 2) {
      finish(1, &all[i].request, statuses, &s->own);
      MPI_Request_free(&all[i].request);
    }
    check_call(s, &all[i], i);
    free(all[i].out);
    free(all[i].in);
  }
}

/* A message round a new communicator, which must not meet those of the old one. */
static void lap(scene* s, MPI_Comm comm, int value) {
  int rank, size, in = -1;
  MPI_Request stray;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &stray);
  const int out = value + rank;
  pause_a_little(&s->own);
  MPI_Send(&out, 1, MPI_INT, (rank + 1) % size, 0, comm);
  MPI_Wait(&stray, MPI_STATUS_IGNORE);
  expect(s, "what comes in a new communicator", in, value + (rank + size - 1) % size);
}

static void communicators(scene* s) {
  MPI_Comm one, two;
  MPI_Request request;
  MPI_Status status;
  const int color = (int)draw(&s->common, 1, 3), how = (int)draw(&s->common, 0, 3);
  pause_a_little(&s->own);
  if (how == 0) MPI_Comm_dup(s->comm, &one);
  if (how == 1) {
    MPI_Comm_idup(s->comm, &one, &request);
    pause_a_little(&s->own);
    finish(1, &request, &status, &s->own);
  }
  if (how >= 2) MPI_Comm_split(s->comm, s->rank % color, how == 2 ? 0 : -s->rank, &one);
  lap(s, one, 1000);
  MPI_Comm_split(one, s->rank % 2 != 0 ? MPI_UNDEFINED : 0, 0, &two);
  pause_a_little(&s->own);
  if (two != MPI_COMM_NULL) {
    lap(s, two, 2000);
    MPI_Comm_free(&two);
  }
  pause_a_little(&s->own);
  MPI_Comm_free(&one);
}

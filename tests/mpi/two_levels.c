/* Collectives in which each rank has something else for each other one, and scans, over processes: against what follows from
 * the arguments of all ranks. Blocking, non-blocking and persistent, in place and not, with gaps on one side, with operations
 * that do not commute, on communicators whose members lie anyhow. usage: two_levels [ROUNDS [SEED]] */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static unsigned state, seed;
static unsigned draw(unsigned below) { /* the same at all ranks */
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}
static unsigned mix(unsigned a, unsigned b) {
  unsigned x = a * 2654435761u ^ (b + 0x9e3779b9u + (a << 6));
  x ^= x >> 15;
  x *= 2246822519u;
  return x ^ x >> 13;
}

/* x -> a x + b, as pairs (a, b): associative, does not commute. */
static void compose(void* in, void* inout, int* pairs, MPI_Datatype* type) {
  unsigned *left = in, *right = inout;
  (void)type;
  for (int i = 0; i < 2 * *pairs; i += 2) {
    unsigned a = left[i], b = left[i + 1], c = right[i], d = right[i + 1];
    right[i] = a * c;
    right[i + 1] = c * b + d;
  }
}

enum Form { kBlocking, kNonblocking, kPersistent };

typedef struct {
  MPI_Comm comm;
  MPI_Datatype pair, every_second; /* the latter: one number, and a gap as long as it */
  MPI_Op compose;
  int rank, size, root, is_in_place, is_strided, commutes;
  enum Form form;
  unsigned round, limit; /* of counts */
} Call;

/* Numbers that rank `from` has for rank `to`: the same count for all where the call has no counts. */
static int count_of(const Call* c, int from, int to) {
  const unsigned x = mix(mix(c->round, (unsigned)from), (unsigned)to);
  return x % 4 == 0 ? 0 : (int)(x / 4 % (c->limit + 1));
}
static int same_count(const Call* c) {
  return (int)(mix(c->round, 77u) % (c->limit + 1));
}
static unsigned value(const Call* c, int from, int to, int i) {
  return mix(mix(c->round + 1000u * (unsigned)from, (unsigned)to), (unsigned)i) | 1u;
}

static void end(const Call* c, MPI_Request* request) {
  if (c->form == kPersistent) {
    for (int times = 0; times < (c->is_in_place ? 1 : 2); ++times) {
      CHECK(MPI_Start(request) == 0);
      CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == 0);
    }
    MPI_Request_free(request);
  } else if (c->form == kNonblocking) {
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == 0);
  }
}

/* NAME(...) in the form of the call. */
#define RUN(c, NAME, ...)                                                             \
  do {                                                                                \
    MPI_Request request = MPI_REQUEST_NULL;                                           \
    if ((c)->form == kBlocking)                                                       \
      CHECK(MPI_##NAME(__VA_ARGS__, (c)->comm) == 0);                                 \
    else if ((c)->form == kNonblocking)                                               \
      CHECK(MPI_I##NAME##_(__VA_ARGS__, (c)->comm, &request) == 0);                   \
    else                                                                              \
      CHECK(MPI_##NAME##_init(__VA_ARGS__, (c)->comm, MPI_INFO_NULL, &request) == 0); \
    end(c, &request);                                                                 \
  } while (0)
#define MPI_IAlltoall_ MPI_Ialltoall
#define MPI_IAlltoallv_ MPI_Ialltoallv
#define MPI_IAlltoallw_ MPI_Ialltoallw
#define MPI_IAllgatherv_ MPI_Iallgatherv
#define MPI_IGatherv_ MPI_Igatherv
#define MPI_IScatterv_ MPI_Iscatterv
#define MPI_IReduce_scatter_block_ MPI_Ireduce_scatter_block
#define MPI_IReduce_scatter_ MPI_Ireduce_scatter
#define MPI_IScan_ MPI_Iscan
#define MPI_IExscan_ MPI_Iexscan

/* A side with a block for each rank: in some order, with holes, its numbers `step` apart. */
typedef struct {
  unsigned* data;
  int *counts, *displs, step, total;
  MPI_Datatype type;
} Side;

static Side make_side(const Call* c, int is_send, int is_even) {
  Side side = {.step = c->is_strided && (c->rank + is_send) % 2 ? 2 : 1};
  const size_t n = (size_t)c->size;
  side.type = side.step == 2 ? c->every_second : MPI_UNSIGNED;
  side.counts = malloc(2 * n * sizeof(int));
  side.displs = side.counts + n;
  for (int i = 0; i < c->size; ++i) {
    /* Even ones stand in order, others backwards and with a hole behind each. */
    const int at = is_even ? i : c->size - 1 - i;
    side.counts[at] = is_even   ? same_count(c)
                      : is_send ? count_of(c, c->rank, at)
                                : count_of(c, at, c->rank);
    side.displs[at] = side.total;
    side.total += side.counts[at] + !is_even;
  }
  side.data = calloc((size_t)side.total * 2 + 2, sizeof(unsigned));
  return side;
}
static void free_side(Side* side) {
  free(side->counts);
  free(side->data);
}
static unsigned* number(const Side* side, int block, int i) {
  return side->data + (size_t)(side->displs[block] + i) * (size_t)side->step;
}
static void fill(const Call* c, const Side* side) {
  for (int to = 0; to < c->size; ++to)
    for (int i = 0; i < side->counts[to]; ++i)
      *number(side, to, i) = value(c, c->rank, to, i);
}

/* As many from one rank as to it: what in place demands. */
static void make_symmetric(const Call* c, Side* side) {
  side->total = 0;
  for (int i = 0; i < c->size; ++i) {
    const int low = i < c->rank ? i : c->rank, high = i < c->rank ? c->rank : i;
    side->counts[i] = count_of(c, low, high);
    side->displs[i] = side->total;
    side->total += side->counts[i] + 1;
  }
  free(side->data);
  side->data = calloc((size_t)side->total * 2 + 2, sizeof(unsigned));
}

static void alltoall(Call* c, int is_w, int is_even) {
  Side out = make_side(c, 1, is_even), in = make_side(c, 0, is_even);
  if (c->is_in_place && !is_even) make_symmetric(c, &in);
  fill(c, c->is_in_place ? &in : &out);
  const void* from = c->is_in_place ? MPI_IN_PLACE : (const void*)out.data;
  if (is_even) {
    RUN(c, Alltoall, from, same_count(c), out.type, in.data, same_count(c), in.type);
  } else if (!is_w) {
    RUN(c, Alltoallv, from, out.counts, out.displs, out.type, in.data, in.counts,
        in.displs, in.type);
  } else {
    const size_t n = (size_t)c->size;
    MPI_Datatype* types = malloc(2 * n * sizeof *types);
    int* bytes = malloc(2 * n * sizeof *bytes);
    for (size_t i = 0; i < n; ++i) {
      types[i] = out.type;
      types[n + i] = in.type;
      bytes[i] = out.displs[i] * out.step * (int)sizeof(unsigned);
      bytes[n + i] = in.displs[i] * in.step * (int)sizeof(unsigned);
    }
    RUN(c, Alltoallw, from, out.counts, bytes, types, in.data, in.counts, bytes + n,
        types + n);
    free(types);
    free(bytes);
  }
  int wrong = 0;
  for (int r = 0; r < c->size; ++r)
    for (int i = 0; i < in.counts[r]; ++i)
      wrong += *number(&in, r, i) != value(c, r, c->rank, i);
  CHECK(wrong == 0);
  free_side(&out);
  free_side(&in);
}

/* Each rank has count_of(rank, size) numbers, the root or all have them of all. */
static int length(const Call* c, int rank) { return count_of(c, rank, c->size); }
static Side all_blocks(const Call* c) {
  Side side = {.step = c->is_strided ? 2 : 1};
  side.type = side.step == 2 ? c->every_second : MPI_UNSIGNED;
  side.counts = malloc(2 * (size_t)c->size * sizeof(int));
  side.displs = side.counts + c->size;
  for (int i = c->size; i-- > 0;) {
    side.counts[i] = length(c, i);
    side.displs[i] = side.total;
    side.total += side.counts[i] + 1;
  }
  side.data = calloc((size_t)side.total * 2 + 2, sizeof(unsigned));
  return side;
}
static int wrong_blocks(const Call* c, const Side* side) {
  int wrong = 0;
  for (int r = 0; r < c->size; ++r)
    for (int i = 0; i < side->counts[r]; ++i)
      wrong += *number(side, r, i) != value(c, r, 0, i);
  return wrong;
}

static void collect(Call* c, int to_all) {
  Side all = all_blocks(c);
  const int mine = length(c, c->rank);
  unsigned* one = malloc(((size_t)mine + 1) * sizeof *one);
  const int in_place = c->is_in_place && (to_all || c->rank == c->root);
  for (int i = 0; i < mine; ++i)
    *(in_place ? number(&all, c->rank, i) : one + i) = value(c, c->rank, 0, i);
  const void* from = in_place ? MPI_IN_PLACE : (const void*)one;
  if (to_all)
    RUN(c, Allgatherv, from, mine, MPI_UNSIGNED, all.data, all.counts, all.displs,
        all.type);
  else
    RUN(c, Gatherv, from, mine, MPI_UNSIGNED, all.data, all.counts, all.displs,
        all.type, c->root);
  CHECK((!to_all && c->rank != c->root) || wrong_blocks(c, &all) == 0);
  free_side(&all);
  free(one);
}

static void hand_out(Call* c) {
  Side all = all_blocks(c);
  const int mine = length(c, c->rank);
  unsigned* one = calloc((size_t)mine + 1, sizeof *one);
  for (int r = 0; c->rank == c->root && r < c->size; ++r)
    for (int i = 0; i < all.counts[r]; ++i) *number(&all, r, i) = value(c, r, 0, i);
  const int in_place = c->is_in_place && c->rank == c->root;
  RUN(c, Scatterv, all.data, all.counts, all.displs, all.type,
      in_place ? MPI_IN_PLACE : (void*)one, mine, MPI_UNSIGNED, c->root);
  int wrong = 0;
  for (int i = 0; !in_place && i < mine; ++i)
    wrong += one[i] != value(c, c->rank, 0, i);
  CHECK(wrong == 0);
  free_side(&all);
  free(one);
}

/* What the operation makes of pair i of ranks 0 .. end - 1. */
static void expect(const Call* c, int end, int i, unsigned* a, unsigned* b) {
  *a = value(c, 0, 0, 2 * i);
  *b = value(c, 0, 0, 2 * i + 1);
  for (int r = 1; r < end; ++r) {
    const unsigned x = value(c, r, 0, 2 * i), y = value(c, r, 0, 2 * i + 1);
    *b = c->commutes ? *b + y : x * *b + y;
    *a = c->commutes ? *a + x : *a * x;
  }
}
static int wrong_pairs(const Call* c, const unsigned* got, int ranks, int first,
                       int count) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    unsigned a, b;
    expect(c, ranks, first + i, &a, &b);
    wrong += got[2 * i] != a || got[2 * i + 1] != b;
  }
  return wrong;
}

/* Vectors of pairs; the sum takes them as numbers. */
static void reduction(Call* c, int which) {
  enum { kBlock, kParts, kScan, kExscan };
  const int one = same_count(c), per = c->commutes ? 2 : 1;
  const MPI_Datatype type = c->commutes ? MPI_UNSIGNED : c->pair;
  const MPI_Op op = c->commutes ? MPI_SUM : c->compose;
  int* counts = malloc((size_t)c->size * sizeof *counts);
  int all = 0, before = 0;
  for (int r = 0; r < c->size; ++r) {
    if (r == c->rank) before = all;
    const int mine = which == kParts ? length(c, r) : one;
    counts[r] = mine * per;
    all += mine;
  }
  const int mine = counts[c->rank] / per, given = which <= kParts ? all : one;
  unsigned* from = malloc((2 * (size_t)all + 2) * sizeof *from);
  unsigned* to = calloc(2 * (size_t)all + 2, sizeof *to);
  for (int i = 0; i < 2 * given; ++i)
    (c->is_in_place ? to : from)[i] = value(c, c->rank, 0, i);
  const void* in = c->is_in_place ? MPI_IN_PLACE : (const void*)from;
  if (which == kBlock)
    RUN(c, Reduce_scatter_block, in, to, one * per, type, op);
  else if (which == kParts)
    RUN(c, Reduce_scatter, in, to, counts, type, op);
  else if (which == kScan)
    RUN(c, Scan, in, to, one * per, type, op);
  else
    RUN(c, Exscan, in, to, one * per, type, op);
  if (which <= kParts)
    CHECK(wrong_pairs(c, to, c->size, before, mine) == 0);
  else if (which == kScan || c->rank > 0)
    CHECK(wrong_pairs(c, to, c->rank + (which == kScan), 0, one) == 0);
  free(counts);
  free(from);
  free(to);
}

static void call(Call* c, unsigned round) {
  static const unsigned limits[] = {1, 7, 60, 700, 5000};
  const unsigned which = draw(11);
  c->round = round + seed * 1000u;
  c->limit = limits[draw(which < 9 ? 5 : 4)];
  c->form = (enum Form)draw(3);
  c->is_strided = (int)draw(2);
  c->is_in_place = (int)draw(2);
  c->commutes = (int)draw(2);
  const unsigned root = draw(1u << 20);
  if (c->comm == MPI_COMM_NULL) return;
  c->root = (int)(root % (unsigned)c->size);
  if (which < 2)
    alltoall(c, 0, 1);
  else if (which < 4)
    alltoall(c, which == 3, 0);
  else if (which < 6)
    collect(c, which == 5);
  else if (which == 6)
    hand_out(c);
  else
    reduction(c, (int)which - 7);
}

enum { kComms = 6 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 80;
  state = seed = argc > 2 ? (unsigned)atoi(argv[2]) : 23;
  MPI_Comm comms[kComms] = {MPI_COMM_WORLD};
  /* Backwards, every second, in an order by chance, all but one, and in turns: first and second half. */
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comms[2]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, (int)(((unsigned)rank * 2654435761u) >> 20),
                 &comms[3]);
  MPI_Comm_split(MPI_COMM_WORLD, rank == size / 2 ? MPI_UNDEFINED : 0, 0, &comms[4]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank % ((size + 1) / 2), &comms[5]);
  Call c = {.limit = 0};
  MPI_Datatype vector;
  MPI_Op_create(compose, 0, &c.compose);
  MPI_Type_contiguous(2, MPI_UNSIGNED, &c.pair);
  MPI_Type_commit(&c.pair);
  MPI_Type_vector(1, 1, 1, MPI_UNSIGNED, &vector);
  MPI_Type_create_resized(vector, 0, 2 * (MPI_Aint)sizeof(unsigned), &c.every_second);
  MPI_Type_commit(&c.every_second);
  for (unsigned round = 0; round < rounds; ++round) {
    c.comm = comms[draw(kComms)];
    if (c.comm != MPI_COMM_NULL) {
      MPI_Comm_rank(c.comm, &c.rank);
      MPI_Comm_size(c.comm, &c.size);
    }
    call(&c, round);
  }
  for (int i = 1; i < kComms; ++i)
    if (comms[i] != MPI_COMM_NULL) MPI_Comm_free(&comms[i]);
  MPI_Type_free(&c.every_second);
  MPI_Type_free(&vector);
  MPI_Type_free(&c.pair);
  MPI_Op_free(&c.compose);
  return finish();
}

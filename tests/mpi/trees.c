/* Collectives with trees over processes: broadcast, reduce, allreduce, gather, scatter and allgather, blocking and not,
 * on communicators whose members lie anyhow, with any root, small and in segments, with gaps on one side,
 * and with an operation that does not commute. usage: trees [ROUNDS [SEED]] */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static unsigned state, seed;
static unsigned draw(unsigned below) { /* the same at all ranks */
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

static unsigned value(unsigned round, int rank, int i) {
  return round * 7919u + (unsigned)rank * 101u + (unsigned)i * 13u;
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

typedef struct {
  MPI_Comm comm;
  int rank, size, root, count, is_blocking, is_strided;
  unsigned round;
  MPI_Datatype every_second; /* one number, and a gap as long as it */
  unsigned *one, *all;       /* a block; a block for each member */
} Call;

static void wait_for(MPI_Request* request) {
  CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == 0);
}

/* How the own side describes its block: plain, or with gaps. */
static int step(const Call* c) { return c->is_strided && c->rank % 2 ? 2 : 1; }
static MPI_Datatype type(const Call* c) {
  return step(c) == 2 ? c->every_second : MPI_UNSIGNED;
}

static int wrong(const unsigned* data, const Call* c, int of_rank, int step_of) {
  int count = 0;
  for (int i = 0; i < c->count; ++i)
    count += data[(size_t)i * (size_t)step_of] != value(c->round, of_rank, i);
  return count;
}
static void fill(unsigned* data, const Call* c, int of_rank, int step_of) {
  for (int i = 0; i < c->count; ++i)
    data[(size_t)i * (size_t)step_of] = value(c->round, of_rank, i);
}

static void broadcast(Call* c) {
  MPI_Request request;
  if (c->rank == c->root) fill(c->one, c, c->root, step(c));
  if (c->is_blocking) {
    CHECK(MPI_Bcast(c->one, c->count, type(c), c->root, c->comm) == 0);
  } else {
    MPI_Ibcast(c->one, c->count, type(c), c->root, c->comm, &request);
    wait_for(&request);
  }
  CHECK(wrong(c->one, c, c->root, step(c)) == 0);
}

static void gather(Call* c, int is_in_place) {
  MPI_Request request;
  const size_t block = (size_t)c->count;
  const void* mine = c->one;
  fill(c->one, c, c->rank, step(c));
  if (c->rank == c->root && is_in_place) {
    fill(c->all + block * (size_t)c->rank, c, c->rank, 1);
    mine = MPI_IN_PLACE;
  }
  if (c->is_blocking) {
    MPI_Gather(mine, c->count, type(c), c->all, c->count, MPI_UNSIGNED, c->root,
               c->comm);
  } else {
    MPI_Igather(mine, c->count, type(c), c->all, c->count, MPI_UNSIGNED, c->root,
                c->comm, &request);
    wait_for(&request);
  }
  for (int r = 0; c->rank == c->root && r < c->size; ++r)
    CHECK(wrong(c->all + block * (size_t)r, c, r, 1) == 0);
}

static void scatter(Call* c) {
  MPI_Request request;
  for (int r = 0; r < c->size; ++r)
    if (c->rank == c->root) fill(c->all + (size_t)c->count * (size_t)r, c, r, 1);
  if (c->is_blocking) {
    MPI_Scatter(c->all, c->count, MPI_UNSIGNED, c->one, c->count, type(c), c->root,
                c->comm);
  } else {
    MPI_Iscatter(c->all, c->count, MPI_UNSIGNED, c->one, c->count, type(c), c->root,
                 c->comm, &request);
    wait_for(&request);
  }
  CHECK(wrong(c->one, c, c->rank, step(c)) == 0);
}

static void allgather(Call* c, int is_in_place) {
  MPI_Request request;
  const size_t block = (size_t)c->count;
  unsigned* const own = c->all + block * (size_t)c->rank;
  const int plain = is_in_place ? 1 : step(c);
  fill(is_in_place ? own : c->one, c, c->rank, plain);
  const void* mine = is_in_place ? MPI_IN_PLACE : (const void*)c->one;
  if (c->is_blocking) {
    MPI_Allgather(mine, c->count, type(c), c->all, c->count, MPI_UNSIGNED, c->comm);
  } else {
    MPI_Iallgather(mine, c->count, type(c), c->all, c->count, MPI_UNSIGNED, c->comm,
                   &request);
    wait_for(&request);
  }
  for (int r = 0; r < c->size; ++r)
    CHECK(wrong(c->all + block * (size_t)r, c, r, 1) == 0);
}

/* In rank order, to the root or to all. */
static void reduction(Call* c, MPI_Op op, MPI_Datatype pair, int to_all) {
  MPI_Request request;
  const int pairs = c->count / 2;
  for (int i = 0; i < 2 * pairs; ++i) c->one[i] = value(c->round, c->rank, i) | 1u;
  if (c->is_blocking && to_all)
    MPI_Allreduce(c->one, c->all, pairs, pair, op, c->comm);
  else if (c->is_blocking)
    MPI_Reduce(c->one, c->all, pairs, pair, op, c->root, c->comm);
  else if (to_all)
    MPI_Iallreduce(c->one, c->all, pairs, pair, op, c->comm, &request);
  else
    MPI_Ireduce(c->one, c->all, pairs, pair, op, c->root, c->comm, &request);
  if (!c->is_blocking) wait_for(&request);
  if (!to_all && c->rank != c->root) return;
  int count = 0;
  for (int i = 0; i < 2 * pairs; i += 2) {
    unsigned a = value(c->round, 0, i) | 1u, b = value(c->round, 0, i + 1) | 1u;
    for (int r = 1; r < c->size; ++r) {
      const unsigned times = value(c->round, r, i) | 1u;
      b = times * b + (value(c->round, r, i + 1) | 1u);
      a *= times;
    }
    count += c->all[i] != a || c->all[i + 1] != b;
  }
  CHECK(count == 0);
}

static void sum(Call* c, int to_all) {
  MPI_Request request;
  fill(c->one, c, c->rank, 1);
  if (c->is_blocking && to_all)
    MPI_Allreduce(c->one, c->all, c->count, MPI_UNSIGNED, MPI_SUM, c->comm);
  else if (c->is_blocking)
    MPI_Reduce(c->one, c->all, c->count, MPI_UNSIGNED, MPI_SUM, c->root, c->comm);
  else if (to_all)
    MPI_Iallreduce(c->one, c->all, c->count, MPI_UNSIGNED, MPI_SUM, c->comm, &request);
  else
    MPI_Ireduce(c->one, c->all, c->count, MPI_UNSIGNED, MPI_SUM, c->root, c->comm,
                &request);
  if (!c->is_blocking) wait_for(&request);
  if (!to_all && c->rank != c->root) return;
  int count = 0;
  for (int i = 0; i < c->count; ++i) {
    unsigned want = 0;
    for (int r = 0; r < c->size; ++r) want += value(c->round, r, i);
    count += c->all[i] != want;
  }
  CHECK(count == 0);
}

static void call(Call* c, unsigned round, MPI_Op op, MPI_Datatype pair) {
  static const int limits[] = {3, 700, 20000, 150000};
  const int which = (int)draw(11), limit = limits[draw(which < 4 ? 4 : 3)];
  c->round = round;
  c->count = (int)draw((unsigned)limit);
  c->is_blocking = (int)draw(2);
  c->is_strided = (int)draw(2);
  const unsigned root = draw(1u << 20), is_in_place = draw(2);
  if (c->comm == MPI_COMM_NULL) return;
  c->root = (int)(root % (unsigned)c->size);
  c->one = malloc(sizeof(unsigned) * 2 * (size_t)(c->count + 1));
  c->all = malloc(sizeof(unsigned) * (size_t)(c->count + 1) * (size_t)c->size);
  switch (which) {
    case 0:
      broadcast(c);
      break;
    case 1:
      reduction(c, op, pair, 0);
      break;
    case 2:
      reduction(c, op, pair, 1);
      break;
    case 3:
      sum(c, 0);
      break;
    case 4:
      sum(c, 1);
      break;
    case 5:
    case 6:
      gather(c, (int)is_in_place);
      break;
    case 7:
      scatter(c);
      break;
    case 8:
    case 9:
      allgather(c, (int)is_in_place);
      break;
    default: {
      MPI_Request request;
      MPI_Ibarrier(c->comm, &request);
      wait_for(&request);
    }
  }
  free(c->one);
  free(c->all);
}

enum { kComms = 5 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 60;
  state = seed = argc > 2 ? (unsigned)atoi(argv[2]) : 11;
  MPI_Comm comms[kComms] = {MPI_COMM_WORLD};
  /* Backwards, every second, in an order by chance, and all but one, which is nobody's neighbour. */
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comms[2]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, (int)(((unsigned)rank * 2654435761u) >> 20),
                 &comms[3]);
  MPI_Comm_split(MPI_COMM_WORLD, rank == size / 2 ? MPI_UNDEFINED : 0, 0, &comms[4]);
  MPI_Op op;
  MPI_Datatype pair, every_second, vector;
  MPI_Op_create(compose, 0, &op);
  MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_vector(1, 1, 1, MPI_UNSIGNED, &vector);
  MPI_Type_create_resized(vector, 0, 2 * (MPI_Aint)sizeof(unsigned), &every_second);
  MPI_Type_commit(&every_second);
  for (unsigned round = 0; round < rounds; ++round) {
    Call c = {.comm = comms[draw(kComms)], .every_second = every_second};
    if (c.comm != MPI_COMM_NULL) {
      MPI_Comm_rank(c.comm, &c.rank);
      MPI_Comm_size(c.comm, &c.size);
    }
    call(&c, round, op, pair);
  }
  for (int i = 1; i < kComms; ++i)
    if (comms[i] != MPI_COMM_NULL) MPI_Comm_free(&comms[i]);
  MPI_Type_free(&every_second);
  MPI_Type_free(&vector);
  MPI_Type_free(&pair);
  MPI_Op_free(&op);
  return finish();
}

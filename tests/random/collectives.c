/* Collectives that move data between random datatypes, another one on each side of each member: blocking,
   non-blocking, persistent, in place, in neighbourhoods, between groups; whole buffers are compared with
   the model, gaps included.
   usage: collectives [SEED [ROUNDS]]; the seed is printed when something is wrong. */
#include <time.h>

#include "type.h"

enum { kMostRanks = 32, kOps = 15 };
enum op {
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw
};
static const char* const names[kOps] = {"bcast",
                                        "gather",
                                        "gatherv",
                                        "scatter",
                                        "scatterv",
                                        "allgather",
                                        "allgatherv",
                                        "alltoall",
                                        "alltoallv",
                                        "alltoallw",
                                        "neighbor_allgather",
                                        "neighbor_allgatherv",
                                        "neighbor_alltoall",
                                        "neighbor_alltoallv",
                                        "neighbor_alltoallw"};

/* What one member gives, or takes: blocks of one buffer. */
typedef struct {
  int blocks;
  int from[kMostRanks],
      block[kMostRanks]; /* taken: whose, and which one of its; -1: nobody's */
  int units[kMostRanks];
  int count[kMostRanks], first[kMostRanks]; /* in elements of the type */
  int bytes[kMostRanks];                    /* where it begins, for the w-forms */
  MPI_Datatype types[kMostRanks];
  unsigned long long key;
  buffer all;
} side;

typedef struct {
  enum op op;
  int form, root, is_inter, is_in_place;
  MPI_Comm comm; /* of this call */
  unit u;
  int base; /* units come in multiples of it */
  side out[kMostRanks], in[kMostRanks];
} call;

static int rank, size, failures;
static unsigned long long seed;
static MPI_Comm world, inter, grid, graph;
static int low; /* ranks of the lower group of `inter` */
static call c;

static int is_v(enum op op) {
  return op == kGatherv || op == kScatterv || op == kAllgatherv || op == kAlltoallv ||
         op == kAlltoallw || op == kNeighborAllgatherv || op == kNeighborAlltoallv ||
         op == kNeighborAlltoallw;
}
static int is_in(enum op op, enum op first, enum op last) {
  return op >= first && op <= last;
}

#include "plan.h"

#include "call.h"

static void verify(int round) {
  side* const in = &c.in[rank];
  if (in->blocks == 0) return;
  unsigned char* const wanted = as_made(&in->all, in->key);
  for (int i = 0; i < in->blocks; ++i) {
    const int from = in->from[i];
    if (from < 0) continue;
    const int is_own = c.is_in_place && from == rank;
    if (is_own && c.op != kAlltoall && !is_in(c.op, kAlltoallv, kAlltoallw)) continue;
    /* In place the data stand where the others' will be. */
    const side* const out =
        c.is_in_place && c.op >= kAllgather ? &c.in[from] : &c.out[from];
    const long size_out = size_of(&out->all.type), size_in = size_of(&in->all.type);
    const int block =
        c.is_in_place && is_in(c.op, kAllgather, kAllgatherv) ? from : in->block[i];
    const long at = out->first[block] * size_out, n = out->count[block] * size_out;
    for (long k = 0; k < n; ++k)
      wanted[in->all.place[in->first[i] * size_in + k]] =
          pattern(out->key, out->all.place[at + k]);
  }
  if (is_as_wanted(&in->all, wanted)) return;
  ++failures;
  printf("seed %llu, round %d, rank %d of %d: %s, form %d%s%s, root %d\n", seed, round,
         rank, size, names[c.op], c.form, c.is_inter ? ", inter" : "",
         c.is_in_place ? ", in place" : "", c.root);
}

static void one_round(int round) {
  source s = seeded(seed, (unsigned long long)round, 3);
  make_plan(&s);
  for (int r = 0; r < size; ++r) {
    if (c.out[r].blocks != 0) furnish(&c.out[r], &s);
    if (c.in[r].blocks != 0) furnish(&c.in[r], &s);
  }
  make_call();
  verify(round);
  for (int r = 0; r < size; ++r) {
    if (c.out[r].blocks != 0) drop_buffer(&c.out[r].all);
    if (c.in[r].blocks != 0) drop_buffer(&c.in[r].all);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (unsigned long long)time(NULL);
  MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  const int rounds = argc > 2 ? atoi(argv[2]) : 60;
  if (size > kMostRanks) MPI_Abort(MPI_COMM_WORLD, 1);
  make_comms();
  for (int round = 0; round < rounds; ++round) one_round(round);
  free_comms();
  int all = 0;
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("No Errors\n");
  if (rank == 0 && all != 0) printf("%d errors, seed %llu\n", all, seed);
  MPI_Finalize();
  return failures != 0;
}

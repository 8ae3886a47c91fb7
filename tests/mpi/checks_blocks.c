/* Collectives whose members have counts or neighbours of their own; three ranks. The argument names the one
   in which rank 1 is wrong; "right": none is, in all forms of the calls. What mpi.check=full says stands in
   CMakeLists.txt. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRanks = 3, kRoom = 64 };

static int rank;
static int out[kRoom], in[kRoom];
/* So many of them, and where. */
static int ones[kRanks] = {1, 1, 1}, places[kRanks] = {0, 1, 2};

/* A member that is wrong sends floats where integers are expected, or one more. */
static MPI_Datatype type_of(int is_wrong) { return is_wrong ? MPI_FLOAT : MPI_INT; }

static void gatherv(int is_wrong) {
  MPI_Gatherv(out, 1, type_of(is_wrong), in, ones, places, MPI_INT, 2, MPI_COMM_WORLD);
}
static void scatterv(int is_wrong) {
  MPI_Scatterv(out, ones, places, MPI_INT, in, 1, type_of(is_wrong), 0, MPI_COMM_WORLD);
}
static void allgatherv(int is_wrong) {
  MPI_Request request;
  MPI_Iallgatherv(out, 1, type_of(is_wrong), in, ones, places, MPI_INT, MPI_COMM_WORLD,
                  &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void alltoallv(int is_wrong) {
  const int counts[kRanks] = {1, 1, is_wrong ? 2 : 1}, first[kRanks] = {0, 1, 2};
  MPI_Alltoallv(out, counts, first, MPI_INT, in, ones, places, MPI_INT, MPI_COMM_WORLD);
}
static void alltoallw(int is_wrong) {
  const MPI_Datatype sent[kRanks] = {MPI_INT, MPI_INT, type_of(is_wrong)};
  const MPI_Datatype received[kRanks] = {MPI_INT, MPI_INT, MPI_INT};
  const int bytes[kRanks] = {0, 4, 8};
  MPI_Request request;
  MPI_Alltoallw_init(out, ones, bytes, sent, in, ones, bytes, received, MPI_COMM_WORLD,
                     MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}
static void own(int is_wrong) {
  MPI_Allgather(out, 1, type_of(is_wrong), in, 1, MPI_INT, MPI_COMM_WORLD);
}
static void parts(int is_wrong) {
  const int counts[kRanks] = {is_wrong ? 2 : 1, is_wrong ? 0 : 1, 1};
  MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* A ring; in a ring of two both neighbours are the same rank. */
static void ring(int is_wrong) {
  MPI_Comm ring;
  const int periods[1] = {1}, dims[1] = {kRanks};
  const MPI_Datatype sent[2] = {MPI_INT, type_of(is_wrong)};
  const MPI_Datatype received[2] = {MPI_INT, MPI_INT};
  const MPI_Aint bytes[2] = {0, 4};
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
  MPI_Neighbor_alltoallw(out, ones, bytes, sent, in, ones, bytes, received, ring);
  MPI_Comm_free(&ring);
}

/* To the next rank twice, with different data. */
static void graph(int is_wrong) {
  MPI_Comm graph;
  const int next[2] = {(rank + 1) % kRanks, (rank + 1) % kRanks};
  const int before[2] = {(rank + 2) % kRanks, (rank + 2) % kRanks};
  const int sent[2] = {3, is_wrong ? 3 : 5}, received[2] = {3, 5}, first[2] = {0, 8};
  MPI_Request request;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, before, MPI_UNWEIGHTED, 2, next,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  MPI_Ineighbor_alltoallv(out, sent, first, MPI_INT, in, received, first, MPI_INT,
                          graph, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&graph);
}

/* Equal signatures that are told differently, packed data, nothing at all, MPI_IN_PLACE. */
static void what_fits(void) {
  MPI_Datatype pair, column;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_vector(2, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  const int twos[kRanks] = {2, 2, 2}, at[kRanks] = {0, 2, 4};
  const int none[kRanks] = {0, 0, 0};
  MPI_Gatherv(out, 1, column, in, twos, at, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gatherv(rank == 1 ? MPI_IN_PLACE : out, 1, pair, in, twos, at, MPI_INT, 1,
              MPI_COMM_WORLD);
  MPI_Scatterv(out, twos, at, MPI_INT, rank == 1 ? MPI_IN_PLACE : in, 1, pair, 1,
               MPI_COMM_WORLD);
  MPI_Allgatherv(out, 2, MPI_INT, in, ones, places, pair, MPI_COMM_WORLD);
  MPI_Allgatherv(MPI_IN_PLACE, 77, MPI_CHAR, in, ones, places, pair, MPI_COMM_WORLD);
  MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_CHAR, in, twos, at, MPI_INT,
                MPI_COMM_WORLD);
  MPI_Alltoallv(out, none, at, MPI_DOUBLE, in, none, at, rank == 0 ? MPI_INT : MPI_CHAR,
                MPI_COMM_WORLD);
  MPI_Allgather(out, 1, pair, in, 2, MPI_INT, MPI_COMM_WORLD);
  MPI_Gatherv(out, 4, MPI_PACKED, in, ones, places, rank == 2 ? MPI_INT : MPI_CHAR, 2,
              MPI_COMM_WORLD);
  MPI_Type_free(&column);
  MPI_Type_free(&pair);
}

static const struct {
  const char* name;
  void (*run)(int is_wrong);
} cases[] = {
    {"gatherv", gatherv},     {"scatterv", scatterv},   {"allgatherv", allgatherv},
    {"alltoallv", alltoallv}, {"alltoallw", alltoallw}, {"own", own},
    {"parts", parts},         {"ring", ring},           {"graph", graph}};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const char* how = argc > 1 ? argv[1] : "right";
  const int all_right = strcmp(how, "right") == 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (!all_right && strcmp(cases[i].name, how) != 0) continue;
    cases[i].run(!all_right && rank == 1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (all_right) what_fits();
  MPI_Finalize();
  if (rank == 0) puts("done");
  return 0;
}

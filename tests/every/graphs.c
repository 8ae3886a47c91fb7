/* Every function on graph topologies: each rank has those beside it for neighbours. */
#include "every.h"

#define WORLD MPI_COMM_WORLD
enum { kMost = 64 };

static int left, right, indices[kMost], edges[2 * kMost];

static void graph(void) {
  const int n = every_size;
  int got_index[kMost], got_edges[2 * kMost], pair[2], nodes = -1, m = -1, kind = -1;
  MPI_Comm comm = MPI_COMM_NULL, no = MPI_COMM_NULL;
  RIGHT(MPI_Graph_create(WORLD, n, indices, edges, 0, &comm));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  RIGHT(MPI_Topo_test(comm, &kind));
  CHECK(kind == MPI_GRAPH);
  RIGHT(MPI_Graphdims_get(comm, &nodes, &m));
  CHECK(nodes == n && m == 2 * n);
  RIGHT(MPI_Graph_get(comm, n, 2 * n, got_index, got_edges));
  CHECK(memcmp(got_index, indices, n * sizeof(int)) == 0);
  CHECK(memcmp(got_edges, edges, 2 * n * sizeof(int)) == 0);
  RIGHT(MPI_Graph_neighbors_count(comm, every_rank, &m));
  CHECK(m == 2);
  RIGHT(MPI_Graph_neighbors(comm, every_rank, 2, pair));
  CHECK(pair[0] == left && pair[1] == right);
  RIGHT(MPI_Graph_map(WORLD, n, indices, edges, &m));
  CHECK(m >= 0 && m < n);

  WRONG(MPI_ERR_TOPOLOGY, MPI_Graphdims_get(WORLD, &nodes, &m));
  WRONG(MPI_ERR_TOPOLOGY, MPI_Graph_get(WORLD, n, 2 * n, got_index, got_edges));
  WRONG(MPI_ERR_RANK, MPI_Graph_neighbors_count(comm, n, &m));
  WRONG(MPI_ERR_RANK, MPI_Graph_neighbors(comm, n, 2, pair));
  WRONG(MPI_ERR_TOPOLOGY, MPI_Graph_neighbors(WORLD, 0, 2, pair));
  MPI_Comm_free(&comm);
  WRONG(MPI_ERR_ARG, MPI_Graph_create(WORLD, n + 1, indices, edges, 0, &no));
  CHECK(no == MPI_COMM_NULL);
  WRONG(MPI_ERR_COMM, MPI_Graph_map(MPI_COMM_NULL, n, indices, edges, &m));
}

/* Neighbours of a distributed graph: in from the left, out to the right, with weights. */
static void check_distributed(MPI_Comm comm) {
  int in = -1, out = -1, weighted = -1, kind = -1;
  int source = -1, destination = -1, weight_in = -1, weight_out = -1;
  CHECK(MPI_Topo_test(comm, &kind) == MPI_SUCCESS && kind == MPI_DIST_GRAPH);
  RIGHT(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted));
  CHECK(in == 1 && out == 1 && weighted);
  RIGHT(MPI_Dist_graph_neighbors(comm, 1, &source, &weight_in, 1, &destination,
                                 &weight_out));
  CHECK(source == left && weight_in == 10 + left);
  CHECK(destination == right && weight_out == 10 + every_rank);
  WRONG(MPI_ERR_COUNT, MPI_Dist_graph_neighbors(comm, -1, &source, &weight_in, 1,
                                                &destination, &weight_out));
  WRONG(MPI_ERR_TOPOLOGY, MPI_Dist_graph_neighbors(WORLD, 1, &source, &weight_in, 1,
                                                   &destination, &weight_out));
  WRONG(MPI_ERR_TOPOLOGY, MPI_Dist_graph_neighbors_count(WORLD, &in, &out, &weighted));
}

static void distributed(void) {
  int degree = 1, mine = 10 + every_rank, theirs = 10 + left;
  MPI_Comm comm = MPI_COMM_NULL, no = MPI_COMM_NULL;
  RIGHT(MPI_Dist_graph_create(WORLD, 1, &every_rank, &degree, &right, &mine,
                              MPI_INFO_NULL, 0, &comm));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  check_distributed(comm);
  MPI_Comm_free(&comm);
  RIGHT(MPI_Dist_graph_create_adjacent(WORLD, 1, &left, &theirs, 1, &right, &mine,
                                       MPI_INFO_NULL, 0, &comm));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  check_distributed(comm);
  MPI_Comm_free(&comm);
  WRONG(MPI_ERR_RANK, MPI_Dist_graph_create(WORLD, 1, &every_rank, &degree, &every_size,
                                            &mine, MPI_INFO_NULL, 0, &no));
  WRONG(MPI_ERR_RANK,
        MPI_Dist_graph_create_adjacent(WORLD, 1, &every_size, &theirs, 1, &right, &mine,
                                       MPI_INFO_NULL, 0, &no));
  CHECK(no == MPI_COMM_NULL);
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  left = (every_rank + every_size - 1) % every_size;
  right = (every_rank + 1) % every_size;
  for (int i = 0; i < every_size && i < kMost; ++i) {
    indices[i] = 2 * (i + 1);
    edges[2 * i] = (i + every_size - 1) % every_size;
    edges[2 * i + 1] = (i + 1) % every_size;
  }
  graph();
  distributed();
  return every_end();
}

/* Grids, graphs, distributed graphs. */
#include <stdlib.h>

#include "check.h"

static void grids(int rank, int size) {
  int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], got_dims[2], got_periods[2];
  MPI_Comm grid, row;
  MPI_Dims_create(size, 2, dims);
  CHECK(dims[0] * dims[1] == size && dims[0] >= dims[1]);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  int kind, n, r, from, to;
  MPI_Topo_test(grid, &kind);
  CHECK(kind == MPI_CART);
  MPI_Cart_get(grid, 2, got_dims, got_periods, coords);
  CHECK(got_dims[1] == dims[1] && got_periods[0] == 1 && got_periods[1] == 0);
  MPI_Comm_rank(grid, &r);
  CHECK(coords[0] * dims[1] + coords[1] == r);
  MPI_Cart_shift(grid, 0, 1, &from, &to);
  CHECK(to == (coords[0] + 1) % dims[0] * dims[1] + coords[1]);
  CHECK(from == (coords[0] + dims[0] - 1) % dims[0] * dims[1] + coords[1]);
  MPI_Cart_shift(grid, 1, 1, &from, &to);
  CHECK(to == (coords[1] + 1 < dims[1] ? r + 1 : MPI_PROC_NULL));
  CHECK(from == (coords[1] > 0 ? r - 1 : MPI_PROC_NULL));
  int outside[2] = {coords[0] + 5 * dims[0], coords[1]};
  MPI_Cart_rank(grid, outside, &n);
  CHECK(n == r);
  MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
  outside[1] = dims[1];
  CHECK(MPI_Cart_rank(grid, outside, &n) == MPI_ERR_ARG);
  CHECK(MPI_Graphdims_get(grid, &n, &n) == MPI_ERR_TOPOLOGY);

  int remain[2] = {0, 1};
  MPI_Cart_sub(grid, remain, &row);
  MPI_Comm_size(row, &n);
  CHECK(n == dims[1]);
  MPI_Comm_rank(row, &n);
  CHECK(n == coords[1]);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);

  /* Fewer points than ranks. */
  int one[1] = {(size + 1) / 2}, no[1] = {0};
  MPI_Cart_create(MPI_COMM_WORLD, 1, one, no, 0, &grid);
  CHECK((grid == MPI_COMM_NULL) == (rank >= one[0]));
  if (grid != MPI_COMM_NULL) MPI_Comm_free(&grid);

  /* More points than ranks: an error leaves no communicator behind. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  one[0] = size + 1;
  grid = MPI_COMM_WORLD;
  CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, one, no, 0, &grid) != MPI_SUCCESS);
  CHECK(grid == MPI_COMM_NULL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void graphs(int rank, int size) {
  int* index = malloc(sizeof(int) * size);
  int* edges = malloc(sizeof(int) * size);
  for (int i = 0; i < size; ++i) {
    index[i] = i + 1;
    edges[i] = (i + 1) % size;
  }
  MPI_Comm graph;
  int n, m;
  MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph);
  MPI_Graphdims_get(graph, &n, &m);
  CHECK(n == size && m == size);
  MPI_Graph_neighbors_count(graph, rank, &n);
  CHECK(n == 1);
  MPI_Graph_neighbors(graph, rank, 1, &n);
  CHECK(n == (rank + 1) % size);
  MPI_Comm_free(&graph);
  free(index);
  free(edges);

  /* Every rank gives the edge of the rank after it. */
  int source = (rank + 1) % size, degree = 1, destination = (rank + 3) % size,
      weight = rank;
  int in, out, weighted, s, sw, d, dw;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, &destination, &weight,
                        MPI_INFO_NULL, 0, &graph);
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  CHECK(in == 1 && out == 1 && weighted);
  MPI_Dist_graph_neighbors(graph, 1, &s, &sw, 1, &d, &dw);
  CHECK(s == (rank + 2 * size - 2) % size && sw == (s + size - 1) % size);
  CHECK(d == (rank + 2) % size && dw == (rank + size - 1) % size);
  int mine = rank, got = -1;
  MPI_Neighbor_allgather(&mine, 1, MPI_INT, &got, 1, MPI_INT, graph);
  CHECK(got == s);
  MPI_Comm_free(&graph);

  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &s, MPI_UNWEIGHTED, 1, &d,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  CHECK(in == 1 && out == 1 && !weighted);
  MPI_Comm_free(&graph);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, kind;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Topo_test(MPI_COMM_WORLD, &kind);
  CHECK(kind == MPI_UNDEFINED);
  grids(rank, size);
  graphs(rank, size);
  return finish();
}

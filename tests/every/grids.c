/* Every function on cartesian topologies. */
#include "every.h"

#define WORLD MPI_COMM_WORLD

static void dimensions(void) {
  int dims[2] = {0, 0}, fixed[3] = {0, 3, 0};
  RIGHT(MPI_Dims_create(12, 2, dims));
  CHECK(dims[0] == 4 && dims[1] == 3);
  RIGHT(MPI_Dims_create(12, 3, fixed));
  CHECK(fixed[0] == 2 && fixed[1] == 3 && fixed[2] == 2);
  fixed[0] = 0;
  fixed[1] = 5;
  fixed[2] = 0;
  WRONG(MPI_ERR_DIMS, MPI_Dims_create(12, 3, fixed));
}

/* size x 1, the first of them round. */
static void whole(MPI_Comm grid) {
  const int size = every_size;
  int dims[2] = {0}, periods[2] = {0}, coords[2] = {-1, -1};
  int ndims = 0, rank = -1, at = -1, from = -1, to = -1, kind = -1;
  MPI_Comm_rank(grid, &rank);
  RIGHT(MPI_Topo_test(grid, &kind));
  CHECK(kind == MPI_CART);
  RIGHT(MPI_Topo_test(WORLD, &kind));
  CHECK(kind == MPI_UNDEFINED);
  RIGHT(MPI_Cartdim_get(grid, &ndims));
  CHECK(ndims == 2);
  RIGHT(MPI_Cart_get(grid, 2, dims, periods, coords));
  CHECK(dims[0] == size && dims[1] == 1 && periods[0] && !periods[1]);
  CHECK(coords[0] == rank && coords[1] == 0);
  RIGHT(MPI_Cart_coords(grid, size - 1, 2, coords));
  CHECK(coords[0] == size - 1 && coords[1] == 0);
  RIGHT(MPI_Cart_rank(grid, (int[]){-1, 0}, &at)); /* around */
  CHECK(at == size - 1);
  RIGHT(MPI_Cart_shift(grid, 0, 1, &from, &to));
  CHECK(from == (rank + size - 1) % size && to == (rank + 1) % size);
  RIGHT(MPI_Cart_shift(grid, 1, 1, &from, &to));
  CHECK(from == MPI_PROC_NULL && to == MPI_PROC_NULL);

  WRONG(MPI_ERR_COMM, MPI_Topo_test(MPI_COMM_NULL, &kind));
  WRONG(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(WORLD, &ndims));
  WRONG(MPI_ERR_TOPOLOGY, MPI_Cart_get(WORLD, 2, dims, periods, coords));
  WRONG(MPI_ERR_RANK, MPI_Cart_coords(grid, size, 2, coords));
  WRONG(MPI_ERR_TOPOLOGY, MPI_Cart_coords(WORLD, 0, 2, coords));
  WRONG(MPI_ERR_ARG, MPI_Cart_rank(grid, (int[]){0, 1}, &at)); /* not round */
  WRONG(MPI_ERR_TOPOLOGY, MPI_Cart_shift(WORLD, 0, 1, &from, &to));
  WRONG(MPI_ERR_ARG, MPI_Cart_shift(grid, 2, 1, &from, &to));
}

static void parts(MPI_Comm grid) {
  int size = 0, ndims = -1;
  MPI_Comm part = MPI_COMM_NULL;
  RIGHT(MPI_Cart_sub(grid, (int[]){0, 1}, &part));
  CHECK(MPI_Comm_size(part, &size) == MPI_SUCCESS && size == 1);
  CHECK(MPI_Cartdim_get(part, &ndims) == MPI_SUCCESS && ndims == 1);
  MPI_Comm_free(&part);
  RIGHT(MPI_Cart_sub(grid, (int[]){1, 0}, &part));
  CHECK(MPI_Comm_size(part, &size) == MPI_SUCCESS && size == every_size);
  MPI_Comm_free(&part);
  WRONG(MPI_ERR_TOPOLOGY, MPI_Cart_sub(WORLD, (int[]){1, 0}, &part));
}

int main(int argc, char** argv) {
  int dims[2], periods[2] = {1, 0}, rank = -1;
  MPI_Comm grid = MPI_COMM_NULL, no = MPI_COMM_NULL;
  every_begin(&argc, &argv);
  dims[0] = every_size;
  dims[1] = 1;
  dimensions();
  RIGHT(MPI_Cart_create(WORLD, 2, dims, periods, 0, &grid));
  CHECK(grid != MPI_COMM_NULL);
  MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
  whole(grid);
  parts(grid);
  RIGHT(MPI_Cart_map(WORLD, 2, dims, periods, &rank));
  CHECK(rank >= 0 && rank < every_size);
  MPI_Comm_free(&grid);
  dims[1] = 2; /* more places than ranks */
  WRONG(MPI_ERR_TOPOLOGY, MPI_Cart_create(WORLD, 2, dims, periods, 0, &no));
  CHECK(no == MPI_COMM_NULL);
  WRONG(MPI_ERR_TOPOLOGY, MPI_Cart_map(WORLD, 2, dims, periods, &rank));
  dims[1] = -1;
  WRONG(MPI_ERR_DIMS, MPI_Cart_create(WORLD, 2, dims, periods, 0, &no));
  WRONG(MPI_ERR_DIMS, MPI_Cart_map(WORLD, 2, dims, periods, &rank));
  WRONG(MPI_ERR_COMM, MPI_Cart_create(MPI_COMM_NULL, 2, dims, periods, 0, &no));
  return every_end();
}

/* Heat on a plate: a Cartesian grid of ranks, halo exchange with non-blocking messages. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 32 }; /* cells of one rank in each direction, without the halo */
static double now[N + 2][N + 2], next[N + 2][N + 2];

int main(int argc, char** argv) {
  int rank, size, dims[2] = {0, 0}, periods[2] = {0, 0}, coords[2];
  int up, down, left, right;
  const int steps = argc > 1 ? atoi(argv[1]) : 100;
  MPI_Comm grid;
  MPI_Datatype column;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, coords);
  MPI_Cart_shift(grid, 0, 1, &up, &down);
  MPI_Cart_shift(grid, 1, 1, &left, &right);
  MPI_Type_vector(N, 1, N + 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  if (coords[0] == 0)
    for (int j = 0; j < N + 2; ++j) now[0][j] = next[0][j] = 100.0; /* the hot edge */

  double change = 0, total = 0;
  for (int step = 0; step < steps; ++step) {
    MPI_Request r[8];
    MPI_Irecv(&now[0][1], N, MPI_DOUBLE, up, 0, grid, &r[0]);
    MPI_Irecv(&now[N + 1][1], N, MPI_DOUBLE, down, 1, grid, &r[1]);
    MPI_Irecv(&now[1][0], 1, column, left, 2, grid, &r[2]);
    MPI_Irecv(&now[1][N + 1], 1, column, right, 3, grid, &r[3]);
    MPI_Isend(&now[N][1], N, MPI_DOUBLE, down, 0, grid, &r[4]);
    MPI_Isend(&now[1][1], N, MPI_DOUBLE, up, 1, grid, &r[5]);
    MPI_Isend(&now[1][N], 1, column, right, 2, grid, &r[6]);
    MPI_Isend(&now[1][1], 1, column, left, 3, grid, &r[7]);
    MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
    double mine = 0;
    for (int i = 1; i <= N; ++i)
      for (int j = 1; j <= N; ++j) {
        next[i][j] =
            0.25 * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1]);
        mine = fmax(mine, fabs(next[i][j] - now[i][j]));
      }
    for (int i = 1; i <= N; ++i)
      for (int j = 1; j <= N; ++j) now[i][j] = next[i][j];
    MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_MAX, grid);
  }
  double heat = 0;
  for (int i = 1; i <= N; ++i)
    for (int j = 1; j <= N; ++j) heat += now[i][j];
  MPI_Reduce(&heat, &total, 1, MPI_DOUBLE, MPI_SUM, 0, grid);
  const int failed = rank == 0 && !(total > 0 && change < 25.0);
  if (rank == 0)
    printf("stencil on %d x %d ranks: last change %.4f, mean heat %.4f\n", dims[0],
           dims[1], change, total / ((double)N * N * size));
  MPI_Type_free(&column);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return failed;
}

/* A C struct as a datatype, and a matrix that is transposed by being sent. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

struct particle {
  char kind;
  double position[3];
  int charge;
};
enum { ROWS = 4, COLUMNS = 3 };

int main(int argc, char** argv) {
  int rank, size, wrong = 0, all_wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;

  MPI_Datatype fields, particle;
  const int lengths[3] = {1, 3, 1};
  const MPI_Aint places[3] = {offsetof(struct particle, kind),
                              offsetof(struct particle, position),
                              offsetof(struct particle, charge)};
  const MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
  MPI_Type_create_struct(3, lengths, places, types, &fields);
  MPI_Type_create_resized(fields, 0, sizeof(struct particle), &particle);
  MPI_Type_commit(&particle);
  struct particle mine[2] = {{'a', {rank, 1, 2}, rank}, {'b', {rank, 3, 4}, -rank}},
                  got[2];
  MPI_Sendrecv(mine, 2, particle, right, 0, got, 2, particle, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  wrong += got[0].kind != 'a' || got[1].position[0] != left || got[1].charge != -left;

  MPI_Datatype column, transposed;
  MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column);
  MPI_Type_create_hvector(COLUMNS, 1, sizeof(int), column, &transposed);
  MPI_Type_commit(&transposed);
  int matrix[ROWS][COLUMNS], other[COLUMNS][ROWS];
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) matrix[i][j] = 100 * rank + 10 * i + j;
  MPI_Sendrecv(matrix, 1, transposed, right, 1, other, ROWS * COLUMNS, MPI_INT, left, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) wrong += other[j][i] != 100 * left + 10 * i + j;

  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("user datatypes: %s\n", all_wrong ? "WRONG" : "right");
  MPI_Type_free(&fields);
  MPI_Type_free(&particle);
  MPI_Type_free(&column);
  MPI_Type_free(&transposed);
  MPI_Finalize();
  return rank == 0 && all_wrong != 0;
}

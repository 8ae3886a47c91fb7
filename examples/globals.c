/* Globals, statics and thread-locals are private to each rank, as if ranks were processes. */
#include <mpi.h>
#include <stdio.h>

int global = 42;
static int counter;
static int* pointer_to_global = &global;
static _Thread_local int thread_local_value = 7;

static int next(void) {
  static int calls = 0;
  return ++calls;
}

int main(int argc, char** argv) {
  int rank, wrong = 0, all_wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  global += rank;
  thread_local_value *= rank + 1;
  for (int i = 0; i <= rank; ++i) counter = next();
  for (int i = 0; i < 3; ++i) { /* other ranks of this core run meanwhile */
    MPI_Barrier(MPI_COMM_WORLD);
    wrong += global != 42 + rank || *pointer_to_global != global;
    wrong += counter != rank + 1 || thread_local_value != 7 * (rank + 1);
  }
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("globals in C: %s\n", all_wrong ? "SHARED, WRONG" : "private");
  MPI_Finalize();
  return rank == 0 && all_wrong != 0;
}

/* A thread of rank 1 receives, or probes first, while the rank computes: "No Errors". */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 400 };

static int probes;
static volatile int is_over;

static void* answer(void* argument) {
  (void)argument;
  for (int i = 0; i < ROUNDS; ++i) {
    int value = -1;
    if (probes) MPI_Probe(0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
  is_over = 1;
  return NULL;
}

int main(int argc, char** argv) {
  int rank, provided, errors = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  probes = argc > 1;
  if (rank == 1) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, answer, NULL) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
    while (!is_over) {
    }
    pthread_join(thread, NULL);
  } else {
    for (int i = 0; i < ROUNDS; ++i) {
      int back = -1;
      MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(&back, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      errors += back != i;
    }
    if (errors == 0) printf("No Errors\n");
  }
  MPI_Finalize();
  return errors != 0;
}

/* MPI_THREAD_MULTIPLE: each rank starts threads that exchange messages on their own tags. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, MESSAGES = 200 };
static int rank, size;
static int wrong[THREADS];

static void* exchange(void* argument) {
  const int me = *(const int*)argument;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < MESSAGES; ++i) {
    int out = 1000 * rank + i, in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, right, me, &in, 1, MPI_INT, left, me, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    wrong[me] += in != 1000 * left + i;
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided, all_wrong = 0, numbers[THREADS];
  pthread_t threads[THREADS];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (provided < MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < THREADS; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, exchange, &numbers[i]);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 1; i < THREADS; ++i) wrong[0] += wrong[i];
  MPI_Reduce(&wrong[0], &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d ranks with %d threads each: %s\n", size, THREADS,
           all_wrong ? "WRONG" : "right");
  MPI_Finalize();
  return rank == 0 && all_wrong != 0;
}

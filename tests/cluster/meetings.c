/* Barriers and allreduces of several processes, often, on several communicators, with ranks that come late. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 700 /* doubles: more than processes combine in memory that they share */

static int rank, size, errors;

static void check(int is_right, const char* what, int i) {
  if (is_right) return;
  if (++errors < 10) printf("rank %d: %s, round %d\n", rank, what, i);
}

static void barrier(MPI_Comm comm, int i) {
  int me, of;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &of);
  /* Long enough for the others to park. */
  if (i % 7 == me % 7 && i % 3 == 0) usleep(i % 21 == 0 ? 3000 : 100);
  double before = MPI_Wtime(), last;
  MPI_Barrier(comm);
  double after = MPI_Wtime();
  MPI_Allreduce(&before, &last, 1, MPI_DOUBLE, MPI_MAX, comm);
  check(after >= last, "has left a barrier before all had come", i);
}

static void allreduce(MPI_Comm comm, int i) {
  static double in[MOST], out[MOST];
  const int counts[] = {1, 6, 7, 100, 512, 513, MOST, 0};
  int of, me, n = counts[i % 8];
  MPI_Comm_size(comm, &of);
  MPI_Comm_rank(comm, &me);
  for (int k = 0; k < n; ++k) in[k] = me + k * i;
  MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, comm);
  for (int k = 0; k < n; ++k)
    check(out[k] == of * (of - 1) / 2 + (double)of * k * i, "has a wrong sum", i);
  for (int k = 0; k < n; ++k) out[k] = k - me;
  MPI_Allreduce(MPI_IN_PLACE, out, n, MPI_DOUBLE, MPI_MIN, comm);
  for (int k = 0; k < n; ++k) check(out[k] == k - of + 1, "has a wrong minimum", i);
}

static void take_first(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int k = 0; k < *n; ++k) ((int*)inout)[k] = ((int*)in)[k];
}

static void others(MPI_Comm comm, MPI_Op first, int i) {
  int of, me, value, got = -1;
  MPI_Comm_size(comm, &of);
  MPI_Comm_rank(comm, &me);
  struct {
    double value;
    int where;
  } mine = {me == i % of ? -1.0 : me, me}, least;
  MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
  check(least.where == i % of, "has a wrong place", i);
  value = 5 + me;
  MPI_Allreduce(&value, &got, 1, MPI_INT, first, comm);
  check(got == 5, "has not the first value", i);
  /* The same bits everywhere, and each time. */
  float part = 1.0f / (float)(me + 3), sum, again, root;
  MPI_Allreduce(&part, &sum, 1, MPI_FLOAT, MPI_SUM, comm);
  MPI_Allreduce(&part, &again, 1, MPI_FLOAT, MPI_SUM, comm);
  root = sum;
  MPI_Bcast(&root, 1, MPI_FLOAT, 0, comm);
  check(sum == again && sum == root, "has other bits", i);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rounds = argc > 1 ? atoi(argv[1]) : 40;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Op first;
  MPI_Op_create(take_first, 0, &first);
  MPI_Comm all[5];
  all[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &all[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &all[2]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &all[3]);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &all[4]);
  for (int i = 0; i < rounds; ++i) {
    for (int c = 0; c < 5; ++c) {
      barrier(all[c], i);
      allreduce(all[c], i);
      others(all[c], first, i);
    }
    MPI_Comm_free(&all[1]);
    MPI_Comm_dup(all[2], &all[1]);
  }
  for (int c = 1; c < 5; ++c) MPI_Comm_free(&all[c]);
  MPI_Op_free(&first);
  int all_errors = 0;
  MPI_Reduce(&errors, &all_errors, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all_errors == 0) puts("No Errors");
  MPI_Finalize();
  return all_errors != 0;
}

// Ranks with teams of OpenMP threads: thousands of small parallel regions end in time, also where
// ranks times threads outnumber the cores, and no rank starves; a team sees its rank's cores.
#define _GNU_SOURCE
#include <mpi.h>
#include <omp.h>
#include <sched.h>

#include "check.h"

enum { ROUNDS = 20, REGIONS = 100 };

static int cores_of_caller(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return CPU_COUNT(&set);
}

static void check_cores(void) {
  const int mine = cores_of_caller();
  CHECK(omp_get_num_procs() == mine);
  int wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
  wrong += cores_of_caller() != mine;
  CHECK(wrong == 0);
}

// Sums of all ranks, in turn by one thread and by the team.
static void check_regions(int rank, int size) {
  for (int round = 0; round < ROUNDS; ++round) {
    long sum = 0;
    for (int region = 0; region < REGIONS; ++region)
#pragma omp parallel for reduction(+ : sum)
      for (int i = 0; i < 100; ++i) sum += i + rank;
    long all = 0;
    MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == REGIONS * (4950L * size + 100L * size * (size - 1) / 2));
  }
}

// Rank 0's team works alone while the others wait for it, then the next one.
static void check_turns(int rank, int size) {
  long token = 0;
  if (rank > 0)
    MPI_Recv(&token, 1, MPI_LONG, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int region = 0; region < REGIONS; ++region)
#pragma omp parallel for reduction(+ : token)
    for (int i = 0; i < 4; ++i) token += 1;
  CHECK(token == 4L * REGIONS * (rank + 1));
  if (rank + 1 < size) MPI_Send(&token, 1, MPI_LONG, rank + 1, 0, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_cores();
  check_regions(rank, size);
  check_turns(rank, size);
  return finish();
}

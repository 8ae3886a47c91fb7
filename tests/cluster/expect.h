// What the programs of losses.py and losses_together.py expect of calls while others die. They define
// `rank` before.
#ifndef EXPECT_H
#define EXPECT_H

#include <mpi.h>
#include <stdio.h>

static void fail(const char* what, int value) {
  fprintf(stderr, "rank %d: %s (%d)\n", rank, what, value);
  MPI_Abort(MPI_COMM_WORLD, 99);
}

static int class_of(int error) {
  int its_class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &its_class);
  return its_class;
}

static void expect_lost(const char* what, int error) {
  if (class_of(error) != MPI_ERR_PROC_ABORTED) fail(what, class_of(error));
}

static void expect_good(const char* what, int error) {
  if (error != MPI_SUCCESS) fail(what, class_of(error));
}

#endif

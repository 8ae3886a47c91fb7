/* mpi.check=full with thousands of operations that are open at once, two ranks. The argument: gets
   into one place, receives into places that overlap (wrong), or right: receives apart. All are sent from one place.
   What is said stands in CMakeLists.txt; each operation must cost a search, not a pass over all others. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kOpen = 20000 };

static int rank;

static void gets_into_one_place(void) {
  MPI_Win win;
  int *memory, place = -1;
  MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memory[0] = 7;
  MPI_Win_fence(0, win);
  for (int i = 0; i < kOpen; ++i)
    MPI_Get(&place, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  if (place != 7) printf("rank %d has %d\n", rank, place);
  MPI_Win_free(&win);
}

static void receives(int are_apart) {
  MPI_Request* requests = malloc(kOpen * sizeof *requests);
  int* places = calloc(kOpen + 1, sizeof *places);
  const int sent = 9;
  for (int i = 0; i < kOpen; ++i) {
    if (rank == 0) {
      char* const at = (char*)places + (are_apart ? 4 * i : i);
      MPI_Irecv(at, 4, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &requests[i]);
    } else {
      MPI_Isend(&sent, 4, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &requests[i]);
    }
  }
  MPI_Waitall(kOpen, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; are_apart && rank == 0 && i < kOpen; ++i)
    if (places[i] != sent) printf("place %d has %d\n", i, places[i]);
  free(places);
  free(requests);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* how = argc > 1 ? argv[1] : "right";
  if (strcmp(how, "gets") == 0) gets_into_one_place();
  if (strcmp(how, "receives") == 0) receives(0);
  if (strcmp(how, "right") == 0) receives(1);
  MPI_Finalize();
  if (rank == 0) puts("done");
  return 0;
}

/* Programs that wait for a window for ever; the report says for what. */
#include <string.h>

#include "check.h"

int main(int argc, char** argv) {
  int rank, memory = 0;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* const how = argc > 1 ? argv[1] : "";
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_name(win, "here");
  if (strcmp(how, "lock") == 0) {
    if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win); /* rank 1 never unlocks */
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(how, "lock_of_other") == 0) {
    if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(how, "fence") == 0) {
    if (rank == 0) MPI_Win_fence(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    MPI_Group group;
    MPI_Win_get_group(win, &group);
    if (rank == 0) MPI_Win_start(group, 0, win);
    if (rank == 0) MPI_Win_complete(win); /* nobody posts */
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return finish();
}

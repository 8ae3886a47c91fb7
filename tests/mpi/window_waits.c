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
    if (rank == 1) MPI_Win_flush(0, win); /* now it is held */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win); /* rank 1 never unlocks */
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(how, "lock_of_other") == 0) {
    if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    if (rank == 1) MPI_Win_flush(0, win); /* now it is held */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    if (rank == 2) MPI_Win_unlock(0, win); /* in other processes only this waits */
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(how, "fence") == 0) {
    if (rank == 0) MPI_Win_fence(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(how, "long_post") == 0) {
    static int data[100000];
    MPI_Group group, last;
    MPI_Win long_win;
    MPI_Win_create(data, sizeof data, sizeof data[0], MPI_INFO_NULL, MPI_COMM_WORLD,
                   &long_win);
    MPI_Win_set_name(long_win, "here");
    MPI_Win_get_group(long_win, &group);
    MPI_Group_incl(group, 1, (int[]){2}, &last);
    if (rank == 0) {
      MPI_Win_start(last, 0, long_win);
      MPI_Put(data, 100000, MPI_INT, 2, 0, 100000, MPI_INT, long_win);
      MPI_Win_complete(long_win); /* nobody posts */
    }
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    MPI_Group group;
    MPI_Win_get_group(win, &group);
    if (rank == 0) MPI_Win_start(group, 0, win);
    if (rank == 0) MPI_Win_complete(win); /* nobody posts */
    if (rank == 0) MPI_Win_free(&win);    /* this waits */
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return finish();
}

/* Ranks that share a core wait for each other by a flag in shared memory, without MPI: whoever yields or sleeps gives the
 * core away. Run with one core and without the scheduler's time slices; it would not end otherwise. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { ROUNDS = 200 };

static void give_way(int how) {
  const struct timespec none = {0, 0}, some = {0, 2000};
  struct timespec now;
  switch (how) {
    case 0:
      sched_yield();
      break;
    case 1:
      usleep(1);
      break;
    case 2:
      nanosleep(&none, NULL);
      break;
    case 3:
      thrd_yield();
      break;
    case 4:
      CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &some, NULL) == 0);
      break;
    case 5:
      clock_gettime(CLOCK_REALTIME, &now);
      now.tv_nsec = now.tv_nsec + 1000 < 1000000000 ? now.tv_nsec + 1000 : now.tv_nsec;
      CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &now, NULL) == 0);
      break;
    default:
      thrd_sleep(&some, NULL);
  }
}

static void on_alarm(int signal) { (void)signal; }

int main(int argc, char** argv) {
  int rank, size, unit;
  MPI_Aint bytes;
  MPI_Win win;
  atomic_int* turn;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate_shared(rank == 0 ? sizeof(int) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                          &turn, &win);
  MPI_Win_shared_query(win, 0, &bytes, &unit, &turn);
  if (rank == 0) atomic_store(turn, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int how = 0; how < 7; ++how) {
    for (int i = 0; i < ROUNDS; ++i) {
      const int mine = (how * ROUNDS + i) * size + rank;
      while (atomic_load(turn) != mine) give_way(how);
      atomic_store(turn, mine + 1);
    }
  }
  /* Who tests gives the core to one whose sleep is over. */
  if (rank == 0 && size > 1) {
    MPI_Request request;
    int is_there = 0;
    MPI_Irecv(NULL, 0, MPI_BYTE, size - 1, 1, MPI_COMM_WORLD, &request);
    while (!is_there) MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
  } else if (rank == size - 1 && size > 1) {
    for (int i = 0; i < 20; ++i) usleep(100);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
  /* Sleeps last as long as they should, and a handler ends a long one. */
  double begin = MPI_Wtime();
  usleep(30000);
  CHECK(MPI_Wtime() - begin >= 0.03);
  begin = MPI_Wtime();
  CHECK(sleep(0) == 0);
  const struct timespec wrong = {0, 1000000000}, negative = {-1, 0};
  CHECK(nanosleep(&wrong, NULL) == -1 && nanosleep(&negative, NULL) == -1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    alarm(1);
    begin = MPI_Wtime();
    CHECK(sleep(20) > 0);
    CHECK(MPI_Wtime() - begin < 15);
  }
  MPI_Win_free(&win);
  return finish();
}

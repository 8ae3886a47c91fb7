// Processes of several ranks that die, and what the others see of it: mpcrun -p K --on-fail notify.
// losses_together.py runs its parts: PART RANKS-PER-PROCESS HOW ...
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kLarge = 1 << 20 };
static int rank, size, per,
    doomed; /* per: ranks of a process; doomed: the rank that dies */
static char* buffer;
static MPI_Comm mates; /* the ranks of this process */

#include "expect.h"

static void die(const char* how) {
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "segv") == 0) *(volatile int*)8 = 1;
  if (strcmp(how, "term") == 0) raise(SIGTERM);
  exit(3);
}

static int dies(int other) { return other / per == doomed / per; }

static int collective(int which, MPI_Comm comm) {
  int n, one = 1, sum = 0;
  MPI_Comm_size(comm, &n);
  const int part = kLarge / 64;
  switch (which % 7) {
    case 0:
      return MPI_Barrier(comm);
    case 1:
      return MPI_Bcast(buffer, kLarge, MPI_BYTE, which % n, comm);
    case 2: {
      const int error = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
      if (error == MPI_SUCCESS && sum != n) fail("sum", sum);
      return error;
    }
    case 3:
      return MPI_Allgather(buffer, part, MPI_BYTE, buffer + kLarge, part, MPI_BYTE,
                           comm);
    case 4:
      return MPI_Alltoall(buffer, part, MPI_BYTE, buffer + kLarge, part, MPI_BYTE,
                          comm);
    case 5:
      return MPI_Reduce(buffer, buffer + kLarge, kLarge / 8, MPI_DOUBLE, MPI_MAX,
                        which % n, comm);
    default: {
      MPI_Request request;
      const int error = MPI_Ibcast(buffer, kLarge, MPI_BYTE, which % n, comm, &request);
      return error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
}

// With all that live, also those of the same process.
static void exchange(int round) {
  for (int i = 0; i < size; ++i) {
    const int other = (i - rank + size) % size;
    int out = round, in = -1;
    if (dies(other)) continue;
    expect_good("exchange", MPI_Sendrecv(&out, 1, MPI_INT, other, 5, &in, 1, MPI_INT,
                                         other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (in != round) fail("exchange", in);
  }
}

static void receives_from_the_dead(void) {
  int in;
  for (int dead = 0; dead < size; ++dead) {
    if (!dies(dead)) continue;
    expect_lost("receive",
                MPI_Recv(&in, 1, MPI_INT, dead, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    expect_lost("send", MPI_Send(&in, 1, MPI_INT, dead, 77, MPI_COMM_WORLD));
    expect_lost("large send",
                MPI_Send(buffer, kLarge, MPI_BYTE, dead, 77, MPI_COMM_WORLD));
    expect_lost("probe", MPI_Probe(dead, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
}

// From any source each death is told once to each rank; then others are received from.
static void any_source(void) {
  int told = 0, in = -1;
  const int to = 100 + rank, mate = rank / per * per + (rank + 1) % per;
  for (int i = 0; i < per; ++i) {
    MPI_Status status;
    expect_lost("any",
                MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, to, MPI_COMM_WORLD, &status));
    if (!dies(status.MPI_SOURCE)) fail("it lives", status.MPI_SOURCE);
    told |= 1 << status.MPI_SOURCE % per;
  }
  if (told != (1 << per) - 1) fail("told", told);
  expect_good("barrier", MPI_Barrier(mates));  // else its message might come too early
  MPI_Request request;
  expect_good("any again",
              MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, to, MPI_COMM_WORLD, &request));
  expect_good("to a mate",
              MPI_Send(&rank, 1, MPI_INT, mate, 100 + mate, MPI_COMM_WORLD));
  expect_good("any again", MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (in < 0 || in / per != rank / per) fail("from a mate", in);
}

static void go_on_without(void) {
  MPI_Group world, living;
  MPI_Comm rest, half;
  int dead[64], n = 0;
  for (int other = 0; other < size; ++other)
    if (dies(other)) dead[n++] = other;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_excl(world, n, dead, &living);
  expect_lost("dup", MPI_Comm_dup(MPI_COMM_WORLD, &rest));
  expect_lost("split", MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &rest));
  expect_good("create_group", MPI_Comm_create_group(MPI_COMM_WORLD, living, 1, &rest));
  for (int i = 0; i < 70; ++i) expect_good("of the living", collective(i, rest));
  for (int i = 0; i < 14; ++i) {
    expect_good("of the process", collective(i, mates));
    expect_good("split of the living", MPI_Comm_split(rest, rank % 2, 0, &half));
    expect_good("of half of them", collective(i, half));
    MPI_Comm_free(&half);
    exchange(i);
  }
  MPI_Comm_free(&rest);
  MPI_Group_free(&world);
  MPI_Group_free(&living);
}

// A process dies amid collectives of all.
static void collectives(const char* how, int which) {
  if (dies(rank))
    for (int i = 0;; ++i) {
      if (rank == doomed && i == 20) die(how);
      collective(which, MPI_COMM_WORLD);
    }
  int error = MPI_SUCCESS;
  while (error == MPI_SUCCESS) error = collective(which, MPI_COMM_WORLD);
  expect_lost("collective", error);
  receives_from_the_dead();
  for (int i = 0; i < 14; ++i) expect_lost("later", collective(i, MPI_COMM_WORLD));
  any_source();
  go_on_without();
}

// Of each process some ranks wait in a split, and others have not come yet.
static void split(const char* how) {
  MPI_Comm made;
  if (rank == doomed) {
    usleep(200000);
    die(how);
  }
  if (dies(rank)) pause();
  if (rank % per == 0) usleep(600000);
  expect_lost("split", MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &made));
  receives_from_the_dead();
  go_on_without();
}

// The others exchange messages, and see nothing of a death that is none of theirs.
static void unconcerned(const char* how) {
  if (rank == doomed) {
    usleep(50000);
    die(how);
  }
  if (dies(rank)) pause();
  for (int i = 0; i < 2000; ++i) exchange(i);
  for (int i = 0; i < 200; ++i) expect_good("of the process", collective(i, mates));
}

// A master gives tasks to all; each death is told to it, and the tasks are given again.
static void farm(const char* how) {
  enum { kTasks = 600 };
  if (rank != 0) {
    for (int done = 0;; ++done) {
      int task;
      expect_good("task",
                  MPI_Recv(&task, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      if (task < 0) return;
      if (rank == doomed && done == 10) die(how);
      expect_good("result", MPI_Send(&task, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
    }
  }
  int todo[kTasks + 64], left = 0, doing[64], done = 0, lost = 0, sum = 0;
  for (int i = 0; i < kTasks; ++i) todo[left++] = i;
  for (int w = 1; w < size; ++w) {
    doing[w] = todo[--left];
    expect_good("first", MPI_Send(&doing[w], 1, MPI_INT, w, 1, MPI_COMM_WORLD));
  }
  int idle = 0;
  while (done < kTasks || lost < per) {
    int task = -1;
    MPI_Status status;
    const int error =
        MPI_Recv(&task, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
    const int w = status.MPI_SOURCE;
    if (error != MPI_SUCCESS) {
      expect_lost("receive from any", error);
      if (!dies(w)) fail("a worker that lives is said to be dead", w);
      ++lost;
      if (doing[w] >= 0) todo[left++] = doing[w];
      doing[w] = -1;
      continue;
    }
    if (task != doing[w]) fail("result", task);
    if (task < kTasks) ++done, sum += task;
    // Tasks that do not count keep the doomed one busy until it dies.
    doing[w] = left > 0 ? todo[--left] : kTasks + idle++;
    if (MPI_Send(&doing[w], 1, MPI_INT, w, 1, MPI_COMM_WORLD) != MPI_SUCCESS) {
      if (doing[w] < kTasks) todo[left++] = doing[w];
      doing[w] = -1;
    }
  }
  int end = -1;
  for (int w = 1; w < size; ++w) MPI_Send(&end, 1, MPI_INT, w, 1, MPI_COMM_WORLD);
  printf("%d tasks, sum %d, %d lost\n", done, sum, lost);
}

// Processes with odd numbers die at random moments behind MPI_Init; the others come to their end.
static void storm(int seed) {
  if (rank / per % 2 == 1 && rank % per == 0) {
    struct timespec pause_for = {0, 0};
    srand((unsigned)(seed * 64 + rank));
    pause_for.tv_nsec = 1 + rand() % 3000 * 1000;
    nanosleep(&pause_for, NULL);
    raise(SIGKILL);
  }
  for (int round = 0; round < 40; ++round)
    for (int i = 1; i < size; ++i) {
      int out = round, in;
      MPI_Request both[2];
      MPI_Irecv(&in, 1, MPI_INT, (rank + size - i) % size, 1, MPI_COMM_WORLD, &both[0]);
      MPI_Isend(&out, 1, MPI_INT, (rank + i) % size, 1, MPI_COMM_WORLD, &both[1]);
      MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
      collective(round, MPI_COMM_WORLD);
    }
  if (rank / per % 2 == 1) pause();
}

// A long message is under way: its receive, from any source, fails, and says of whom. That is the report of this death.
static void half_sent(const char* how) {
  MPI_Request under_way;
  MPI_Status status;
  const int to = per < doomed ? 0 : size - 1, last = (to + 1) % size;
  int in = 0;
  if (rank == doomed)
    MPI_Isend(buffer, kLarge, MPI_BYTE, to, 22, MPI_COMM_WORLD, &under_way);
  expect_good("barrier", MPI_Barrier(MPI_COMM_WORLD));
  if (rank == doomed) usleep(100000), die(how);
  if (rank == to) {
    usleep(400000);
    for (int i = 0; i < per; ++i) { /* those of its process, and each once */
      expect_lost("long", MPI_Recv(buffer, kLarge, MPI_BYTE, MPI_ANY_SOURCE, 22,
                                   MPI_COMM_WORLD, &status));
      if (!dies(status.MPI_SOURCE)) fail("it lives", status.MPI_SOURCE);
    }
    MPI_Send(&in, 1, MPI_INT, last, 23, MPI_COMM_WORLD);
    expect_good("next", MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 22, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE));
  }
  if (rank == last) {
    MPI_Recv(&in, 1, MPI_INT, to, 23, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&in, 1, MPI_INT, to, 22, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const char *part = argv[1], *how = argv[3];
  per = atoi(argv[2]);
  doomed = atoi(argv[4]);
  if (strcmp(part, "before") == 0 && argc > 5 &&
      open(argv[5], O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0)
    die(how); /* the first one that comes here */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  buffer = calloc(64, kLarge / 8);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_split(MPI_COMM_WORLD, rank / per, 0, &mates);
  if (strcmp(part, "storm") != 0) {
    const int will = doomed;
    doomed = per * size; /* nobody yet */
    for (int i = 0; i < 4; ++i) exchange(i);
    for (int i = 0; i < 7; ++i) expect_good("at start", collective(i, MPI_COMM_WORLD));
    doomed = will;
  }
  if (strcmp(part, "collectives") == 0) collectives(how, atoi(argv[5]));
  if (strcmp(part, "split") == 0) split(how);
  if (strcmp(part, "unconcerned") == 0) unconcerned(how);
  if (strcmp(part, "farm") == 0) farm(how);
  if (strcmp(part, "half_sent") == 0) half_sent(how);
  if (strcmp(part, "storm") == 0) storm(doomed);
  if (strcmp(part, "in_finalize") == 0 && rank == doomed) usleep(300000), die(how);
  if (strcmp(part, "aborts") == 0)
    rank == doomed ? MPI_Abort(MPI_COMM_WORLD, 7) : pause();
  MPI_Comm_free(&mates);
  MPI_Finalize();
  if (strcmp(part, "after_finalize") == 0)
    rank == doomed ? die(how) : (void)sleep(dies(rank) ? 60 : 1);
  if (rank == 0) puts("finished");
  return 0;
}

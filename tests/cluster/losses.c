// Ranks that die, and what the others see of it: mpcrun --on-fail notify. losses.py runs its parts.
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kLarge = 1 << 20 };
static int rank, size;
static char* buffer;

#include "expect.h"

static void die(const char* how) {
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "segv") == 0) raise(SIGSEGV);
  if (strcmp(how, "exit") == 0) exit(3);
  _exit(4);
}

static void all_ready(void) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < size; ++i) {
      int out = round, in = -1, other = (i - rank + size) % size;
      expect_good("exchange at start",
                  MPI_Sendrecv(&out, 1, MPI_INT, other, 3, &in, 1, MPI_INT, other, 3,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      if (in != round) fail("exchange at start", in);
    }
    expect_good("barrier at start", MPI_Barrier(MPI_COMM_WORLD));
  }
}

// Returns when this rank knows of the death.
static void see_death_of(int dead) {
  int byte;
  expect_lost("a receive that shows a death",
              MPI_Recv(&byte, 1, MPI_INT, dead, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

// --- parts ----------------------------------------------------------------------------------------

// A worker that dies at its 2 * rank-th task.
static int is_doomed(int worker) { return worker > 1 && worker % 2 == 0; }

// A master gives out tasks, and again those of workers that died. To those that are slow to die, as
// others have the cores, it gives tasks that do not count.
static void farm(const char* how) {
  enum { kTasks = 400 };
  if (rank != 0) {
    for (int done = 0;; ++done) {
      int task;
      expect_good("task",
                  MPI_Recv(&task, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      if (task < 0) return;
      if (is_doomed(rank) && done == 2 * rank) die(how);
      int result[2] = {task, task * task};
      expect_good("result", MPI_Send(result, 2, MPI_INT, 0, 2, MPI_COMM_WORLD));
    }
  }
  int next = 0, done = 0, lost = 0, sum = 0, doing[64], again[64], agains = 0, idle[64],
      idles = 0;
  for (int w = 1; w < size; ++w) idle[idles++] = w, doing[w] = -1;
  while (done < kTasks || lost < (size - 1) / 2) {
    for (int i = idles; i-- > 0;) {
      const int w = idle[i];
      if (next == kTasks && agains == 0 && !is_doomed(w)) continue;
      int task = agains > 0 ? again[--agains] : next < kTasks ? next++ : kTasks;
      idle[i] = idle[--idles];
      if (MPI_Send(&task, 1, MPI_INT, w, 1, MPI_COMM_WORLD) != MPI_SUCCESS)
        again[agains++] = task;  // its death is told by the receive
      else
        doing[w] = task;
    }
    int result[2];
    MPI_Status status;
    const int error =
        MPI_Recv(result, 2, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
    const int w = status.MPI_SOURCE;
    if (error != MPI_SUCCESS) {
      expect_lost("receive from any", error);
      if (!is_doomed(w)) fail("a worker that lives is said to be dead", w);
      ++lost;
      if (doing[w] >= 0) again[agains++] = doing[w];
      doing[w] = -1;
      for (int i = 0; i < idles; ++i)
        if (idle[i] == w) idle[i--] = idle[--idles];
      continue;
    }
    if (result[0] != doing[w] || result[1] != result[0] * result[0])
      fail("result", result[0]);
    doing[w] = -1, idle[idles++] = w;
    if (result[0] < kTasks) ++done, sum += result[0];
  }
  int end = -1;
  for (int w = 1; w < size; ++w) MPI_Send(&end, 1, MPI_INT, w, 1, MPI_COMM_WORLD);
  printf("%d tasks, sum %d, %d lost\n", done, sum, lost);
}

static void receives(const char* how) {
  all_ready();
  const int dead = 1;
  if (rank == dead) {
    usleep(100000);
    die(how);
  }
  if (rank != 0) {  // who does not need it does not see it
    for (int i = 0; i < 2000; ++i) {
      int got = -1, other = rank == 2 ? 3 : 2;
      expect_good("exchange of others",
                  MPI_Sendrecv(&i, 1, MPI_INT, other, 5, &got, 1, MPI_INT, other, 5,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      if (got != i) fail("exchange", got);
    }
    return;
  }
  MPI_Request all[4], partly[2];
  MPI_Status status[4];
  int in[4];
  MPI_Irecv(&in[0], 1, MPI_INT, dead, 10, MPI_COMM_WORLD, &all[0]);
  MPI_Irecv(buffer, kLarge, MPI_BYTE, dead, 11, MPI_COMM_WORLD, &all[1]);
  MPI_Recv_init(&in[2], 1, MPI_INT, dead, MPI_ANY_TAG, MPI_COMM_WORLD, &all[2]);
  MPI_Start(&all[2]);
  MPI_Issend(&in[3], 1, MPI_INT, dead, 12, MPI_COMM_WORLD, &all[3]);
  MPI_Isend(buffer, kLarge, MPI_BYTE, dead, 13, MPI_COMM_WORLD, &partly[0]);
  if (class_of(MPI_Waitall(4, all, status)) != MPI_ERR_IN_STATUS) fail("waitall", 0);
  for (int i = 0; i < 4; ++i) expect_lost("in waitall", status[i].MPI_ERROR);
  expect_lost("large send under way", MPI_Wait(&partly[0], MPI_STATUS_IGNORE));
  expect_lost("receive",
              MPI_Recv(in, 1, MPI_INT, dead, 14, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  expect_lost("send", MPI_Send(in, 1, MPI_INT, dead, 15, MPI_COMM_WORLD));
  expect_lost("large send",
              MPI_Send(buffer, kLarge, MPI_BYTE, dead, 15, MPI_COMM_WORLD));
  expect_lost("ssend", MPI_Ssend(in, 1, MPI_INT, dead, 15, MPI_COMM_WORLD));
  expect_lost("sendrecv", MPI_Sendrecv(in, 1, MPI_INT, 0, 16, in + 1, 1, MPI_INT, dead,
                                       16, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  expect_good("own message",
              MPI_Recv(in, 1, MPI_INT, 0, 16, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  expect_lost("probe", MPI_Probe(dead, 17, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  MPI_Message message;
  expect_lost("mprobe",
              MPI_Mprobe(dead, 17, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
  int flag = 1;
  expect_lost("iprobe", MPI_Iprobe(dead, 17, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  expect_lost("start again",
              (MPI_Start(&all[2]), MPI_Wait(&all[2], MPI_STATUS_IGNORE)));
  MPI_Request_free(&all[2]);
  // From any source: once, then as ever.
  expect_lost("any",
              MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 18, MPI_COMM_WORLD, &status[0]));
  if (status[0].MPI_SOURCE != dead) fail("source", status[0].MPI_SOURCE);
  expect_good("own", MPI_Send(in, 1, MPI_INT, 0, 18, MPI_COMM_WORLD));
  expect_good("any again",
              MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 18, MPI_COMM_WORLD, &status[0]));
}

// What has been sent before the death comes, small and by probe; then nothing.
static void last_words(const char* how) {
  all_ready();
  if (rank == 1) {
    for (int i = 0; i < 50; ++i) MPI_Send(&i, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    MPI_Recv(buffer, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    die(how);
  }
  int got = -1;
  /* Nobody is in the barrier any more when it dies. */
  if (rank != 0) MPI_Send(&got, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  if (rank != 0) return;
  for (int other = 2; other < size; ++other)
    MPI_Recv(&got, 1, MPI_INT, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(&got, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&got, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
  sleep(1);
  for (int i = 1; i < 50; ++i) {
    expect_good("message of the dead",
                MPI_Recv(&got, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (got != i) fail("its order", got);
  }
  see_death_of(1);
}

// Killed while it sends: what comes is whole and in order.
static void in_the_midst(int after_us) {
  enum { kInts = 2000 };  // up to 8000 bytes
  static int data[kInts];
  all_ready();
  if (rank == 1 && fork() == 0) usleep(after_us), kill(getppid(), SIGKILL), _exit(0);
  for (int i = 0; rank == 1; ++i) {
    for (int k = 0; k < kInts; ++k) data[k] = i + k;
    MPI_Send(data, i * 37 % kInts, MPI_INT, 0, 3, MPI_COMM_WORLD);
  }
  for (int i = 0, error, n = 0; rank == 0; ++i) {
    MPI_Status status;
    error = MPI_Recv(data, kInts, MPI_INT, 1, 3, MPI_COMM_WORLD, &status);
    if (error != MPI_SUCCESS) return expect_lost("receive from the killed", error);
    MPI_Get_count(&status, MPI_INT, &n);
    if (n != i * 37 % kInts) fail("length", n);
    for (int k = 0; k < n; ++k)
      if (data[k] != i + k) fail("data", k);
  }
}

static int collective(int which, MPI_Comm comm) {
  int me, n, one = 1, sum = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  const int part = kLarge / 64;
  switch (which % 6) {
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
    default: {
      MPI_Request request;
      const int error = MPI_Ibcast(buffer, kLarge, MPI_BYTE, which % n, comm, &request);
      return error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
}

// Somebody dies amid collectives: all others see an error in the end, and go on without him.
static void collectives(const char* how, int which, int dead) {
  all_ready();
  if (rank == dead) {
    for (int i = 0; i < 20; ++i) collective(which, MPI_COMM_WORLD);
    die(how);
  }
  int error = MPI_SUCCESS;
  for (int i = 0; error == MPI_SUCCESS; ++i) error = collective(which, MPI_COMM_WORLD);
  expect_lost("collective", error);
  see_death_of(dead);
  for (int i = 0; i < 12; ++i) expect_lost("later", collective(i, MPI_COMM_WORLD));
  MPI_Group world, living;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_excl(world, 1, &dead, &living);
  MPI_Comm rest, half;
  expect_lost("dup", MPI_Comm_dup(MPI_COMM_WORLD, &rest));
  expect_lost("split", MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &rest));
  expect_good("create_group", MPI_Comm_create_group(MPI_COMM_WORLD, living, 1, &rest));
  for (int i = 0; i < 60; ++i) expect_good("of the living", collective(i, rest));
  for (int i = 0; i < 20; ++i) {
    expect_good("split of the living", MPI_Comm_split(rest, rank % 2, 0, &half));
    expect_good("of half of them", collective(i, half));
    MPI_Comm_free(&half);
  }
  MPI_Comm_free(&rest);
  MPI_Group_free(&world);
  MPI_Group_free(&living);
}

static void waits_in(const char* call, const char* how) {
  all_ready();
  if (rank == 1) {
    usleep(300000);
    die(how);
  }
  MPI_Comm made;
  MPI_Win window;
  if (strcmp(call, "split") == 0)
    expect_lost(call, MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &made));
  else if (strcmp(call, "window") == 0)
    MPI_Win_create(buffer, kLarge, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
}

static void has_window(const char* how) {
  MPI_Win window;
  MPI_Win_create(buffer, kLarge, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  all_ready();
  if (rank == 1) die(how);
  MPI_Win_fence(0, window);
}

// All connections are used while ranks with odd numbers die at random moments of their first
// milliseconds behind MPI_Init. What the others see of it is not looked at: they come to their end.
static void storm(int seed) {
  if (rank % 2 == 1) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer;
    srand((unsigned)(seed * 64 + rank));
    struct itimerspec at = {{0, 0}, {0, 1 + rand() % 3000 * 1000}};
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &at, NULL);
  }
  for (int round = 0; round < 40; ++round)
    for (int i = 1; i < size; ++i) {
      int out = round, in;
      MPI_Request both[2];
      MPI_Irecv(&in, 1, MPI_INT, (rank + size - i) % size, 1, MPI_COMM_WORLD, &both[0]);
      MPI_Isend(&out, 1, MPI_INT, (rank + i) % size, 1, MPI_COMM_WORLD, &both[1]);
      MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
  if (rank % 2 == 1) pause();
}

// The ranks from `first` to `last` are on a host that is lost. `is_busy`: all the time something is under way
// with them; else they never answer.
static void host_lost(int first, int last, int is_busy) {
  all_ready();
  const int lowest = first == 0 ? last + 1 : 0,
            partner = first + rank % (last - first + 1);
  if (rank >= first && rank <= last) {
    MPI_Status status;
    while (!is_busy) pause();  // not in MPI: all would wait for ever, which is reported
    for (;;) {
      MPI_Recv(buffer, kLarge, MPI_BYTE, MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, &status);
      MPI_Send(buffer, kLarge, MPI_BYTE, status.MPI_SOURCE, 21, MPI_COMM_WORLD);
    }
  }
  if (rank == lowest) puts("ready"), fflush(stdout);
  MPI_Request under_way[2];
  int error = MPI_SUCCESS;
  while (error == MPI_SUCCESS) {
    MPI_Irecv(buffer + kLarge, kLarge, MPI_BYTE, partner, 21, MPI_COMM_WORLD,
              &under_way[0]);
    MPI_Isend(buffer, kLarge, MPI_BYTE, partner, 20, MPI_COMM_WORLD, &under_way[1]);
    error = MPI_Waitall(2, under_way, MPI_STATUSES_IGNORE);
  }
  if (class_of(error) != MPI_ERR_IN_STATUS) fail("under way", class_of(error));
  int others[64], n = 0;
  for (int dead = first; dead <= last; ++dead) {
    see_death_of(dead);
    expect_lost("send", MPI_Send(&n, 1, MPI_INT, dead, 20, MPI_COMM_WORLD));
    expect_lost("large send",
                MPI_Send(buffer, kLarge, MPI_BYTE, dead, 20, MPI_COMM_WORLD));
    others[n++] = dead;
  }
  expect_lost("barrier", MPI_Barrier(MPI_COMM_WORLD));
  MPI_Group world, living;
  MPI_Comm rest;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_excl(world, n, others, &living);
  expect_good("create_group", MPI_Comm_create_group(MPI_COMM_WORLD, living, 1, &rest));
  for (int i = 0; i < 60; ++i) expect_good("of the living", collective(i, rest));
  if (rank == lowest) puts("went on"), fflush(stdout);
  MPI_Comm_free(&rest);
  MPI_Group_free(&world);
  MPI_Group_free(&living);
}

int main(int argc, char** argv) {
  const char *part = argc > 1 ? argv[1] : "", *how = argc > 2 ? argv[2] : "kill";
  if (strcmp(part, "before") == 0 &&
      atoi(getenv("PMIX_RANK") ? getenv("PMIX_RANK") : "0") == 1)
    die(how);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  buffer = calloc(64, kLarge / 8);
  if (strcmp(part, "fatal") != 0)
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (strcmp(part, "farm") == 0) farm(how);
  if (strcmp(part, "receives") == 0) receives(how);
  if (strcmp(part, "last_words") == 0) last_words(how);
  if (strcmp(part, "in_the_midst") == 0) in_the_midst(atoi(argv[2]));
  if (strcmp(part, "collectives") == 0) collectives(how, atoi(argv[3]), atoi(argv[4]));
  if (strcmp(part, "storm") == 0) storm(atoi(argv[2]));
  if (strcmp(part, "host_lost") == 0)
    host_lost(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
  if (strcmp(part, "waits_in") == 0) waits_in(argv[3], how);
  if (strcmp(part, "has_window") == 0) has_window(how);
  if (strcmp(part, "at_once") == 0 && rank == size - 1) die(how);
  if (strcmp(part, "in_finalize") == 0 && rank == 1) usleep(300000), die(how);
  if (strcmp(part, "only_one") == 0 && rank != 1) die(how);
  if (strcmp(part, "aborts") == 0) rank == 1 ? MPI_Abort(MPI_COMM_WORLD, 7) : pause();
  if (strcmp(part, "fatal") == 0) rank == 1 ? die(how) : see_death_of(1);
  MPI_Finalize();
  if (strcmp(part, "after_finalize") == 0) rank == 1 ? die(how) : (void)sleep(1);
  if (rank == 0) puts("finished");
  return 0;
}

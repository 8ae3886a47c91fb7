/* Two ranks, of two processes of a host: short messages that a blocking receive finds where they lie, and all that could
 * stand in their way: receives posted before, other tags, probes, synchronous sends, long messages, a second thread with
 * messages of its own, silence. Which comes when is random. "No Errors". */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 6000, LONG = 40000, ASIDE = 99 };

static int rank, other, errors;
static unsigned state = 1; /* the same in both ranks */

static unsigned draw(unsigned n) {
  state = state * 1664525u + 1013904223u;
  return (state >> 10) % n;
}

static void expect(int found, int wanted) { errors += found != wanted; }

static int receive(int source, int tag, int count) {
  static int data[LONG];
  MPI_Status status;
  data[count - 1] = -1;
  MPI_Recv(data, count, MPI_INT, source, tag, MPI_COMM_WORLD, &status);
  int got;
  MPI_Get_count(&status, MPI_INT, &got);
  expect(got, count);
  expect(status.MPI_SOURCE, other);
  if (tag != MPI_ANY_TAG) expect(status.MPI_TAG, tag);
  return data[count - 1];
}

static void send(int value, int tag, int count, int is_synchronous) {
  static int data[LONG];
  data[count - 1] = value;
  if (is_synchronous)
    MPI_Ssend(data, count, MPI_INT, other, tag, MPI_COMM_WORLD);
  else
    MPI_Send(data, count, MPI_INT, other, tag, MPI_COMM_WORLD);
}

/* One of the two sends, the other one receives. */
static void turn(int sends, int i, unsigned kind) {
  const int source = draw(3) == 0 ? MPI_ANY_SOURCE : other;
  const int count = draw(8) == 0 ? 1 + (int)draw(1500) : 1;
  MPI_Request earlier;
  int first = -1;
  if (sends) {
    switch (kind) {
      case 1:
        send(i, 7, LONG, 0);
        break;
      case 2:
        send(i, 7, count, 1);
        break;
      case 3:
        send(i + 1, 8, count, 0), send(i, 7, count, 0);
        break;
      case 4:
        send(i, 7, 1, 0), send(i + 1, 7, 1, 0);
        break;
      case 5:
        usleep(draw(3) == 0 ? 300 : 20), send(i, 7, count, 0);
        break;
      default:
        send(i, 7, count, 0);
    }
    return;
  }
  switch (kind) {
    case 1:
      expect(receive(source, 7, LONG), i);
      break;
    case 3: /* the later one first */
      expect(receive(source, 7, count), i);
      expect(receive(source, 8, count), i + 1);
      break;
    case 4: /* a receive that was posted before takes the first one */
      MPI_Irecv(&first, 1, MPI_INT, source, 7, MPI_COMM_WORLD, &earlier);
      expect(receive(other, 7, 1), i + 1);
      MPI_Wait(&earlier, MPI_STATUS_IGNORE);
      expect(first, i);
      break;
    case 5:
      draw(3); /* fall through */
    case 2:
      expect(receive(source, 7, count), i);
      break;
    case 6:
      MPI_Probe(source, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* fall through */
    default:
      expect(receive(source, 7, count), i);
  }
}

static volatile int is_over;

/* A thread of each rank that talks with the other's all the time. */
static void* talk(void* argument) {
  MPI_Comm* const comm = argument;
  for (int i = 0; !is_over || i % 50 != 0; ++i) {
    int value = -1, go_on = !is_over || (i + 1) % 50 != 0;
    if (rank == 0) {
      MPI_Send(&i, 1, MPI_INT, 1, ASIDE, *comm);
      MPI_Recv(&value, 1, MPI_INT, 1, ASIDE, *comm, MPI_STATUS_IGNORE);
      MPI_Send(&go_on, 1, MPI_INT, 1, ASIDE, *comm);
    } else {
      MPI_Recv(&value, 1, MPI_INT, 0, ASIDE, *comm, MPI_STATUS_IGNORE);
      MPI_Send(&value, 1, MPI_INT, 0, ASIDE, *comm);
      MPI_Recv(&go_on, 1, MPI_INT, 0, ASIDE, *comm, MPI_STATUS_IGNORE);
    }
    if (value != i) __sync_fetch_and_add(&errors, 1);
    if (!go_on) break;
    usleep(50);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int has_threads = argc > 1;
  int provided, all;
  pthread_t thread;
  MPI_Comm aside;
  MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &aside);
  other = 1 - rank;
  if (has_threads && pthread_create(&thread, NULL, talk, &aside) != 0)
    MPI_Abort(MPI_COMM_WORLD, 2);
  for (int i = 0; i < ROUNDS; ++i) {
    const unsigned kind = draw(8);
    turn(rank == (int)draw(2), 10 * i, kind);
    if (draw(500) ==
        0) { /* what is known of a communicator's members must not outlive it */
      MPI_Comm copy;
      int value = rank, from = -1;
      MPI_Comm_dup(MPI_COMM_WORLD, &copy);
      MPI_Send(&value, 1, MPI_INT, other, 7, copy);
      MPI_Recv(&from, 1, MPI_INT, other, 7, copy, MPI_STATUS_IGNORE);
      expect(from, other);
      MPI_Comm_free(&copy);
    }
  }
  is_over = 1;
  if (has_threads) pthread_join(thread, NULL);
  MPI_Reduce(&errors, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("No Errors\n");
  MPI_Comm_free(&aside);
  MPI_Finalize();
  return errors != 0;
}

/* Messages of all sizes that stand in the ring of a receiver in one cell, in several, or outside of it, in a
   random order, with tags that fit in a cell and tags that do not: each arrives whole, and in its order. Rank r
   sends the same sequence to every rank; who receives knows it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kMessages = 600, kMost = 9000, kWindow = 40 };

static uint32_t next(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static int size_of(uint32_t* state) {
  switch (next(state) % 8) {
    case 0:
      return 9 + (int)(next(state) % 20);
    case 1:
      return 29 + (int)(next(state) % 200);
    case 2:
      return 220 + (int)(next(state) % 10); /* the end of what the ring takes */
    case 3:
      return next(state) % 8 == 0 ? (int)(next(state) % kMost) : 8;
    default:
      return (int)(next(state) % 9);
  }
}

static int tag_of(uint32_t* state, int most) {
  switch (next(state) % 4) {
    case 0:
      return 65535;
    case 1:
      return 65536;
    case 2:
      return most - (int)(next(state) % 3);
    default:
      return (int)(next(state) % 4);
  }
}

static void fill(unsigned char* data, int bytes, int source, int number) {
  for (int i = 0; i < bytes; ++i)
    data[i] = (unsigned char)(source * 31 + number * 7 + i);
}

static unsigned char sent[kWindow][kMost], got[kMost], wanted[kMost];

/* A window of messages that have been started, to one rank after the other. */
static void send_all(int rank, int ranks, int most_tag, MPI_Comm comm, uint32_t seed) {
  MPI_Request requests[kWindow];
  for (int to = 0; to < ranks; ++to) {
    uint32_t state = seed + (uint32_t)rank;
    int open = 0;
    for (int i = 0; i < kMessages; ++i) {
      const int bytes = size_of(&state), tag = tag_of(&state, most_tag);
      fill(sent[open], bytes, rank, i);
      if (i % 7 == 3 && to > rank) {
        MPI_Send(sent[open], bytes, MPI_BYTE, to, tag, comm);
        continue;
      }
      MPI_Isend(sent[open], bytes, MPI_BYTE, to, tag, comm, &requests[open]);
      if (++open == kWindow || i + 1 == kMessages) {
        /* Others send to us meanwhile; all that is small enough is buffered, the rest waits. */
        if (to == rank || ranks == 1) break;
        MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
        open = 0;
      }
    }
    if (to == rank) { /* a rank alone receives what it has sent: the first window */
      uint32_t again = seed + (uint32_t)rank;
      for (int i = 0; i < open; ++i) {
        MPI_Status status;
        int count;
        const int bytes = size_of(&again), tag = tag_of(&again, most_tag);
        MPI_Recv(got, kMost, MPI_BYTE, rank, tag, comm, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(count == bytes);
        fill(wanted, bytes, rank, i);
        CHECK(memcmp(got, wanted, (size_t)bytes) == 0);
      }
      MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
    } else if (open > 0) {
      MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
    }
  }
}

static void receive_all(int from, int most_tag, MPI_Comm comm, uint32_t seed) {
  uint32_t state = seed + (uint32_t)from;
  for (int i = 0; i < kMessages; ++i) {
    MPI_Status status;
    int count;
    const int bytes = size_of(&state), tag = tag_of(&state, most_tag);
    if (i % 5 == 0) {
      MPI_Probe(from, MPI_ANY_TAG, comm, &status);
      CHECK(status.MPI_TAG == tag);
    }
    MPI_Recv(got, kMost, MPI_BYTE, from, i % 3 == 0 ? MPI_ANY_TAG : tag, comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(status.MPI_SOURCE == from && status.MPI_TAG == tag && count == bytes);
    fill(wanted, bytes, from, i);
    CHECK(memcmp(got, wanted, (size_t)bytes) == 0);
  }
}

int main(int argc, char** argv) {
  int rank, ranks, flag, *most;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &flag);
  CHECK(flag);
  /* One rank after the other sends to all, so that who receives is busy with one sequence; then all
     to the last rank at once, whose ring has cells of all of them. */
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    for (int source = 0; source < ranks; ++source) {
      if (source == rank)
        send_all(rank, ranks, *most, MPI_COMM_WORLD, seed * 1000);
      else
        receive_all(source, *most, MPI_COMM_WORLD, seed * 1000);
    }
    if (rank < ranks - 1) {
      uint32_t state = seed + (uint32_t)rank;
      for (int i = 0; i < kMessages; ++i) {
        const int bytes = size_of(&state), tag = tag_of(&state, *most);
        fill(sent[0], bytes, rank, i);
        MPI_Send(sent[0], bytes, MPI_BYTE, ranks - 1, tag, MPI_COMM_WORLD);
      }
    } else {
      for (int source = 0; source < rank; ++source)
        receive_all(source, *most, MPI_COMM_WORLD, seed);
    }
  }
  return finish();
}

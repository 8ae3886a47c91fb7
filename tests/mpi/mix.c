/* Random messages that every rank knows from the same seed: all send modes, wildcards, probes,
   matched probes, self messages, types with gaps, sizes around the limits of the protocols;
   completed by Wait, Test, Waitall, Waitany, Waitsome, Testany in random order.
   usage: mix [SEED [ROUNDS]]; the seed is printed when something is wrong. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum { kMost = 40, kBytes = 200000 };

static unsigned state, own_state;
static unsigned draw_from(unsigned* s, unsigned n) {
  *s = *s * 1664525u + 1013904223u;
  return (*s >> 8) % n;
}
static unsigned draw(unsigned n) {
  return draw_from(&state, n);
} /* alike at all ranks */
static unsigned own(unsigned n) { return draw_from(&own_state, n); }

typedef struct {
  int from, to, bytes, tag, mode, with_gaps;
} message;

static int rank, size;
static message plan[kMost];
static int count;
static unsigned char* buffers[2 * kMost];
static MPI_Datatype gaps; /* 3 bytes of 5 */

static int draw_bytes(void) {
  static const int edges[] = {0,    1,    8,    40,   41,   64,    120,
                              1000, 8190, 8191, 8192, 8193, 65536, 150000};
  return draw(3) ? edges[draw(14)] : (int)draw(draw(2) ? 300 : kBytes);
}

static void make_plan(void) {
  count = 1 + (int)draw(kMost);
  for (int i = 0; i < count; ++i) {
    plan[i].from = (int)draw((unsigned)size);
    plan[i].to = (int)draw((unsigned)size);
    plan[i].bytes = draw_bytes();
    plan[i].tag = (int)draw(3);
    plan[i].mode = (int)draw(4);
    plan[i].with_gaps = draw(6) == 0;
    if (plan[i].with_gaps) plan[i].bytes -= plan[i].bytes % 3;
  }
}

/* Byte k of message i. */
static unsigned char value(int i, int k) {
  return (unsigned char)(i * 37 + k * 7 + k / 251);
}
static int offset(const message* m, int k) {
  return m->with_gaps ? k / 3 * 5 + k % 3 : k;
}
static int elements(const message* m) { return m->with_gaps ? m->bytes / 3 : m->bytes; }
static MPI_Datatype type_of(const message* m) { return m->with_gaps ? gaps : MPI_BYTE; }

static unsigned char* buffer(int i) { return buffers[i] = malloc(2 * kBytes); }

static void start_send(int i, MPI_Request* request) {
  const message* m = &plan[i];
  unsigned char* b = buffer(i);
  for (int k = 0; k < m->bytes; ++k) b[offset(m, k)] = value(i, k);
  if (m->mode == 0)
    MPI_Issend(b, elements(m), type_of(m), m->to, m->tag, MPI_COMM_WORLD, request);
  else if (m->mode == 1)
    MPI_Ibsend(b, elements(m), type_of(m), m->to, m->tag, MPI_COMM_WORLD, request);
  else
    MPI_Isend(b, elements(m), type_of(m), m->to, m->tag, MPI_COMM_WORLD, request);
}

static void check(int i, const unsigned char* b, const MPI_Status* status) {
  const message* m = &plan[i];
  int got = -1;
  MPI_Get_count(status, MPI_BYTE, &got);
  CHECK(got == m->bytes && status->MPI_SOURCE == m->from && status->MPI_TAG == m->tag);
  for (int k = 0; k < m->bytes; ++k) {
    if (b[offset(m, k)] == value(i, k)) continue;
    CHECK(!"wrong data");
    return;
  }
}

/* Messages of one sender and tag arrive in their order: the next one that is not here yet. */
static int next_of(const char* here, int from, int tag) {
  for (int i = 0; i < count; ++i)
    if (plan[i].to == rank && plan[i].from == from && plan[i].tag == tag && !here[i])
      return i;
  return -1;
}

/* Receives what matches a probe, one message after the other. */
static void receive_by_probes(void) {
  char here[kMost] = {0};
  int left = 0;
  for (int i = 0; i < count; ++i) left += plan[i].to == rank;
  unsigned char* b = malloc(2 * kBytes);
  while (left > 0) {
    MPI_Status status;
    MPI_Message handle;
    int flag = 1;
    const int kind = (int)own(4);
    if (kind == 0) MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (kind == 1)
      MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &handle, &status);
    if (kind == 2)
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    if (kind == 3)
      MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &handle, &status);
    if (!flag) continue;
    const int i = next_of(here, status.MPI_SOURCE, status.MPI_TAG);
    CHECK(i >= 0);
    const message* m = &plan[i];
    if (kind % 2)
      MPI_Mrecv(b, elements(m), type_of(m), &handle, &status);
    else
      MPI_Recv(b, elements(m), type_of(m), status.MPI_SOURCE, status.MPI_TAG,
               MPI_COMM_WORLD, &status);
    check(i, b, &status);
    here[i] = 1;
    --left;
  }
  free(b);
}

static void post_receives(MPI_Request* requests) {
  for (int i = 0; i < count; ++i) {
    const message* m = &plan[i];
    if (m->to == rank)
      MPI_Irecv(buffer(kMost + i), elements(m), type_of(m), m->from, m->tag,
                MPI_COMM_WORLD, &requests[kMost + i]);
  }
}

/* Until all requests are null. */
static void complete(MPI_Request* requests) {
  enum { kAll = 2 * kMost };
  static MPI_Status statuses[kAll];
  int indices[kAll], n, flag, index;
  for (;;) {
    n = 0;
    switch (own(7)) {
      case 0:
        index = (int)own(kAll);
        if (requests[index] == MPI_REQUEST_NULL) break;
        MPI_Wait(&requests[index], &statuses[0]);
        indices[n++] = index;
        break;
      case 1:
        index = (int)own(kAll);
        if (requests[index] == MPI_REQUEST_NULL) break;
        MPI_Test(&requests[index], &flag, &statuses[0]);
        if (flag) indices[n++] = index;
        break;
      case 2:
      case 3:
        MPI_Waitany(kAll, requests, &index, &statuses[0]);
        if (index == MPI_UNDEFINED) return;
        indices[n++] = index;
        break;
      case 4:
        MPI_Testany(kAll, requests, &index, &flag, &statuses[0]);
        if (flag && index == MPI_UNDEFINED) return;
        if (flag) indices[n++] = index;
        break;
      case 5:
        MPI_Waitsome(kAll, requests, &n, indices, statuses);
        if (n == MPI_UNDEFINED) return;
        break;
      case 6:
        if (own(20)) break;
        for (int i = 0; i < kAll; ++i)
          if (requests[i] != MPI_REQUEST_NULL) indices[n++] = i;
        MPI_Waitall(kAll, requests, statuses);
        for (int i = 0; i < n; ++i) statuses[i] = statuses[indices[i]];
        break;
    }
    for (int i = 0; i < n; ++i)
      if (indices[i] >= kMost)
        check(indices[i] - kMost, buffers[indices[i]], &statuses[i]);
  }
}

static void round_of_messages(void) {
  MPI_Request requests[2 * kMost];
  for (int i = 0; i < 2 * kMost; ++i) requests[i] = MPI_REQUEST_NULL;
  memset(buffers, 0, sizeof buffers);
  make_plan();
  const int by_probes = draw(3) == 0, is_late = own(3) == 0;
  if (!by_probes && !is_late) post_receives(requests);
  for (int i = 0; i < count; ++i)
    if (plan[i].from == rank) start_send(i, &requests[i]);
  if (!by_probes && is_late) post_receives(requests);
  if (by_probes) receive_by_probes();
  complete(requests);
  for (int i = 0; i < 2 * kMost; ++i) free(buffers[i]);
  MPI_Barrier(MPI_COMM_WORLD); /* or probes would find messages of the next round */
}

int main(int argc, char** argv) {
  unsigned seed[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed[0] = argc > 1 ? (unsigned)atoi(argv[1]) : (unsigned)time(NULL);
  seed[1] = argc > 2 ? (unsigned)atoi(argv[2]) : 60;
  MPI_Bcast(seed, 2, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
  state = seed[0];
  own_state = seed[0] + 77u * (unsigned)rank + 5u;
  MPI_Type_vector(1, 3, 3, MPI_BYTE, &gaps);
  MPI_Datatype packed = gaps;
  MPI_Type_create_resized(packed, 0, 5, &gaps);
  MPI_Type_commit(&gaps);
  MPI_Type_free(&packed);
  const int attached = 64 << 20;
  void* memory = malloc(attached);
  int unused;
  MPI_Buffer_attach(memory, attached);
  for (unsigned i = 0; i < seed[1]; ++i) round_of_messages();
  MPI_Buffer_detach(&memory, &unused);
  free(memory);
  MPI_Type_free(&gaps);
  if (check_failures) printf("seed %u rounds %u\n", seed[0], seed[1]);
  return finish();
}

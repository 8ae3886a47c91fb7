/* Random mixes of non-blocking collectives and messages in flight, on several communicators,
   with user operations, late ranks and computation, while other cores do the work.
   usage: background [ROUNDS [SEED]]; the seed is printed when something is wrong. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum { kMost = 6, kElements = 40000 };

static unsigned state;
static unsigned draw(unsigned n) { /* the same at all ranks */
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % n;
}

/* inout = in * 3 + inout * 5 would not be associative; 2x2 matrices mod 251 are, and do not
   commute. An element is four longs. */
static void multiply(void* in, void* inout, int* n, MPI_Datatype* type) {
  long *a = in, *b = inout;
  (void)type;
  for (int i = 0; i < *n; ++i, a += 4, b += 4) {
    long p = (a[0] * b[0] + a[1] * b[2]) % 251, q = (a[0] * b[1] + a[1] * b[3]) % 251;
    long r = (a[2] * b[0] + a[3] * b[2]) % 251, s = (a[2] * b[1] + a[3] * b[3]) % 251;
    b[0] = p, b[1] = q, b[2] = r, b[3] = s;
  }
}

static void matrix_of(int rank, int i, long* out) {
  out[0] = (rank * 7 + i) % 251;
  out[1] = (rank + i * 3 + 1) % 251;
  out[2] = (rank * 5 + 2) % 251;
  out[3] = (i + 11) % 251;
}

typedef struct {
  int kind, root, count;
  MPI_Comm comm;
  long *send, *recv;
  MPI_Request request[2];
} Flight;

static long value(int rank, int i, int salt) {
  return rank * 1000003L + i * 17L + salt;
}

static void compute(unsigned turns) {
  volatile double x = 1;
  for (unsigned i = 0; i < turns; ++i) x = x * 1.0000001;
}

static void start(Flight* f, int salt, MPI_Op product, MPI_Datatype matrix) {
  int rank, size;
  MPI_Comm_rank(f->comm, &rank);
  MPI_Comm_size(f->comm, &size);
  const int n = f->count;
  const size_t all = (size_t)n * (size_t)size + 4;
  f->send = malloc(all * sizeof(long) * 4);
  f->recv = malloc(all * sizeof(long) * 4);
  memset(f->recv, 0xab, all * sizeof(long) * 4);
  for (int i = 0; i < n * size; ++i) f->send[i] = value(rank, i, salt);
  f->request[0] = f->request[1] = MPI_REQUEST_NULL;
  switch (f->kind) {
    case 0:
      for (int i = 0; i < n; ++i)
        f->recv[i] = rank == f->root ? value(rank, i, salt) : -1;
      MPI_Ibcast(f->recv, n, MPI_LONG, f->root, f->comm, f->request);
      break;
    case 1:
      MPI_Ireduce(f->send, f->recv, n, MPI_LONG, MPI_SUM, f->root, f->comm, f->request);
      break;
    case 2:
      MPI_Iallreduce(f->send, f->recv, n, MPI_LONG, MPI_SUM, f->comm, f->request);
      break;
    case 3:
      MPI_Igather(f->send, n, MPI_LONG, f->recv, n, MPI_LONG, f->root, f->comm,
                  f->request);
      break;
    case 4:
      MPI_Iscatter(f->send, n, MPI_LONG, f->recv, n, MPI_LONG, f->root, f->comm,
                   f->request);
      break;
    case 5:
      MPI_Ialltoall(f->send, n, MPI_LONG, f->recv, n, MPI_LONG, f->comm, f->request);
      break;
    case 6:
      MPI_Iallgather(f->send, n, MPI_LONG, f->recv, n, MPI_LONG, f->comm, f->request);
      break;
    case 7:
      f->count = n / 8 + 1;
      for (int i = 0; i < f->count; ++i) matrix_of(rank, i, f->send + 4 * i);
      MPI_Ireduce(f->send, f->recv, f->count, matrix, product, f->root, f->comm,
                  f->request);
      break;
    case 8: /* messages to the right neighbour */
      MPI_Irecv(f->recv, n, MPI_LONG, (rank + size - 1) % size, salt, f->comm,
                f->request);
      MPI_Isend(f->send, n, MPI_LONG, (rank + 1) % size, salt, f->comm, f->request + 1);
      break;
    default:
      MPI_Ibarrier(f->comm, f->request);
      break;
  }
}

static void check(Flight* f, int salt) {
  int rank, size;
  MPI_Comm_rank(f->comm, &rank);
  MPI_Comm_size(f->comm, &size);
  const int n = f->count;
  long wrong = 0;
  for (int i = 0; i < n; ++i) {
    long sum = 0;
    for (int r = 0; r < size; ++r) sum += value(r, i, salt);
    switch (f->kind) {
      case 0:
        wrong += f->recv[i] != value(f->root, i, salt);
        break;
      case 1:
        wrong += rank == f->root && f->recv[i] != sum;
        break;
      case 2:
        wrong += f->recv[i] != sum;
        break;
      case 3:
        for (int r = 0; r < size && rank == f->root; ++r)
          wrong += f->recv[r * n + i] != value(r, i, salt);
        break;
      case 4:
        wrong += f->recv[i] != value(f->root, rank * n + i, salt);
        break;
      case 5:
        for (int r = 0; r < size; ++r)
          wrong += f->recv[r * n + i] != value(r, rank * n + i, salt);
        break;
      case 6:
        for (int r = 0; r < size; ++r) wrong += f->recv[r * n + i] != value(r, i, salt);
        break;
      case 7:
        if (rank == f->root) {
          long product[4], next[4];
          matrix_of(0, i, product);
          for (int r = 1; r < size; ++r) {
            int one = 1;
            matrix_of(r, i, next);
            multiply(product, next, &one, NULL);
            memcpy(product, next, sizeof next);
          }
          wrong += memcmp(product, f->recv + 4 * i, sizeof product) != 0;
        }
        break;
      case 8:
        wrong += f->recv[i] != value((rank + size - 1) % size, i, salt);
        break;
      default:
        break;
    }
  }
  if (wrong != 0) printf("kind %d, %d elements: %ld wrong\n", f->kind, n, wrong);
  CHECK(wrong == 0);
  free(f->send);
  free(f->recv);
}

/* Long: one round, drawn, started, tested and waited for. */
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 40;
  unsigned seed = argc > 2 ? (unsigned)atol(argv[2]) : (unsigned)time(NULL);
  MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
  state = seed;
  MPI_Op product;
  MPI_Datatype matrix;
  MPI_Op_create(multiply, 0, &product);
  MPI_Type_contiguous(4, MPI_LONG, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Comm comms[3];
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comms[1]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]);

  for (int round = 0; round < rounds; ++round) {
    Flight flights[kMost];
    const int n = 1 + (int)draw(kMost);
    unsigned own =
        seed ^ ((unsigned)rank * 2654435761u) ^ (unsigned)round; /* not the others' */
    for (int i = 0; i < n; ++i) {
      Flight* f = &flights[i];
      f->kind = (int)draw(10);
      f->comm = comms[draw(3)];
      const unsigned number = draw(1000);
      const int halves[3] = {size, (size + (rank + 1) % 2) / 2, size};
      f->root = (int)(number % (unsigned)halves[f->comm == comms[1] ? 1 : 0]);
      if (f->comm == comms[1])
        f->root = size > 1 ? (int)(number % (unsigned)(size / 2)) : 0;
      const unsigned scale = draw(4);
      f->count = scale == 0 ? (int)draw(20) : (int)draw(kElements >> (2 * (3 - scale)));
      own = own * 1664525u + 1013904223u;
      if (own % 4 == 0) compute(own % 100000); /* some ranks start late */
      start(f, round * kMost + i, product, matrix);
    }
    own = own * 1664525u + 1013904223u;
    compute(own % 200000);
    if (own % 3 == 0) {
      for (int i = 0, flag = 0; i < n; ++i)
        MPI_Test(flights[i].request, &flag, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < n; ++i) { /* in any order */
      Flight* f = &flights[(i + (int)(own % 7)) % n];
      MPI_Waitall(2, f->request, MPI_STATUSES_IGNORE);
      check(f, round * kMost + (int)(f - flights));
    }
    if (check_failures != 0) {
      printf("seed %u, round %d\n", seed, round);
      break;
    }
  }
  MPI_Type_free(&matrix);
  MPI_Op_free(&product);
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
  return finish();
}

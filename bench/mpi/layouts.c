/* One-way time of a message between ranks 0 and 1 whose data have gaps: half of a ping-pong.
 *
 *   mpirun -n 2 ./layouts [--which=face,halo,...]
 *
 * Each rank receives into the elements of its own array from which it sends, with the same
 * datatype. The names mean:
 *   face            one side of a cube of 64^3 doubles: one number in each 512 bytes
 *   halo            two faces at a time, to and fro (Irecv, Isend, Waitall), of which those that
 *                   are sent have been computed anew
 *   random_8B       doubles at random places in 8 MiB; random_64B: eight of them at each place
 *   irregular       one to three doubles in about each 32 bytes; regular: two in each 32 bytes
 *   half, quarter   a double in each 16, 32 bytes
 *   box             32^3 of 64^3 doubles
 *   columns         a matrix of 512^2 doubles, column by column
 *   to_columns      the same, sent in rows, so that it is transposed
 *   from_face       a face, computed anew, that is received without gaps
 *   to_face         the other way round
 * The parameter is the number of bytes.
 */
#include <mpi.h>

#include "bench.h"

enum { ARRAY_BYTES = 16 << 20, PLACES = 8192, SIDE = 64, MATRIX = 512 };

struct layout {
  int rank;
  char* array;
  MPI_Datatype out, in; /* of rank 0; rank 1 answers in the same way */
  int is_halo, is_computed;
};

static long share(long value) {
  MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return value;
}

/* Writes the face, like a program that sends new values each time. */
static void compute(char* face) {
  for (int i = 0; i < SIDE * SIDE; ++i)
    *(volatile double*)(face + i * SIDE * (int)sizeof(double)) = i;
}

static void exchange(const struct layout* l) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  compute(l->array + 64);
  MPI_Irecv(l->array, 1, l->in, 1 - l->rank, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(l->array + 64, 1, l->out, 1 - l->rank, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
}

static double batch(long iterations, void* context) {
  const struct layout* l = context;
  int other = 1 - l->rank;
  MPI_Barrier(MPI_COMM_WORLD);
  double start = bench_now_s();
  for (long i = 0; i < iterations; ++i) {
    if (l->is_halo) {
      exchange(l);
      exchange(l);
      continue;
    }
    if (l->is_computed) compute(l->array);
    if (l->rank == 0) MPI_Send(l->array, 1, l->out, other, 1, MPI_COMM_WORLD);
    MPI_Recv(l->array, 1, l->in, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (l->rank == 1) MPI_Send(l->array, 1, l->out, other, 1, MPI_COMM_WORLD);
  }
  return (bench_now_s() - start) / 2;
}

static MPI_Datatype face(void) {
  MPI_Datatype type;
  MPI_Type_vector(SIDE * SIDE, 1, SIDE, MPI_DOUBLE, &type);
  return type;
}

static MPI_Datatype random_blocks(int doubles) {
  static int places[PLACES];
  MPI_Datatype type;
  for (unsigned i = 0; i < PLACES; ++i)
    places[i] = (int)(i * 2654435761u % (1u << 17)) * 8 + 3;
  MPI_Type_create_indexed_block(PLACES, doubles, places, MPI_DOUBLE, &type);
  return type;
}

static MPI_Datatype irregular(void) {
  static int lengths[PLACES], places[PLACES];
  MPI_Datatype type;
  for (int i = 0; i < PLACES; ++i) {
    lengths[i] = 1 + i % 3;
    places[i] = i * 4 + i % 2;
  }
  MPI_Type_indexed(PLACES, lengths, places, MPI_DOUBLE, &type);
  return type;
}

static MPI_Datatype every(int block, int stride) {
  MPI_Datatype type;
  MPI_Type_vector(PLACES, block, stride, MPI_DOUBLE, &type);
  return type;
}

static MPI_Datatype box(void) {
  int all[3] = {SIDE, SIDE, SIDE}, part[3] = {32, 32, 32}, start[3] = {5, 7, 9};
  MPI_Datatype type;
  MPI_Type_create_subarray(3, all, part, start, MPI_ORDER_C, MPI_DOUBLE, &type);
  return type;
}

static MPI_Datatype columns(void) {
  MPI_Datatype column, narrow, type;
  MPI_Type_vector(MATRIX, 1, MATRIX, MPI_DOUBLE, &column);
  MPI_Type_create_resized(column, 0, sizeof(double), &narrow);
  MPI_Type_contiguous(MATRIX, narrow, &type);
  MPI_Type_free(&column);
  MPI_Type_free(&narrow);
  return type;
}

static MPI_Datatype plain(int doubles) {
  MPI_Datatype type;
  MPI_Type_contiguous(doubles, MPI_DOUBLE, &type);
  return type;
}

static const char* g_which;

/* Runs one layout, and frees its types. */
static void run(struct layout* l, const char* name, MPI_Datatype out, MPI_Datatype in) {
  size_t length = strlen(name);
  for (const char* at = g_which; at; at = strchr(at, ',')) {
    if (*at == ',') ++at;
    if (strncmp(at, name, length) || (at[length] && at[length] != ',')) continue;
    int bytes;
    char full[64];
    l->out = out;
    l->in = in;
    MPI_Type_commit(&l->out);
    if (in != out) MPI_Type_commit(&l->in);
    MPI_Type_size(out, &bytes);
    double seconds = bench_run(batch, share, l);
    snprintf(full, sizeof full, "layout_%s", name);
    if (l->rank == 0) bench_print(full, bytes, 1e6 * seconds, "us");
    break;
  }
  if (in != out) MPI_Type_free(&in);
  MPI_Type_free(&out);
}

static void run_one(struct layout* l, const char* name, MPI_Datatype type) {
  run(l, name, type, type);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct layout l;
  MPI_Comm_rank(MPI_COMM_WORLD, &l.rank);
  l.array = bench_buffer(ARRAY_BYTES);
  l.is_halo = l.is_computed = 0;
  g_which =
      bench_option(argc, argv, "which",
                   "face,halo,random_8B,random_64B,irregular,regular,half,quarter,"
                   "box,columns,to_columns,from_face,to_face");
  run_one(&l, "face", face());
  l.is_halo = 1;
  run_one(&l, "halo", face());
  l.is_halo = 0;
  run_one(&l, "random_8B", random_blocks(1));
  run_one(&l, "random_64B", random_blocks(8));
  run_one(&l, "irregular", irregular());
  run_one(&l, "regular", every(2, 4));
  run_one(&l, "half", every(1, 2));
  run_one(&l, "quarter", every(1, 4));
  run_one(&l, "box", box());
  run_one(&l, "columns", columns());
  run(&l, "to_columns", plain(MATRIX * MATRIX), columns());
  l.is_computed = 1;
  run(&l, "from_face", face(), plain(SIDE * SIDE));
  l.is_computed = 0;
  run(&l, "to_face", plain(SIDE * SIDE), face());
  MPI_Finalize();
  return 0;
}

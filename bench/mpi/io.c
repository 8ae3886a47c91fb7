/* Files: bandwidth of contiguous and strided accesses, alone and together.
 *
 *   mpirun -n 16 ./io --which=write_all,read_all --block=256 --bytes=1M [--dir=/tmp] [--shapes=strided]
 *   mpirun -n 16 ./io --which=read --shapes=strided --hints=romio_ds_read=enable,ind_rd_buffer_size=262144
 *   mpirun -n 2 ./io --which=iwrite,iread,iread_cold --shapes=contiguous --bytes=16M --parts=8 [--label=_threads]
 *
 * Each rank has `bytes`, in blocks that alternate between the ranks (every block; "nested": rows of a
 * two-dimensional array, of which each rank has a tile). One file, which is in the system's cache; the
 * figure is that of all ranks together, from the first one's start to the last one's end. Non-blocking accesses: each rank has its bytes in
 * so many parts, all of them under way at once. "Cold" ones read what is not in the system's cache; blocking ones part by part.
 */
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include "bench.h"

enum kind { WRITE, READ, READ_COLD, WRITE_ALL, READ_ALL, IWRITE, IREAD, IREAD_COLD };
enum { MOST_PARTS = 1024 };

struct work {
  enum kind kind;
  int rank, ranks;
  long bytes, parts;
  char* data;
  MPI_File file;
  const char* name;
};

static void access_in_parts(const struct work* w) {
  MPI_Request requests[MOST_PARTS];
  const long part = w->bytes / w->parts;
  for (long i = 0; i < w->parts; ++i)
    if (w->kind == IWRITE)
      MPI_File_iwrite_at(w->file, i * part, w->data + i * part, (int)part, MPI_BYTE,
                         &requests[i]);
    else
      MPI_File_iread_at(w->file, i * part, w->data + i * part, (int)part, MPI_BYTE,
                        &requests[i]);
  MPI_Waitall((int)w->parts, requests, MPI_STATUSES_IGNORE);
}

/* Out of the system's cache. */
static void make_cold(const struct work* w) {
  if (w->rank == 0) {
    const int file = open(w->name, O_RDONLY);
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void access_once(const struct work* w) {
  MPI_Status status;
  const int n = (int)w->bytes;
  switch (w->kind) {
    case WRITE:
      MPI_File_write_at(w->file, 0, w->data, n, MPI_BYTE, &status);
      break;
    case READ:
      MPI_File_read_at(w->file, 0, w->data, n, MPI_BYTE, &status);
      break;
    case READ_COLD:
      for (long i = 0; i < w->parts; ++i)
        MPI_File_read_at(w->file, i * (n / w->parts), w->data, (int)(n / w->parts),
                         MPI_BYTE, &status);
      break;
    case WRITE_ALL:
      MPI_File_write_at_all(w->file, 0, w->data, n, MPI_BYTE, &status);
      break;
    case READ_ALL:
      MPI_File_read_at_all(w->file, 0, w->data, n, MPI_BYTE, &status);
      break;
    default:
      access_in_parts(w);
  }
}

static long share(long value) {
  MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return value;
}

/* Each access by itself, because what comes before it does not count. */
static double cold_batch(long iterations, const struct work* w) {
  double all = 0;
  for (long i = 0; i < iterations; ++i) {
    make_cold(w);
    const double start = bench_now_s();
    access_once(w);
    all += bench_span(start);
  }
  return all;
}

static double batch(long iterations, void* context) {
  const struct work* w = context;
  MPI_Barrier(MPI_COMM_WORLD);
  if (w->kind == IREAD_COLD || w->kind == READ_COLD) return cold_batch(iterations, w);
  const double start = bench_now_s();
  for (long i = 0; i < iterations; ++i) access_once(w);
  return bench_span(start);
}

/* Every ranks-th block of so many bytes; contiguous if it is the whole. */
static MPI_Datatype filetype_of(const struct work* w, const char* shape, long block) {
  MPI_Datatype type, one;
  if (!strcmp(shape, "contiguous")) {
    MPI_Type_contiguous((int)w->bytes, MPI_BYTE, &type);
  } else if (!strcmp(shape, "nested")) {
    const int rows = (int)(w->bytes / block);
    const int sizes[2] = {rows, (int)block * w->ranks}, part[2] = {rows, (int)block};
    const int start[2] = {0, (int)block * w->rank};
    MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_BYTE, &type);
  } else {
    MPI_Type_contiguous((int)block, MPI_BYTE, &one);
    MPI_Type_create_resized(one, 0, block * w->ranks, &type);
    MPI_Type_free(&one);
  }
  MPI_Type_commit(&type);
  return type;
}

static MPI_Offset displacement_of(const struct work* w, const char* shape, long block) {
  if (!strcmp(shape, "contiguous")) return (MPI_Offset)w->bytes * w->rank;
  return !strcmp(shape, "nested") ? 0 : (MPI_Offset)block * w->rank;
}

static const struct {
  const char* name;
  enum kind kind;
} table[] = {{"write", WRITE},           {"read", READ},
             {"write_all", WRITE_ALL},   {"read_all", READ_ALL},
             {"iwrite", IWRITE},         {"iread", IREAD},
             {"iread_cold", IREAD_COLD}, {"read_cold", READ_COLD}};
static const char* const shapes[] = {"contiguous", "strided", "nested"};

/* key=value,key=value */
static MPI_Info info_of(const char* hints) {
  MPI_Info info;
  char copy[512], *rest = copy;
  snprintf(copy, sizeof copy, "%s", hints);
  MPI_Info_create(&info);
  for (char* key = strtok_r(copy, ",", &rest); key; key = strtok_r(NULL, ",", &rest)) {
    char* value = strchr(key, '=');
    if (value == NULL) continue;
    *value++ = 0;
    MPI_Info_set(info, key, value);
  }
  return info;
}

static void measure_shape(struct work* w, const char* which, const char* shape,
                          long block, const char* label) {
  MPI_Datatype type = filetype_of(w, shape, block);
  MPI_File_set_view(w->file, displacement_of(w, shape, block), MPI_BYTE, type, "native",
                    MPI_INFO_NULL);
  w->kind = WRITE_ALL; /* the file is there when it is measured */
  access_once(w);
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
    if (!bench_listed(which, table[i].name)) continue;
    w->kind = table[i].kind;
    bench_batch_for(w->ranks, w->kind == WRITE_ALL || w->kind == READ_ALL);
    char name[64];
    snprintf(name, sizeof name, "io_%s_%s%s", shape, table[i].name, label);
    double seconds = bench_run(batch, share, w);
    if (w->rank == 0)
      bench_print(name, w->ranks, 1e-6 * (double)w->bytes * w->ranks / seconds, "MB/s");
  }
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* which =
      bench_option(argc, argv, "which", "write,read,write_all,read_all");
  const char* wanted = bench_option(argc, argv, "shapes", "contiguous,strided,nested");
  const char* folder = bench_option(argc, argv, "dir", "/tmp");
  const char* label = bench_option(argc, argv, "label", "");
  struct work w;
  long block, bytes;
  char name[256];
  bench_sizes(bench_option(argc, argv, "block", "256"), &block, 1);
  bench_sizes(bench_option(argc, argv, "bytes", "1M"), &bytes, 1);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  w.bytes = bytes / block * block;
  w.data = bench_buffer(w.bytes);
  w.name = name;
  bench_sizes(bench_option(argc, argv, "parts", "8"), &w.parts, 1);
  if (w.parts > MOST_PARTS) w.parts = MOST_PARTS;
  int number = (int)getpid();
  MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(name, sizeof name, "%s/mpi-bench-io-%d", folder, number);
  MPI_Info hints = info_of(bench_option(argc, argv, "hints", ""));
  if (MPI_File_open(MPI_COMM_WORLD, name,
                    MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, hints,
                    &w.file) != MPI_SUCCESS) {
    fprintf(stderr, "cannot open %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
    if (bench_listed(wanted, shapes[i]))
      measure_shape(&w, which, shapes[i], block, label);
  MPI_File_close(&w.file);
  MPI_Info_free(&hints);
  free(w.data);
  MPI_Finalize();
  return 0;
}

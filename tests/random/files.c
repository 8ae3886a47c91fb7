/* Files: views of random file types, memory of random datatypes, all ways of writing and reading; the whole
   file and the whole memory are compared with the model, gaps included.
   usage: files FILE [SEED [ROUNDS]]; the seed is printed when something is wrong. */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "type.h"

enum { kMostRanks = 32, kSteps = 3 };

/* What one rank writes, or reads, in one call: the bytes of the view from `first` on. */
typedef struct {
  buffer memory;
  int count;
  long first; /* in the data of the view */
  unsigned long long key;
} access_part;

static int rank, size, failures;
static unsigned long long seed;

/* ---- the view: alike at all ranks but for where it begins ---- */

static struct {
  unit u;
  type_model file, etype;
  long etype_bytes, file_bytes; /* of data */
  long* place;                  /* of each byte of one file type */
  MPI_Offset begins[kMostRanks];
} view;

enum {
  kMostFirst = 5000,
  kMostMoved = 8000,
  kRegion = 1 << 17
}; /* bytes of each rank */

/* So many of them hold what one rank moves. */
static long tiles_of(const type_model* t) {
  return (kMostFirst + kMostMoved) / size_of(t) + 2;
}

static int may_be_file_type(const type_model* t) {
  if (extent_of(t) * tiles_of(t) > kRegion) return 0;
  if (low_of(t) < 0 || t->lb > low_of(t) || t->ub < high_of(t)) return 0;
  for (int i = 1; i < t->count; ++i)
    if (t->map[i].at < t->map[i - 1].at + t->map[i - 1].bytes) return 0;
  return 1;
}

static void make_view(source* s) {
  view.u = random_unit(s);
  view.u.count = 1;
  for (int tries = 0;; ++tries) {
    view.file = random_type(&view.u, tries < 90 ? 4 : 0, s);
    if (may_be_file_type(&view.file) && size_of(&view.file) <= 4096) break;
    drop(&view.file);
  }
  const int is_interleaved = one_in(s, 2);
  const long extent = extent_of(&view.file);
  if (is_interleaved && size > 1) { /* each rank has each size-th of them */
    const long none = 0;
    type_model wide = copies_of(&view.file, 1, &none);
    wide.lb = view.file.lb;
    wide.ub = wide.lb + extent * size;
    MPI_Type_create_resized(view.file.handle, wide.lb, extent * size, &wide.handle);
    MPI_Type_commit(&wide.handle);
    wide.is_own = 1;
    drop(&view.file);
    view.file = wide;
  }
  const long none = 0;
  view.etype =
      one_in(s, 3) ? copies_of(&view.file, 1, &none) : type_of_unit(&view.u, s);
  const int is_file_type = view.etype.handle == MPI_DATATYPE_NULL;
  if (is_file_type) view.etype.handle = view.file.handle;
  view.etype_bytes = size_of(&view.etype);
  view.file_bytes = size_of(&view.file);
  view.place = malloc(sizeof(long) * (size_t)view.file_bytes);
  long n = 0;
  for (int k = 0; k < view.file.count; ++k)
    for (int i = 0; i < view.file.map[k].bytes; ++i)
      view.place[n++] = view.file.map[k].at + i;
  const long start = draw(s, 0, 200);
  for (int r = 0; r < size; ++r)
    view.begins[r] = start + r * (is_interleaved ? extent : kRegion);
}

static long in_file(int r, long n) {
  return (long)view.begins[r] + n / view.file_bytes * extent_of(&view.file) +
         view.place[n % view.file_bytes];
}

/* ---- what each rank moves ---- */

static access_part random_part(source* s) {
  access_part p;
  p.key = next_number(s);
  for (;;) {
    type_model type = random_type(&view.u, 4, s);
    /* Whole etypes, at most what stays within this rank's part of the file. */
    const long step = size_of(&type);
    long count = draw(s, 0, kMostMoved / step);
    while (count > 0 && count * step % view.etype_bytes != 0) --count;
    if (!is_fine(&type, count > 0 ? count : 1)) {
      drop(&type);
      continue;
    }
    p.count = (int)count;
    p.memory = make_buffer(type, p.count, p.key);
    break;
  }
  p.first = draw(s, 0, kMostFirst / view.etype_bytes) * view.etype_bytes;
  return p;
}

/* How many bytes of file a call can reach. */
static long file_size(void) {
  return (long)view.begins[size - 1] + tiles_of(&view.file) * extent_of(&view.file) +
         high_of(&view.file) + 64;
}

static void move(MPI_File file, const access_part* p, int how, int is_write) {
  void* const base = base_of(&p->memory);
  const MPI_Datatype type = p->memory.type.handle;
  const MPI_Offset at = p->first / view.etype_bytes;
  const int n = p->count;
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  int bytes;
  if (how % 2 == 1) MPI_File_seek(file, at, MPI_SEEK_SET);
#define MOVE(suffix, ...) \
  (is_write ? MPI_File_write##suffix(__VA_ARGS__) : MPI_File_read##suffix(__VA_ARGS__))
#define IMOVE(suffix, ...)                         \
  (is_write ? MPI_File_iwrite##suffix(__VA_ARGS__) \
            : MPI_File_iread##suffix(__VA_ARGS__))
  switch (how) {
    case 0:
      MOVE(_at, file, at, base, n, type, &status);
      break;
    case 1:
      MOVE(, file, base, n, type, &status);
      break;
    case 2:
      MOVE(_at_all, file, at, base, n, type, &status);
      break;
    case 3:
      MOVE(_all, file, base, n, type, &status);
      break;
    case 4:
      IMOVE(_at, file, at, base, n, type, &request);
      break;
    case 5:
      IMOVE(, file, base, n, type, &request);
      break;
    case 6:
      IMOVE(_at_all, file, at, base, n, type, &request);
      break;
    case 7:
      IMOVE(_all, file, base, n, type, &request);
      break;
    case 8:
      MOVE(_at_all_begin, file, at, base, n, type);
      MOVE(_at_all_end, file, base, &status);
      break;
    default:
      MOVE(_all_begin, file, base, n, type);
      MOVE(_all_end, file, base, &status);
  }
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, &status);
  MPI_Get_elements(&status, MPI_BYTE, &bytes);
  if (bytes == p->memory.bytes) return;
  ++failures;
  printf("seed %llu: %d bytes moved, not %ld\n", seed, bytes, p->memory.bytes);
}

/* ---- a round ---- */

static unsigned char* whole(const char* name, long bytes) {
  unsigned char* const out = calloc(1, (size_t)bytes);
  const int file = open(name, O_RDONLY);
  long n = 0, part;
  while ((part = pread(file, out + n, (size_t)(bytes - n), n)) > 0) n += part;
  close(file);
  return out;
}

static void step(const char* name, MPI_File file, source* s, unsigned char* model,
                 long bytes) {
  const int how = (int)draw(s, 0, 9), is_write = one_in(s, 2);
  access_part parts[kMostRanks];
  for (int r = 0; r < size; ++r) {
    parts[r] = random_part(s);
    for (long i = 0; i < parts[r].memory.bytes && is_write; ++i)
      model[in_file(r, parts[r].first + i)] =
          pattern(parts[r].key, parts[r].memory.place[i]);
  }
  access_part* const mine = &parts[rank];
  move(file, mine, how, is_write);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  unsigned char* const wanted = as_made(&mine->memory, mine->key);
  for (long i = 0; i < mine->memory.bytes && !is_write; ++i)
    wanted[mine->memory.place[i]] = model[in_file(rank, mine->first + i)];
  int is_right = is_as_wanted(&mine->memory, wanted);
  unsigned char* const seen = whole(name, bytes);
  for (long i = 0; i < bytes; ++i)
    if (seen[i] != model[i]) {
      printf("byte %ld of the file is wrong\n", i);
      is_right = 0;
      break;
    }
  free(seen);
  if (!is_right) {
    ++failures;
    printf("seed %llu, rank %d: %s, way %d, %ld bytes from %ld on\n", seed, rank,
           is_write ? "write" : "read", how, mine->memory.bytes, mine->first);
  }
  for (int r = 0; r < size; ++r) drop_buffer(&parts[r].memory);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void one_round(const char* name, int round) {
  source s = seeded(seed, (unsigned long long)round, 8);
  make_view(&s);
  const long bytes = file_size();
  unsigned char* const model = malloc((size_t)bytes);
  for (long i = 0; i < bytes; ++i)
    model[i] = pattern(seed + (unsigned long long)round, i);
  if (rank == 0) {
    FILE* const out = fopen(name, "w");
    if (out == NULL || fwrite(model, 1, (size_t)bytes, out) != (size_t)bytes ||
        fclose(out) != 0)
      MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, view.begins[rank], view.etype.handle, view.file.handle,
                    "native", MPI_INFO_NULL);
  for (int i = 0; i < kSteps; ++i) step(name, file, &s, model, bytes);
  MPI_File_close(&file);
  drop(&view.etype);
  drop(&view.file);
  free(view.place);
  free(model);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (unsigned long long)time(NULL);
  MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  const int rounds = argc > 3 ? atoi(argv[3]) : 10;
  if (size > kMostRanks || argc < 2) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
  for (int round = 0; round < rounds; ++round) one_round(argv[1], round);
  int sum = 0;
  MPI_Reduce(&failures, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && sum == 0) printf("No Errors\n");
  if (rank == 0 && sum != 0) printf("%d errors, seed %llu\n", sum, seed);
  if (rank == 0) unlink(argv[1]);
  MPI_Finalize();
  return failures != 0;
}

/* Collective accesses whose pieces interleave, with all hints that steer them, against a model of the file's
   bytes: every rank knows who writes which byte. With "fails" as argument: one part of the file cannot be
   written. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>

#include "file_check.h"

static int rank, size;

/* Cycles of `block` bytes for each rank and a gap; each rank begins at byte `first` of its data. */
typedef struct {
  long displacement, block, gap, cycles, first;
  int is_scattered; /* in memory */
} pattern;

static long cycle_of(const pattern* p) { return size * p->block + p->gap; }
static long file_bytes(const pattern* p) {
  return p->displacement + p->cycles * cycle_of(p);
}
/* How much rank `who` moves: all different, one of them nothing. */
static long bytes_of(const pattern* p, int who) {
  const long all = p->cycles * p->block - p->first;
  if (size > 2 && who == 1) return 0;
  return all - (all > 100 ? who * 7 : 0);
}
/* Where byte i of what `who` moves lies. */
static long place_of(const pattern* p, int who, long i) {
  const long at = i + p->first;
  return p->displacement + at / p->block * cycle_of(p) + who * p->block + at % p->block;
}
static unsigned char before_at(long place) { return (unsigned char)(place * 31 + 5); }

static void set_view(MPI_File file, const pattern* p, int who, MPI_Info info) {
  MPI_Datatype block, type;
  MPI_Type_contiguous((int)p->block, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, cycle_of(p), &type);
  MPI_Type_commit(&type);
  CHECK(MPI_File_set_view(file, p->displacement + who * p->block, MPI_BYTE, type,
                          "native", info) == MPI_SUCCESS);
  MPI_Type_free(&type);
  MPI_Type_free(&block);
}

/* Memory of so many bytes: every third one is used if it is scattered. */
static MPI_Datatype memory_type(const pattern* p, long bytes, int* count) {
  MPI_Datatype type;
  if (!p->is_scattered) {
    MPI_Type_dup(MPI_BYTE, &type);
    *count = (int)bytes;
  } else {
    MPI_Type_vector((int)bytes, 1, 3, MPI_BYTE, &type);
    *count = bytes > 0;
  }
  MPI_Type_commit(&type);
  return type;
}
static long step_of(const pattern* p) { return p->is_scattered ? 3 : 1; }

static void write_pattern(MPI_File file, const pattern* p, int by_pointer) {
  const long bytes = bytes_of(p, rank);
  unsigned char* data = calloc((size_t)bytes + 1, 3);
  int count;
  MPI_Datatype type = memory_type(p, bytes, &count);
  MPI_Status status;
  for (long i = 0; i < bytes; ++i) data[i * step_of(p)] = byte_at(place_of(p, rank, i));
  if (by_pointer) {
    MPI_File_seek(file, p->first, MPI_SEEK_SET);
    CHECK(MPI_File_write_all(file, data, count, type, &status) == MPI_SUCCESS);
  } else {
    CHECK(MPI_File_write_at_all(file, p->first, data, count, type, &status) ==
          MPI_SUCCESS);
  }
  CHECK(count_of(&status, MPI_BYTE) == bytes);
  MPI_Type_free(&type);
  free(data);
}

/* What stands in the file after it. `all` has file_bytes() of what was there before. */
static void model(const pattern* p, unsigned char* all) {
  for (int who = 0; who < size; ++who)
    for (long i = 0; i < bytes_of(p, who); ++i)
      all[place_of(p, who, i)] = byte_at(place_of(p, who, i));
}

static void compare(const char* name, const pattern* p, long had) {
  const long most = file_bytes(p) > had ? file_bytes(p) : had;
  unsigned char* want = calloc((size_t)most, 1);
  unsigned char* got = calloc((size_t)most, 1);
  const int file = open(name, O_RDONLY);
  for (long i = 0; i < had; ++i) want[i] = before_at(i);
  model(p, want);
  long there = 0;
  for (ssize_t n; (n = pread(file, got + there, (size_t)(most - there), there)) > 0;)
    there += n;
  long wrong = -1;
  for (long i = most - 1; i >= 0; --i)
    if (want[i] != got[i]) wrong = i;
  CHECK(wrong == -1);
  if (wrong != -1)
    printf("byte %ld of %ld: %d instead of %d; block %ld, gap %ld\n", wrong, there,
           got[wrong], want[wrong], p->block, p->gap);
  close(file);
  free(want);
  free(got);
}

/* What the next rank has written, and what lies behind the end of the file. */
static void read_back(MPI_File file, const pattern* p) {
  const int other = (rank + 1) % size;
  const long bytes = bytes_of(p, other), more = bytes + 50;
  unsigned char* data = calloc((size_t)more + 1, 3);
  int count;
  MPI_Datatype type = memory_type(p, more, &count);
  MPI_Status status;
  MPI_Offset end;
  MPI_File_get_size(file, &end);
  long there = 0;
  while (there < more && place_of(p, other, there) < end) ++there;
  CHECK(MPI_File_read_at_all(file, p->first, data, count, type, &status) ==
        MPI_SUCCESS);
  CHECK(count_of(&status, MPI_BYTE) == there);
  int wrong = 0;
  for (long i = 0; i < bytes; ++i)
    wrong += data[i * step_of(p)] != byte_at(place_of(p, other, i));
  for (long i = there; i < more; ++i) wrong += data[i * step_of(p)] != 0;
  CHECK(wrong == 0);
  MPI_Type_free(&type);
  free(data);
}

static void one(const char* name, const pattern* p, MPI_Info info, long had) {
  MPI_File file;
  if (rank == 0) {
    const int raw = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    unsigned char* all = malloc((size_t)had + 1);
    for (long i = 0; i < had; ++i) all[i] = before_at(i);
    CHECK(write(raw, all, (size_t)had) == had);
    free(all);
    close(raw);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, info, &file) == MPI_SUCCESS);
  set_view(file, p, rank, MPI_INFO_NULL);
  write_pattern(file, p, p->cycles % 2);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) compare(name, p, had);
  MPI_Barrier(MPI_COMM_WORLD);
  set_view(file, p, (rank + 1) % size, MPI_INFO_NULL);
  read_back(file, p);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

static const char* const hints[][4] = {
    {0},
    {"romio_cb_write", "enable", "romio_cb_read", "enable"},
    {"romio_cb_write", "disable", "romio_cb_read", "disable"},
    {"cb_buffer_size", "4096", "cb_nodes", "1"},
    {"cb_buffer_size", "5000", "cb_nodes", "2"},
    {"romio_ds_write", "enable", "cb_buffer_size", "8192"},
    {"romio_cb_write", "enable", "romio_ds_write", "disable"},
};

static void all_patterns(const char* name) {
  static const pattern patterns[] = {
      {0, 1, 0, 3000, 0, 0},    {3, 8, 0, 4001, 0, 0},   {0, 12, 5, 2000, 17, 1},
      {100, 700, 0, 301, 0, 1}, {0, 3, 4000, 60, 2, 0},  {7, 64, 64, 1001, 640, 0},
      {0, 50000, 0, 5, 11, 0},  {0, 100000, 9, 4, 0, 1},
  };
  for (size_t h = 0; h < sizeof hints / sizeof hints[0]; ++h) {
    MPI_Info info;
    MPI_Info_create(&info);
    for (int k = 0; k < 4 && hints[h][k] != NULL; k += 2)
      MPI_Info_set(info, hints[h][k], hints[h][k + 1]);
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; ++i) {
      one(name, &patterns[i], info, 0);
      one(name, &patterns[i], info, file_bytes(&patterns[i]) + 1000);
    }
    MPI_Info_free(&info);
  }
}

/* All write the same bytes to the same places: what overlaps hides no gap. */
static void overlapping(const char* name) {
  MPI_File file = open_file(name, MPI_MODE_RDWR | MPI_MODE_CREATE);
  unsigned char data[3000];
  MPI_Datatype holes;
  MPI_Status status;
  for (int i = 0; i < 3000; ++i) data[i] = byte_at(i / 3 * 7 + i % 3);
  MPI_Type_create_resized(MPI_BYTE, 0, 7, &holes);
  MPI_Datatype three, type;
  MPI_Type_contiguous(3, MPI_BYTE, &three);
  MPI_Type_create_resized(three, 0, 7, &type);
  MPI_Type_commit(&type);
  MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL);
  CHECK(MPI_File_write_at_all(file, 0, data, 3000, MPI_BYTE, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_BYTE) == 3000);
  unsigned char back[3000] = {0};
  CHECK(MPI_File_read_at_all(file, 0, back, 3000, MPI_BYTE, &status) == MPI_SUCCESS);
  CHECK(memcmp(data, back, 3000) == 0);
  MPI_File_close(&file);
  MPI_Type_free(&type);
  MPI_Type_free(&three);
  MPI_Type_free(&holes);
}

/* Nobody has data; what one calls wrongly does not hold up the others. */
static void nothing_and_wrong(const char* name) {
  MPI_File file = open_file(name, MPI_MODE_RDWR | MPI_MODE_CREATE);
  const pattern p = {0, 8, 0, 100, 0, 0};
  MPI_Status status;
  char data[800] = {0};
  set_view(file, &p, rank, MPI_INFO_NULL);
  CHECK(MPI_File_write_at_all(file, 0, data, 0, MPI_BYTE, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_BYTE) == 0);
  const int is_wrong = rank == size - 1;
  const int code = MPI_File_write_at_all(file, is_wrong ? (MPI_Offset)1 << 62 : 0, data,
                                         800, MPI_BYTE, &status);
  CHECK(class_of(code) == (is_wrong ? MPI_ERR_ARG : MPI_SUCCESS));
  if (!is_wrong) CHECK(count_of(&status, MPI_BYTE) == 800);
  MPI_File_close(&file);
}

/* The file cannot grow beyond its half, which only the process that has that part of it notices. */
static void fails(void) {
  const pattern p = {0, 16, 0, 100000, 0, 0};
  const long half = file_bytes(&p) / 2;
  char name[64];
  int memory = -1;
  if (rank == 0) {
    memory = memfd_create("half", MFD_ALLOW_SEALING);
    CHECK(ftruncate(memory, half) == 0);
    CHECK(fcntl(memory, F_ADD_SEALS, F_SEAL_GROW) == 0);
    snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)getpid(), memory);
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File file = open_file(name, MPI_MODE_RDWR);
  unsigned char* data = malloc(1600000);
  MPI_Status status;
  set_view(file, &p, rank, MPI_INFO_NULL);
  for (long i = 0; i < 1600000; ++i) data[i] = byte_at(place_of(&p, rank, i));
  for (int round = 0; round < 3; ++round) {
    const int code = MPI_File_write_at_all(file, 0, data, 1600000, MPI_BYTE, &status);
    CHECK(code != MPI_SUCCESS && class_of(code) != MPI_ERR_OTHER);
    CHECK(count_of(&status, MPI_BYTE) <= half / size + 16);
    /* What the status says is there. */
    const long there = count_of(&status, MPI_BYTE);
    unsigned char* back = calloc(1600000, 1);
    CHECK(MPI_File_read_at_all(file, 0, back, 1600000, MPI_BYTE, &status) ==
          MPI_SUCCESS);
    CHECK(memcmp(data, back, (size_t)there) == 0);
    free(back);
  }
  free(data);
  MPI_File_close(&file);
  if (rank == 0) close(memory);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && strcmp(argv[1], "fails") == 0) {
    fails();
    return finish();
  }
  const char* name = new_file_name();
  all_patterns(name);
  overlapping(name);
  nothing_and_wrong(name);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(name);
  return finish();
}

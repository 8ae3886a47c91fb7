/* Two ranks or more; the argument names one fault, or with "_right" the program that has it not. What
   mpi.check=full says stands in CMakeLists.txt. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static int* numbers; /* 64 of them */

static void pair_of_types(int is_right) {
  if (rank == 1) MPI_Send(numbers, 4, MPI_INT, 0, 7, MPI_COMM_WORLD);
  if (rank == 0)
    MPI_Recv(numbers, 8, is_right ? MPI_INT : MPI_FLOAT, 1, 7, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

/* The types of both receives fit only if their notes are not mixed up. */
static void any_source(int is_right) {
  MPI_Request requests[3];
  double real = 0;
  int one = 0, two = 0;
  if (rank == 0) {
    MPI_Irecv(&one, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Irecv(&real, 1, is_right ? MPI_DOUBLE : MPI_INT64_T, 1, MPI_ANY_TAG,
              MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(&two, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, &requests[2]);
    for (int i = 2; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  }
  if (rank == 1) {
    MPI_Send(&one, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    MPI_Ssend(&real, 1, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD);
    MPI_Send(&two, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
  }
}

/* Equal types told differently, longer receives, packed data, nothing at all, a matched probe. */
static void types_that_fit(void) {
  MPI_Datatype column, record;
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, 8};
  const MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE};
  char packed[64];
  int at = 0;
  MPI_Status status;
  MPI_Message message;
  MPI_Request request;
  MPI_Type_vector(3, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Type_create_struct(2, lengths, places, parts, &record);
  MPI_Type_commit(&record);
  struct {
    int number;
    double real;
  } records[4] = {{1, 2}};
  if (rank == 1) {
    MPI_Send(numbers, 2, column, 0, 1, MPI_COMM_WORLD);
    MPI_Send(records, 2, record, 0, 2, MPI_COMM_WORLD);
    MPI_Pack(numbers, 3, MPI_INT, packed, sizeof packed, &at, MPI_COMM_WORLD);
    MPI_Send(packed, at, MPI_PACKED, 0, 3, MPI_COMM_WORLD);
    MPI_Send(NULL, 0, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD);
    MPI_Send(NULL, 0, MPI_INT, 0, 5, MPI_COMM_WORLD);
    MPI_Send(numbers, 5, MPI_INT, 0, 6, MPI_COMM_WORLD);
    MPI_Send(numbers, 5, MPI_INT, 0, 7, MPI_COMM_WORLD);
    MPI_Send(numbers, 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD);
  }
  if (rank == 0) {
    MPI_Recv(numbers, 9, MPI_INT, 1, 1, MPI_COMM_WORLD, &status);
    MPI_Recv(records, 4, record, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
    MPI_Recv(numbers, 4, MPI_INT, 1, 3, MPI_COMM_WORLD, &status);
    MPI_Recv(numbers, 4, MPI_INT, 1, 4, MPI_COMM_WORLD, &status);
    MPI_Recv(records, 4, MPI_CHAR, 1, 5, MPI_COMM_WORLD, &status);
    MPI_Mprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &message, &status);
    MPI_Imrecv(numbers, 5, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
    MPI_Irecv(packed, sizeof packed, MPI_PACKED, 1, 7, MPI_COMM_WORLD, &request);
    int done = 0;
    while (!done) MPI_Test(&request, &done, &status);
    MPI_Recv(numbers, 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &status);
  }
  MPI_Type_free(&record);
  MPI_Type_free(&column);
}

static void two_receives(int is_right) {
  MPI_Request requests[2];
  MPI_Datatype even;
  MPI_Type_vector(4, 1, 2, MPI_INT, &even);
  MPI_Type_commit(&even);
  if (rank == 0) {
    MPI_Irecv(numbers, 1, even, 1, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(numbers + (is_right ? 1 : 2), 1, even, 1, 2, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 1) {
    MPI_Send(numbers, 1, even, 0, 1, MPI_COMM_WORLD);
    MPI_Send(numbers, 4, MPI_INT, 0, 2, MPI_COMM_WORLD);
  }
  MPI_Type_free(&even);
}

static void send_and_receive(int is_right) {
  MPI_Request requests[2];
  const int other = 1 - rank;
  if (rank > 1) return;
  MPI_Irecv(numbers, 8, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(numbers + (is_right ? 8 : 7), 8, MPI_INT, other, 1, MPI_COMM_WORLD,
            &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void one_call(int is_right) {
  if (rank > 1) return;
  MPI_Sendrecv(numbers, 4, MPI_INT, 1 - rank, 1, numbers + (is_right ? 4 : 3), 4,
               MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void changed(int is_right) {
  MPI_Request request;
  if (rank == 0) {
    MPI_Isend(numbers, 4, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    if (is_right) MPI_Wait(&request, MPI_STATUS_IGNORE);
    numbers[3] = 77;
    if (!is_right) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (rank == 1) MPI_Recv(numbers, 4, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void persistent(int is_right) {
  MPI_Request request;
  if (rank > 1) return;
  if (rank == 0)
    MPI_Send_init(numbers, 4, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
  else
    MPI_Recv_init(numbers, 4, is_right ? MPI_INT : MPI_UNSIGNED, 0, 1, MPI_COMM_WORLD,
                  &request);
  for (int i = 0; i < 3; ++i) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    numbers[0] = i; /* it is not active */
  }
  MPI_Request_free(&request);
}

static void collective_buffer(int is_right) {
  MPI_Request requests[2];
  MPI_Ibcast(numbers, 4, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Ibcast(numbers + (is_right ? 4 : 2), 4, MPI_INT, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void window(int is_right) {
  MPI_Win win;
  int* memory;
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_fence(0, win);
  if (rank == 0)
    MPI_Put(numbers, 2, MPI_INT, 1, 0, is_right ? 2 : 8, is_right ? MPI_INT : MPI_CHAR,
            win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

/* Copies and frees a value, as callbacks of attributes do. */
static int forget(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)extra;
  MPI_Info info = value;
  return MPI_Info_free(&info);
}

static void ignore(MPI_Comm* comm, int* code, ...) { (void)comm, (void)code; }

static void handles(int is_right) {
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Info info;
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
  MPI_Info_create(&info);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, info); /* freed in MPI_Finalize */
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (!is_right) return;
  MPI_Comm_free_keyval(&key);
  /* In use by a communicator that is never freed, but not the program's any more. */
  MPI_Errhandler handler, same;
  MPI_Comm_create_errhandler(ignore, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Comm_get_errhandler(MPI_COMM_SELF, &same);
  MPI_Errhandler_free(&handler);
  MPI_Errhandler_free(&same);
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

static void message(int is_right) {
  if (rank == 1) MPI_Send(numbers, 3, MPI_INT, 0, 9, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && is_right)
    MPI_Recv(numbers, 3, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* What goes into a window is the program's again after the synchronisation. */
static void origin(int is_right) {
  MPI_Win win;
  int* memory;
  MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_lock_all(0, win);
  if (rank == 0) {
    MPI_Put(numbers, 2, MPI_INT, 1, 0, 2, MPI_INT, win);
    if (is_right) MPI_Win_flush_local(1, win);
    numbers[1] += 5;
    MPI_Win_flush(1, win);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* Two values are fetched into one place. */
static void fetched(int is_right) {
  MPI_Win win;
  int* memory;
  MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_fence(0, win);
  MPI_Get(numbers, 2, MPI_INT, 0, 0, 2, MPI_INT, win);
  if (is_right) MPI_Win_fence(0, win);
  MPI_Get(numbers + 1, 2, MPI_INT, 0, 4, 2, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

/* A file is written from memory that changes meanwhile. */
static void file(int is_right) {
  MPI_File file;
  MPI_Request request;
  char name[64] = "/tmp/mpc-checks-full-XXXXXX";
  const int made = mkstemp(name);
  MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_iwrite_at(file, 0, numbers, 8, MPI_INT, &request);
  if (is_right) MPI_Wait(&request, MPI_STATUS_IGNORE);
  numbers[3] += 7;
  if (!is_right) MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  close(made);
}

/* Only the thread of MPI_Init may make calls, but for those that ask about this. */
static void* another(void* is_right) {
  int value;
  MPI_Is_thread_main(&value);
  MPI_Initialized(&value);
  if (is_right == NULL) MPI_Comm_rank(MPI_COMM_WORLD, &value);
  return NULL;
}
static void thread(int is_right) {
  pthread_t id;
  pthread_create(&id, NULL, another, is_right ? &rank : NULL);
  pthread_join(id, NULL);
}

/* Freed before it has ended; nobody sends. */
static void freed(int is_right) {
  static int left;
  MPI_Request request;
  if (rank == 0) {
    MPI_Irecv(&left, 1, MPI_INT, 1, 11, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  }
  if (rank == 1 && is_right) MPI_Send(&rank, 1, MPI_INT, 0, 11, MPI_COMM_WORLD);
}

/* What a receive has taken that was freed is no secret: the one after it has other types. */
static void after_freed(int is_right) {
  static double first;
  MPI_Request request;
  if (rank == 0) {
    MPI_Irecv(&first, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(numbers, 4, is_right ? MPI_INT : MPI_FLOAT, 1, 12, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Recv(numbers, 4, MPI_INT, 1, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 1) {
    MPI_Send(&first, 1, MPI_DOUBLE, 0, 12, MPI_COMM_WORLD);
    MPI_Send(numbers, 4, MPI_INT, 0, 12, MPI_COMM_WORLD);
    MPI_Send(numbers, 4, MPI_INT, 0, 12, MPI_COMM_WORLD);
  }
}

/* The request of a collective may not be freed. */
static void freed_collective(int is_right) {
  MPI_Request request;
  MPI_Ibcast(numbers, 4, MPI_INT, 1, MPI_COMM_WORLD, &request);
  if (is_right || rank == 1)
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  else
    MPI_Request_free(&request);
}

/* Thousands of receives that end in reverse order, half of them from any source. */
static void reverse(int is_right) {
  enum { kMany = 6000 };
  static int cells[kMany];
  static MPI_Request requests[kMany];
  if (rank == 0) {
    for (int i = 0; i < kMany; ++i)
      MPI_Irecv(&cells[i], 1, MPI_INT, i % 2 != 0 ? MPI_ANY_SOURCE : 1, i,
                MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = kMany - 1; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const float wrong = 0;
  if (rank == 1)
    for (int i = kMany - 1; i >= 0; --i)
      MPI_Send(is_right || i != 77 ? (const void*)&i : &wrong, 1,
               is_right || i != 77 ? MPI_INT : MPI_FLOAT, 0, i, MPI_COMM_WORLD);
}

/* Freed after MPI_Finalize, as one may; or never. */
static MPI_Info late_info = MPI_INFO_NULL;
static MPI_Errhandler late_handler = MPI_ERRHANDLER_NULL;
static void outliving(int is_right) {
  (void)is_right;
  MPI_Info_create(&late_info);
  MPI_Comm_create_errhandler(ignore, &late_handler);
}

static const struct {
  const char* name;
  void (*run)(int is_right);
} cases[] = {{"types", pair_of_types},    {"any", any_source},
             {"receives", two_receives},  {"both", send_and_receive},
             {"call", one_call},          {"changed", changed},
             {"persistent", persistent},  {"icoll", collective_buffer},
             {"window", window},          {"handles", handles},
             {"message", message},        {"freed", freed},
             {"afterfreed", after_freed}, {"freedcollective", freed_collective},
             {"reverse", reverse},        {"origin", origin},
             {"fetched", fetched},        {"file", file},
             {"thread", thread},          {"outliving", outliving}};

int main(int argc, char** argv) {
  numbers = calloc(64, sizeof *numbers);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* how = argc > 1 ? argv[1] : "right";
  const int all_right = strcmp(how, "right") == 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (!all_right && strcmp(cases[i].name, how) != 0) continue;
    cases[i].run(all_right);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (all_right) types_that_fit();
  MPI_Finalize();
  if (all_right) {
    MPI_Info_free(&late_info);
    MPI_Errhandler_free(&late_handler);
  }
  free(numbers);
  if (rank == 0) puts("done");
  return 0;
}

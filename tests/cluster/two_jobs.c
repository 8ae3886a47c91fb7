/* Two jobs that were started apart: argv[1] is this one's part, argv[2] what they do, argv[3] a file
   with the name of the port, or "name:SERVICE". */
// Long: both sides of everything that two jobs do.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../mpi/check.h"

static int rank, size;
static const char* program; /* in a folder that all hosts see */

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

/* --- how they find each other ------------------------------------------------------------------ */

static void tell(const char* where, const char* port) {
  if (strncmp(where, "name:", 5) == 0) {
    CHECK(MPI_Publish_name(where + 5, MPI_INFO_NULL, port) == MPI_SUCCESS);
    return;
  }
  char draft[4096];
  snprintf(draft, sizeof draft, "%s.new", where);
  FILE* file = fopen(draft, "w");
  fputs(port, file);
  fclose(file);
  rename(draft, where);
}

static void find(const char* where, char* port) {
  for (;; usleep(10000)) {
    if (strncmp(where, "name:", 5) == 0) {
      if (MPI_Lookup_name(where + 5, MPI_INFO_NULL, port) == MPI_SUCCESS) return;
      continue;
    }
    FILE* file = fopen(where, "r");
    if (file == NULL) continue;
    port[fread(port, 1, MPI_MAX_PORT_NAME - 1, file)] = '\0';
    fclose(file);
    return;
  }
}

/* --- what they do ------------------------------------------------------------------------------ */

static unsigned char byte_at(long i, int from, int to) {
  return (unsigned char)(i * 7 + i / 251 + from * 13 + to * 5 + 1);
}

/* Each rank sends to each one of the other side, and gets as much. */
static void send_to_all(MPI_Comm inter, long bytes) {
  int me, peers;
  MPI_Comm_rank(inter, &me);
  MPI_Comm_remote_size(inter, &peers);
  unsigned char* out = malloc((size_t)(bytes * peers) + 1);
  unsigned char* in = malloc((size_t)(bytes * peers) + 1);
  MPI_Request* requests = malloc(2 * (size_t)peers * sizeof *requests);
  MPI_Status* states = malloc(2 * (size_t)peers * sizeof *states);
  memset(in, 0, (size_t)(bytes * peers) + 1);
  for (int p = 0; p < peers; ++p) {
    for (long i = 0; i < bytes; ++i) out[p * bytes + i] = byte_at(i, me, p);
    MPI_Irecv(in + p * bytes, (int)bytes, MPI_BYTE, p, 5, inter, &requests[p]);
  }
  for (int p = 0; p < peers; ++p)
    MPI_Isend(out + p * bytes, (int)bytes, MPI_BYTE, p, 5, inter, &requests[peers + p]);
  MPI_Waitall(2 * peers, requests, states);
  int wrong = 0;
  for (int p = 0; p < peers; ++p) {
    int count = -1;
    MPI_Get_count(&states[p], MPI_BYTE, &count);
    wrong += count != bytes || states[p].MPI_SOURCE != p;
    for (long i = 0; i < bytes; ++i) wrong += in[p * bytes + i] != byte_at(i, p, me);
  }
  CHECK(wrong == 0);
  free(out);
  free(in);
  free(requests);
  free(states);
}

/* Every second int, sent and received; long enough to be fetched in pieces. */
static void send_layouts(MPI_Comm inter) {
  enum { kInts = 100000 };
  int me, peers;
  MPI_Comm_rank(inter, &me);
  MPI_Comm_remote_size(inter, &peers);
  MPI_Datatype every_second;
  MPI_Type_vector(kInts, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  int* out = malloc(2 * kInts * sizeof *out);
  int* in = malloc(2 * kInts * sizeof *in);
  for (int i = 0; i < 2 * kInts; ++i) out[i] = i, in[i] = -1;
  if (me == 0) {
    MPI_Sendrecv(out, 1, every_second, 0, 1, in, 1, every_second, 0, 1, inter,
                 MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int i = 0; i < 2 * kInts; ++i) wrong += in[i] != (i % 2 == 0 ? i : -1);
    CHECK(wrong == 0);
  }
  MPI_Type_free(&every_second);
  free(out);
  free(in);
}

/* Synchronous, probed, from anybody, too long for its receive, taken back. */
static void send_in_all_modes(MPI_Comm inter, int is_server) {
  int me;
  MPI_Comm_rank(inter, &me);
  if (me != 0) return;
  MPI_Status status;
  int value = 42, got = 0, is_cancelled = 0;
  if (is_server) {
    MPI_Ssend(&value, 1, MPI_INT, 0, 1, inter);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &status);
    CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 2);
    MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, inter, &status);
    CHECK(got == 43);
    MPI_Request request;
    MPI_Isend(&value, 1, MPI_INT, 0, 3, inter, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    CHECK(is_cancelled);
    char text[20000] = "long";
    MPI_Send(text, sizeof text, MPI_CHAR, 0, 4, inter);
    MPI_Send(&value, 1, MPI_INT, 0, 6, inter);
  } else {
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, inter, &status);
    CHECK(got == 42 && status.MPI_SOURCE == 0);
    ++got;
    MPI_Send(&got, 1, MPI_INT, 0, 2, inter);
    char text[100];
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Recv(text, sizeof text, MPI_CHAR, 0, 4, inter, &status)) ==
          MPI_ERR_TRUNCATE);
    CHECK(strcmp(text, "long") == 0);
    MPI_Recv(&got, 1, MPI_INT, 0, 6, inter, &status);
    CHECK(got == 42);
    int flag = 1;
    MPI_Iprobe(0, 3, inter, &flag, &status);
    CHECK(!flag);
  }
}

/* More than the other rank's memory is to take before it receives. */
static void flood(MPI_Comm inter, int is_server) {
  enum { kMessages = 4000, kBytes = 6000 };
  int me;
  MPI_Comm_rank(inter, &me);
  if (me != 0) return;
  static char data[kBytes];
  static MPI_Request requests[kMessages];
  int wrong = 0;
  if (is_server) {
    for (int i = 0; i < kMessages; ++i)
      MPI_Isend(data, kBytes, MPI_CHAR, 0, i % 100, inter, &requests[i]);
    MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
  } else {
    usleep(50000);
    for (int i = 0; i < kMessages; ++i) {
      MPI_Status status;
      MPI_Recv(data, kBytes, MPI_CHAR, 0, MPI_ANY_TAG, inter, &status);
      wrong += status.MPI_TAG != i % 100;
    }
  }
  CHECK(wrong == 0);
}

static void do_collectives(MPI_Comm inter, int is_server) {
  int me, mine, peers;
  MPI_Comm_rank(inter, &me);
  MPI_Comm_size(inter, &mine);
  MPI_Comm_remote_size(inter, &peers);
  int sum = -1, value = me + 1;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == peers * (peers + 1) / 2);
  value = is_server ? 17 : -1;
  MPI_Bcast(&value, 1, MPI_INT,
            !is_server ? 0
            : me == 0  ? MPI_ROOT
                       : MPI_PROC_NULL,
            inter);
  CHECK(value == 17);
  int* all = malloc((size_t)peers * sizeof *all);
  MPI_Allgather(&me, 1, MPI_INT, all, 1, MPI_INT, inter);
  for (int p = 0; p < peers; ++p) CHECK(all[p] == p);
  free(all);
  MPI_Barrier(inter);
  MPI_Request request;
  MPI_Ibarrier(inter, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm twin;
  MPI_Comm_dup(inter, &twin);
  send_to_all(twin, 100);
  MPI_Comm_free(&twin);
  MPI_Comm_split(inter, me % 2, 0, &twin);
  if (twin != MPI_COMM_NULL) {
    send_to_all(twin, 10);
    MPI_Comm_free(&twin);
  }
}

/* Puts, gets, counters and locks reach members of both jobs, each time in a new window. */
static void count_in_window(MPI_Comm both) {
  enum { kLong = 100000 };
  int me, all;
  MPI_Comm_rank(both, &me);
  MPI_Comm_size(both, &all);
  int* memory;
  MPI_Win window;
  MPI_Win_allocate((2 + kLong) * sizeof(int), sizeof(int), MPI_INFO_NULL, both, &memory,
                   &window);
  memset(memory, 0, (2 + kLong) * sizeof(int));
  int* data = calloc(kLong, sizeof(int));
  data[kLong - 1] = me + 1;
  const int next = (me + 1) % all, last = (me + all - 1) % all, one = 1;
  MPI_Win_fence(0, window);
  MPI_Put(data, kLong, MPI_INT, next, 2, kLong, MPI_INT, window);
  MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_fence(0, window);
  CHECK(memory[1 + kLong] == last + 1);
  if (me == 0) CHECK(memory[0] == all);
  MPI_Barrier(both);
  for (int i = 0; i < 20; ++i) {
    int old = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Get(&old, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    ++old;
    MPI_Put(&old, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
    MPI_Win_unlock(0, window);
  }
  MPI_Win_lock_all(0, window);
  int found = 0;
  MPI_Fetch_and_op(&one, &found, MPI_INT, 0, 0, MPI_SUM, window);
  MPI_Get(data, kLong, MPI_INT, last, 2, kLong, MPI_INT, window);
  MPI_Win_unlock_all(window);
  CHECK(found >= all && found < 2 * all);
  CHECK(data[kLong - 1] == (last + all - 1) % all + 1);
  MPI_Barrier(both);
  if (me == 0) CHECK(memory[0] == 2 * all && memory[1] == 20 * all);
  MPI_Win_free(&window);
  free(data);
}

/* A file of both jobs: parts by rank, in the order of ranks, and by whoever comes. */
static void write_together(MPI_Comm both) {
  int me, all;
  MPI_Comm_rank(both, &me);
  MPI_Comm_size(both, &all);
  char name[4096] = "";
  if (me == 0) snprintf(name, sizeof name, "%s.%d", program, (int)getpid());
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, both);
  MPI_File file;
  CHECK(MPI_File_open(both, name,
                      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                      MPI_INFO_NULL, &file) == MPI_SUCCESS);
  MPI_Datatype comb;
  MPI_Type_create_resized(MPI_INT, 0, all * (MPI_Aint)sizeof(int), &comb);
  MPI_Type_commit(&comb);
  MPI_File_set_view(file, me * (MPI_Offset)sizeof(int), MPI_INT, comb, "native",
                    MPI_INFO_NULL);
  int values[1000], back[1000];
  for (int i = 0; i < 1000; ++i) values[i] = i * all + me;
  MPI_File_write_at_all(file, 0, values, 1000, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_read_at_all(file, 10, back, 1000, MPI_INT, MPI_STATUS_IGNORE);
  for (int i = 0; i < 1000; ++i) CHECK(back[i] == 10 + i);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  for (int i = 0; i < 50; ++i)
    MPI_File_write_shared(file, &me, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write_ordered(file, &me, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Offset at = 0;
  MPI_File_get_position_shared(file, &at);
  CHECK(at == 51 * all);
  MPI_File_read_at_all(file, 50 * all, back, all, MPI_INT, MPI_STATUS_IGNORE);
  for (int i = 0; i < all; ++i) CHECK(back[i] == i);
  MPI_Type_free(&comb);
  MPI_File_close(&file);
}

static void sum_over(MPI_Comm comm) {
  int me, all, sum = -1;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &all);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == all * (all - 1) / 2);
}

static void use_one_group(MPI_Comm both) {
  int me, all;
  MPI_Comm_rank(both, &me);
  MPI_Comm_size(both, &all);
  sum_over(both);
  MPI_Barrier(both);
  enum { kInts = 50000 };
  int* data = malloc(kInts * sizeof *data);
  for (int root = 0; root < all; ++root) {
    for (int i = 0; i < kInts; ++i) data[i] = me == root ? i + root : -1;
    MPI_Bcast(data, kInts, MPI_INT, root, both);
    CHECK(data[0] == root && data[kInts - 1] == kInts - 1 + root);
  }
  free(data);
  int* out = malloc((size_t)all * sizeof *out);
  int* in = malloc((size_t)all * sizeof *in);
  for (int p = 0; p < all; ++p) out[p] = me * 1000 + p;
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, both);
  for (int p = 0; p < all; ++p) CHECK(in[p] == p * 1000 + me);
  free(out);
  free(in);
  MPI_Comm part;
  MPI_Comm_dup(both, &part);
  sum_over(part);
  MPI_Comm_free(&part);
  MPI_Comm_split(both, me % 2, -me, &part);
  sum_over(part);
  MPI_Comm_free(&part);
  MPI_Group everybody;
  MPI_Comm_group(both, &everybody);
  MPI_Comm_create_group(both, everybody, 3, &part);
  sum_over(part);
  MPI_Comm_free(&part);
  MPI_Comm_create(both, everybody, &part);
  sum_over(part);
  MPI_Comm_free(&part);
  MPI_Group_free(&everybody);
  /* What jobs have in common, and what not. */
  int here, of_job_here;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
  MPI_Comm_size(part, &of_job_here);
  MPI_Comm_free(&part);
  MPI_Comm_split_type(both, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
  MPI_Comm_size(part, &here);
  CHECK(here == of_job_here);
  MPI_Comm_free(&part);
  MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
  MPI_Win window;
  void* memory;
  CHECK(class_of(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, both, &memory,
                                         &window)) == MPI_ERR_RMA_SHARED);
  count_in_window(both);
  write_together(both);
}

static void* talk_as_thread(void* argument) {
  const MPI_Comm inter = *(MPI_Comm*)argument;
  static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
  static int threads = 0;
  pthread_mutex_lock(&counting);
  const int tag = 100 + threads++ % 2;
  pthread_mutex_unlock(&counting);
  for (int i = 0; i < 300; ++i) {
    static const int lengths[] = {1, 1000, 30000};
    const int count = lengths[i % 3];
    int* out = calloc((size_t)count, sizeof *out);
    int* in = calloc((size_t)count, sizeof *in);
    out[count - 1] = i * 2 + tag;
    MPI_Sendrecv(out, count, MPI_INT, 0, tag, in, count, MPI_INT, 0, tag, inter,
                 MPI_STATUS_IGNORE);
    CHECK(in[count - 1] == i * 2 + tag);
    free(out);
    free(in);
  }
  return NULL;
}

/* Two threads of each job's rank 0 at a time. */
static void talk_as_threads(MPI_Comm inter) {
  if (rank == 0) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i)
      pthread_create(&threads[i], NULL, talk_as_thread, &inter);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  }
  MPI_Barrier(inter);
}

static void meet(int is_server, const char* port, MPI_Comm from, MPI_Comm* inter) {
  if (is_server)
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, from, inter);
  else
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, from, inter);
  int is_inter = 0, mine = 0;
  MPI_Comm_test_inter(*inter, &is_inter);
  MPI_Comm_size(*inter, &mine);
  CHECK(is_inter && mine == size);
}

/* Members of one job that are in both groups find each other, those of two jobs do not. */
static void split_two_groups(MPI_Comm jobs, MPI_Comm both) {
  MPI_Comm half, halves, part;
  int me, here = 0, others = 0;
  MPI_Comm_split_type(jobs, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
  CHECK(part == MPI_COMM_NULL);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
  MPI_Comm_size(part, &here);
  MPI_Comm_free(&part);
  int least = here < size ? 0 : size; /* 0: on several hosts */
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, both);
  if (least < 2) return;
  MPI_Comm_rank(both, &me);
  MPI_Comm_split(both, rank % 2, me, &half);
  MPI_Intercomm_create(half, 0, both, 1 - rank % 2, 5, &halves);
  MPI_Comm_split_type(halves, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
  CHECK(part != MPI_COMM_NULL);
  MPI_Comm_size(part, &here);
  MPI_Comm_remote_size(part, &others);
  CHECK(here + others == size);
  MPI_Comm_free(&part);
  MPI_Comm_disconnect(&halves);
  MPI_Comm_disconnect(&half);
}

static void talk(int is_server, const char* port) {
  MPI_Comm inter, both;
  for (int round = 0; round < 3; ++round) {
    meet(is_server, port, MPI_COMM_WORLD, &inter);
    static const long lengths[] = {0, 1, 8, 4000, 20000, 70000, 1000000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i)
      send_to_all(inter, lengths[i]);
    send_layouts(inter);
    send_in_all_modes(inter, is_server);
    do_collectives(inter, is_server);
    MPI_Intercomm_merge(inter, !is_server, &both);
    int me;
    MPI_Comm_rank(both, &me);
    if (is_server) CHECK(me == rank);
    use_one_group(both);
    if (round == 0) split_two_groups(inter, both);
    MPI_Comm_disconnect(&both);
    MPI_Comm_disconnect(&inter);
  }
}

/* Jobs that come one after the other are taken into one group, in which all go on to accept. */
static void grow(int jobs, const char* port, const char* me) {
  MPI_Comm all, inter, more;
  int known = 1, number = atoi(me);
  if (number == 0) {
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
  } else {
    meet(0, port, MPI_COMM_WORLD, &inter);
    MPI_Intercomm_merge(inter, 1, &all);
    MPI_Comm_disconnect(&inter);
    MPI_Bcast(&known, 1, MPI_INT, 0, all);
  }
  while (++known <= jobs) {
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, all, &inter);
    MPI_Intercomm_merge(inter, 0, &more);
    MPI_Comm_disconnect(&inter);
    MPI_Comm_disconnect(&all);
    all = more;
    int now = known;
    MPI_Bcast(&now, 1, MPI_INT, 0, all);
  }
  sum_over(all);
  int me_in_all, members;
  MPI_Comm_rank(all, &me_in_all);
  MPI_Comm_size(all, &members);
  CHECK(members == jobs * size);
  /* Each talks to each: also jobs that have not connected to each other. */
  int* out = malloc((size_t)members * sizeof *out);
  int* in = malloc((size_t)members * sizeof *in);
  for (int p = 0; p < members; ++p) out[p] = me_in_all * 1000 + p;
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, all);
  for (int p = 0; p < members; ++p) CHECK(in[p] == p * 1000 + me_in_all);
  free(out);
  free(in);
  MPI_Comm_disconnect(&all);
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  program = argv[0];
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int is_server = strcmp(argv[1], "server") == 0 || strcmp(argv[1], "0") == 0;
  const char *what = argv[2], *where = argv[3];
  static char port[MPI_MAX_PORT_NAME];
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (rank == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* for names */
    if (is_server) {
      MPI_Open_port(MPI_INFO_NULL, port);
      tell(where, port);
    } else {
      find(where, port);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  }
  MPI_Comm inter;
  if (strcmp(what, "talk") == 0) talk(is_server, port);
  if (strcmp(what, "grow") == 0) grow(3, port, argv[1]);
  if (strcmp(what, "flood") == 0 || strcmp(what, "threads") == 0) {
    meet(is_server, port, MPI_COMM_WORLD, &inter);
    if (strcmp(what, "flood") == 0)
      flood(inter, is_server);
    else
      talk_as_threads(inter);
    MPI_Comm_disconnect(&inter);
  }
  if (rank == 0 && is_server) MPI_Close_port(port);
  return finish();
}

/* Started without mpcrun, it spawns itself: argv[1] says what both sides do; the children have "child" before it. Or $SPAWNS.
   argv[2], if given: how many children. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../mpi/check.h"

static const char* own_path;
static volatile sig_atomic_t child_signals;

static void note_signal(int number) {
  (void)number;
  child_signals = child_signals + 1;
}

static int is(const char* how, const char* name) { return strcmp(how, name) == 0; }

/* Messages short and long in both directions, a collective, one group of all. */
static void talk(MPI_Comm inter, int is_parent) {
  enum { kCount = 300000 };
  int rank, size, remote;
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_size(inter, &size);
  MPI_Comm_remote_size(inter, &remote);
  if (rank == 0) {
    int* data = malloc(kCount * sizeof *data);
    for (int i = 0; i < kCount; ++i) data[i] = is_parent ? i : -1;
    if (is_parent)
      MPI_Send(data, kCount, MPI_INT, 0, 3, inter);
    else
      MPI_Recv(data, kCount, MPI_INT, 0, 3, inter, MPI_STATUS_IGNORE);
    CHECK(data[kCount - 1] == kCount - 1);
    int word = is_parent ? 0 : 77;
    if (is_parent)
      MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 4, inter, MPI_STATUS_IGNORE);
    else
      MPI_Send(&word, 1, MPI_INT, 0, 4, inter);
    CHECK(word == 77);
    free(data);
  }
  int mine = is_parent ? 100 : 1, sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == remote * (is_parent ? 1 : 100));
  MPI_Comm all;
  MPI_Intercomm_merge(inter, !is_parent, &all);
  int all_rank, all_size;
  MPI_Comm_rank(all, &all_rank);
  MPI_Comm_size(all, &all_size);
  CHECK(all_size == size + remote && all_rank == (is_parent ? rank : remote + rank));
  int root = all_rank == 0 ? 42 : 0;
  MPI_Bcast(&root, 1, MPI_INT, 0, all);
  CHECK(root == 42);
  MPI_Comm_free(&all);
}

static MPI_Comm spawn(const char* how, int count) {
  char* args[] = {"child", (char*)how, NULL};
  int* codes = malloc((size_t)count * sizeof *codes);
  MPI_Comm inter;
  for (int i = 0; i < count; ++i) codes[i] = -1;
  MPI_Comm_spawn(own_path, args, count, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                 codes);
  for (int i = 0; i < count; ++i) CHECK(codes[i] == MPI_SUCCESS);
  free(codes);
  return inter;
}

static int child(const char* how) {
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  CHECK(parent != MPI_COMM_NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (is(how, "aborts") && rank == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  if (is(how, "crashes") && rank == 0) raise(SIGSEGV);
  if (is(how, "waits") || is(how, "forgets") || is(how, "aborts") || is(how, "crashes"))
    MPI_Recv(NULL, 0, MPI_INT, 0, 9, parent, MPI_STATUS_IGNORE);
  if (is(how, "late")) {
    sleep(2);
    if (rank == 0) printf("the child has ended\n");
  }
  if (is(how, "deeper")) {
    MPI_Comm inter = spawn("talk", 2);
    talk(inter, 1);
    MPI_Comm_disconnect(&inter);
  }
  if (is(how, "talk") || is(how, "deeper")) {
    talk(parent, 0);
    MPI_Comm_disconnect(&parent);
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL);
  }
  const int has_failed =
      check_failures != 0; /* said where it is; "No Errors" is the parent's */
  MPI_Finalize();
  return has_failed;
}

static void talk_to(const char* how, int count) {
  MPI_Comm inter = spawn(how, count);
  talk(inter, 1);
  MPI_Comm_disconnect(&inter);
}

static void spawn_two_programs(void) {
  char *first[] = {"child", "talk", NULL}, *second[] = {"child", "talk", ":", NULL};
  char* commands[] = {(char*)own_path, (char*)own_path};
  char** args[] = {first, second};
  int counts[] = {1, 2}, codes[] = {-1, -1, -1};
  MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm inter;
  MPI_Comm_spawn_multiple(2, commands, args, counts, infos, 0, MPI_COMM_WORLD, &inter,
                          codes);
  for (int i = 0; i < 3; ++i) CHECK(codes[i] == MPI_SUCCESS);
  talk(inter, 1);
  MPI_Comm_disconnect(&inter);
}

/* A program that waits for its own children finds none of ours, and is told of none. */
static void find_no_child(void) {
  signal(SIGCHLD, note_signal);
  for (int i = 0; i < 3; ++i) talk_to("talk", 1);
  CHECK(wait(NULL) == -1 && errno == ECHILD);
  CHECK(child_signals == 0);
}

static void wait_cheaply(void) {
  MPI_Comm inter = spawn("late", 1);
  struct timespec before, after;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  MPI_Finalize();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  (void)inter;
  const double used = (double)(after.tv_sec - before.tv_sec) +
                      (double)(after.tv_nsec - before.tv_nsec) * 1e-9;
  printf("the parent has ended%s\n", used < 0.3 ? "" : ", but used the processor");
}

#define EXPECT_GONE(call)                     \
  do {                                        \
    int code_ = (call), class_ = MPI_SUCCESS; \
    MPI_Error_class(code_, &class_);          \
    CHECK(class_ == MPI_ERR_PROC_ABORTED);    \
  } while (0)

/* The children have ended regularly, and nobody has disconnected: what waits for them fails. */
static void outlive(int count) {
  enum { kLarge = 4 << 20 };
  MPI_Comm inter = spawn("ended", count);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  char* large = calloc(1, kLarge);
  int word = 0, flag = 0;
  MPI_Request request;
  /* Started while the children may still be there. */
  int code = MPI_Isend(large, kLarge, MPI_CHAR, 0, 1, inter, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_GONE(code);
  EXPECT_GONE(MPI_Recv(&word, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
  EXPECT_GONE(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, inter, MPI_STATUS_IGNORE));
  EXPECT_GONE(MPI_Ssend(large, kLarge, MPI_CHAR, count - 1, 1, inter));
  EXPECT_GONE(MPI_Ssend(&word, 1, MPI_INT, 0, 1, inter));
  EXPECT_GONE(MPI_Probe(0, 1, inter, MPI_STATUS_IGNORE));
  EXPECT_GONE(MPI_Iprobe(0, 1, inter, &flag, MPI_STATUS_IGNORE));
  code = MPI_Irecv(&word, 1, MPI_INT, count - 1, 1, inter, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_GONE(code);
  EXPECT_GONE(MPI_Barrier(inter));
  EXPECT_GONE(MPI_Comm_disconnect(&inter));
  MPI_Comm_free(&inter);
  free(large);
  talk_to("talk", count); /* the program goes on */
}

static void wait_in_vain(const char* how) {
  MPI_Comm inter = spawn("ended", 2);
  if (is(how, "ended-receive"))
    MPI_Recv(NULL, 0, MPI_INT, 1, 9, inter, MPI_STATUS_IGNORE);
  if (is(how, "ended-disconnect")) MPI_Comm_disconnect(&inter);
  MPI_Comm all;
  if (is(how, "ended-merge")) MPI_Intercomm_merge(inter, 0, &all);
}

int main(int argc, char** argv) {
  own_path = getenv("SPAWNS") != NULL ? getenv("SPAWNS") : argv[0];
  MPI_Init(&argc, &argv);
  if (argc > 2 && is(argv[1], "child")) return child(argv[2]);
  const char* how = argc > 1 ? argv[1] : "talk";
  const int count = argc > 2 ? atoi(argv[2]) : 1;
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  CHECK(parent == MPI_COMM_NULL);
  if (is(how, "late")) {
    wait_cheaply();
    return 0;
  }
  if (is(how, "alone"))
    find_no_child();
  else if (is(how, "two-programs"))
    spawn_two_programs();
  else if (is(how, "outlive"))
    outlive(count);
  else if (strncmp(how, "ended-", 6) == 0)
    wait_in_vain(how);
  else if (is(how, "talk") || is(how, "deeper"))
    talk_to(how, count);
  else {
    MPI_Comm inter = spawn(how, count);
    printf("spawned\n");
    fflush(stdout);
    if (!is(how, "forgets")) MPI_Recv(NULL, 0, MPI_INT, 0, 9, inter, MPI_STATUS_IGNORE);
  }
  return finish();
}

/* Ranks of a job of several processes spawn, connect among themselves and find names: argv[1] says what they do;
   children have "child" before it. */
#include <string.h>
#include <unistd.h>

#include "../mpi/check.h"

static const char* own_path;
static int rank, size;

static int is(const char* how, const char* name) { return strcmp(how, name) == 0; }

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

static void sum_over(MPI_Comm comm) {
  int me, all, sum = -1;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &all);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == all * (all - 1) / 2);
  int* out = malloc((size_t)all * sizeof *out);
  int* in = malloc((size_t)all * sizeof *in);
  for (int p = 0; p < all; ++p) out[p] = me * 1000 + p;
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
  for (int p = 0; p < all; ++p) CHECK(in[p] == p * 1000 + me);
  free(out);
  free(in);
}

static MPI_Comm spawn(const char* how, int count, int root, MPI_Comm from) {
  char* args[] = {"child", (char*)how, NULL};
  MPI_Comm inter;
  MPI_Comm_spawn(own_path, args, count, MPI_INFO_NULL, root, from, &inter,
                 MPI_ERRCODES_IGNORE);
  return inter;
}

/* --- spawning from a group of several jobs ------------------------------------------------------- */

/* From now on all members go on alike: `left` more jobs are spawned by the last rank of all that are there. */
static void go_on(MPI_Comm all, int left) {
  for (;;) {
    MPI_Bcast(&left, 1, MPI_INT, 0, all);
    sum_over(all);
    if (left == 0) break;
    int members;
    MPI_Comm_size(all, &members);
    MPI_Comm inter = spawn("grown", 2, members - 1, all), more;
    MPI_Intercomm_merge(inter, 0, &more);
    MPI_Comm_disconnect(&inter);
    MPI_Comm_disconnect(&all);
    all = more;
    --left;
  }
  MPI_Comm_disconnect(&all);
}

static void grow(int jobs) {
  MPI_Comm all;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  go_on(all, jobs);
}

static void join_the_grown(void) {
  MPI_Comm parent, all;
  MPI_Comm_get_parent(&parent);
  MPI_Intercomm_merge(parent, 1, &all);
  MPI_Comm_disconnect(&parent);
  go_on(all, 0);
}

/* --- several spawns that all live at a time ---------------------------------------------------- */

static void farm(void) {
  enum { kTeams = 3 };
  MPI_Comm teams[kTeams];
  for (int t = 0; t < kTeams; ++t)
    teams[t] = spawn("worker", 2, t % size, MPI_COMM_WORLD);
  for (int t = 0; t < kTeams; ++t) {
    /* Each parent gives each worker a number, and gets twice as much. */
    for (int w = 0; w < 2; ++w) {
      int work = 100 * rank + 10 * t + w, done = 0;
      MPI_Send(&work, 1, MPI_INT, w, 1, teams[t]);
      MPI_Recv(&done, 1, MPI_INT, w, 2, teams[t], MPI_STATUS_IGNORE);
      CHECK(done == 2 * work);
    }
  }
  for (int t = 0; t < kTeams; ++t) MPI_Comm_disconnect(&teams[t]);
}

static void work(void) {
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  int parents;
  MPI_Comm_remote_size(parent, &parents);
  for (int i = 0; i < parents; ++i) {
    int given;
    MPI_Status status;
    MPI_Recv(&given, 1, MPI_INT, MPI_ANY_SOURCE, 1, parent, &status);
    given *= 2;
    MPI_Send(&given, 1, MPI_INT, status.MPI_SOURCE, 2, parent);
  }
  MPI_Comm_disconnect(&parent);
}

/* Each rank for itself, all at once. */
static void spawn_each(void) {
  MPI_Comm inter = spawn("worker", 1, 0, MPI_COMM_SELF);
  int given = rank, got = 0;
  MPI_Sendrecv(&given, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 2, inter,
               MPI_STATUS_IGNORE);
  CHECK(got == 2 * rank);
  MPI_Comm_disconnect(&inter);
}

/* --- groups that meet over communicators that are there ------------------------------------------ */

/* The first rank alone has spawned; its job's others join by MPI_Intercomm_create. */
static void bridge(void) {
  MPI_Comm inter = MPI_COMM_NULL, pair = MPI_COMM_NULL, both, all;
  if (rank == 0) {
    inter = spawn("bridged", 2, 0, MPI_COMM_SELF);
    MPI_Intercomm_merge(inter, 0, &pair);
  }
  MPI_Intercomm_create(MPI_COMM_WORLD, 0, pair, 1, 7, &both);
  MPI_Intercomm_merge(both, 0, &all);
  sum_over(all);
  /* And one whose leaders are of this job, while a group has members of the other one. */
  MPI_Comm halves, across, whole;
  int me;
  MPI_Comm_rank(all, &me);
  MPI_Comm_split(all, me < size - 1, 0, &halves);
  MPI_Intercomm_create(halves, 0, all, me < size - 1 ? size - 1 : 0, 8, &across);
  MPI_Intercomm_merge(across, me >= size - 1, &whole);
  sum_over(whole);
  MPI_Comm_free(&whole);
  MPI_Comm_free(&across);
  MPI_Comm_free(&halves);
  MPI_Comm_disconnect(&all);
  MPI_Comm_disconnect(&both);
  if (rank == 0) {
    MPI_Comm_disconnect(&pair);
    MPI_Comm_disconnect(&inter);
  }
}

static void be_bridged(void) {
  MPI_Comm parent, pair, both, all, halves, across, whole;
  MPI_Comm_get_parent(&parent);
  MPI_Intercomm_merge(parent, 1, &pair);
  MPI_Intercomm_create(MPI_COMM_WORLD, 0, pair, 0, 7, &both);
  MPI_Intercomm_merge(both, 1, &all);
  sum_over(all);
  MPI_Comm_split(all, 0, 0, &halves);
  MPI_Intercomm_create(halves, 0, all, 0, 8, &across);
  MPI_Intercomm_merge(across, 1, &whole);
  sum_over(whole);
  MPI_Comm_free(&whole);
  MPI_Comm_free(&across);
  MPI_Comm_free(&halves);
  MPI_Comm_disconnect(&all);
  MPI_Comm_disconnect(&both);
  MPI_Comm_disconnect(&pair);
  MPI_Comm_disconnect(&parent);
}

/* --- ports and names within the job ------------------------------------------------------------ */

/* The port is rank 0's; the last rank accepts, or connects, there, and the one before it does the other. */
static void use_ports_of_another_process(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int round = 0; round < 4; ++round) {
    const int accepting = round % 2 == 0 ? size - 1 : 0,
              connecting = round < 2 ? 1 : size - 2;
    MPI_Comm inter;
    if (accepting == connecting) continue;
    if (rank == accepting)
      MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    if (rank == connecting)
      MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    if (rank == accepting || rank == connecting) {
      int got = -1;
      MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, inter,
                   MPI_STATUS_IGNORE);
      CHECK(got == (rank == accepting ? connecting : accepting));
      MPI_Comm_disconnect(&inter);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) MPI_Close_port(port);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm inter;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (rank == size - 1)
    CHECK(class_of(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter)) ==
          MPI_ERR_PORT);
}

static void use_names(void) {
  char found[MPI_MAX_PORT_NAME] = "";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (rank == 0)
    CHECK(MPI_Publish_name("held here", MPI_INFO_NULL, "a port") == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_Lookup_name("held here", MPI_INFO_NULL, found) == MPI_SUCCESS);
  CHECK(is(found, "a port"));
  CHECK(class_of(MPI_Publish_name("held here", MPI_INFO_NULL, "b")) == MPI_ERR_SERVICE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1)
    CHECK(MPI_Unpublish_name("held here", MPI_INFO_NULL, "a port") == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(class_of(MPI_Lookup_name("held here", MPI_INFO_NULL, found)) == MPI_ERR_NAME);
  CHECK(class_of(MPI_Unpublish_name("held here", MPI_INFO_NULL, "a port")) ==
        MPI_ERR_SERVICE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  own_path = argv[0];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int is_child = argc > 2 && is(argv[1], "child");
  const char* how = argv[is_child ? 2 : 1];
  if (is_child) {
    if (is(how, "grown")) join_the_grown();
    if (is(how, "worker")) work();
    if (is(how, "bridged")) be_bridged();
    const int has_failed =
        check_failures != 0; /* said where it is; "No Errors" is the parent's */
    MPI_Finalize();
    return has_failed;
  }
  if (is(how, "grow")) grow(2);
  if (is(how, "farm")) farm();
  if (is(how, "each")) spawn_each();
  if (is(how, "bridge")) bridge();
  if (is(how, "ports")) use_ports_of_another_process();
  if (is(how, "names")) use_names();
  return finish();
}

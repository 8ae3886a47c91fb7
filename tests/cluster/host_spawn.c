/* Spawns itself, or $SPAWNS: argv[1] says what both sides do, argv[2] how many children; KEY=VALUE: info keys.
   The root prints the host of each child. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../mpi/check.h"

enum { kName = 64, kLarge = 200000 };

static int is(const char* how, const char* name) { return strcmp(how, name) == 0; }

/* Messages between all parents and all children, and collectives of one group of all. */
static void talk(MPI_Comm inter, int is_parent) {
  int rank, size, remote, all_rank, all_size;
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_size(inter, &size);
  MPI_Comm_remote_size(inter, &remote);
  int* out = malloc(kLarge * sizeof *out);
  int* in = malloc(kLarge * sizeof *in);
  for (int p = 0; p < remote; ++p) {
    MPI_Request request;
    for (int i = 0; i < kLarge; ++i) out[i] = i + rank + 10 * is_parent;
    MPI_Isend(out, kLarge, MPI_INT, p, 3, inter, &request);
    MPI_Recv(in, kLarge, MPI_INT, p, 3, inter, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in[0] == p + 10 * !is_parent && in[kLarge - 1] == in[0] + kLarge - 1);
  }
  free(out);
  free(in);
  MPI_Comm all;
  MPI_Intercomm_merge(inter, !is_parent, &all);
  MPI_Comm_rank(all, &all_rank);
  MPI_Comm_size(all, &all_size);
  CHECK(all_size == size + remote);
  for (int root = 0; root < all_size; ++root) {
    int word = all_rank == root ? root + 1 : 0, sum = 0;
    MPI_Bcast(&word, 1, MPI_INT, root, all);
    CHECK(word == root + 1);
    MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK(sum == all_size * (root + 1));
  }
  MPI_Comm_free(&all);
}

static void show_hosts(MPI_Comm inter, int count) {
  char* names = calloc((size_t)count, kName);
  int rank;
  MPI_Comm_rank(inter, &rank);
  MPI_Gather(NULL, 0, MPI_CHAR, names, kName, MPI_CHAR,
             rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
  for (int i = 0; rank == 0 && i < count; ++i)
    printf("child %d on %s\n", i, names + i * kName);
  fflush(stdout);
  free(names);
}

static int child(const char* how) {
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  CHECK(parent != MPI_COMM_NULL);
  char name[kName] = "";
  gethostname(name, sizeof name - 16);
  snprintf(name + strlen(name), 16, " %d", (int)getpid());
  MPI_Gather(name, kName, MPI_CHAR, NULL, 0, MPI_CHAR, 0, parent);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (is(how, "aborts") && rank == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  if (!is(how, "talk")) MPI_Recv(NULL, 0, MPI_INT, 0, 9, parent, MPI_STATUS_IGNORE);
  talk(parent, 0);
  MPI_Comm_disconnect(&parent);
  const int has_failed = check_failures != 0;
  MPI_Finalize();
  return has_failed;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 2 && is(argv[1], "child")) return child(argv[2]);
  const int count = atoi(argv[2]);
  char* args[] = {"child", argv[1], NULL};
  MPI_Info info;
  MPI_Info_create(&info);
  for (int i = 3; i < argc; ++i) {
    char* value = strchr(argv[i], '=');
    *value = '\0';
    MPI_Info_set(info, argv[i], value + 1);
  }
  int size, length, root;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  root = is(argv[1], "last") ? size - 1 : 0;
  if (root != 0) args[1] = "talk";
  int* codes = malloc((size_t)count * sizeof *codes);
  MPI_Comm inter;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const char* command = getenv("SPAWNS") != NULL ? getenv("SPAWNS") : argv[0];
  const int code =
      MPI_Comm_spawn(command, args, count, info, root, MPI_COMM_WORLD, &inter, codes);
  MPI_Info_free(&info);
  free(codes);
  if (code != MPI_SUCCESS) {
    int class, rank;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("%s\n", class == MPI_ERR_SPAWN ? "spawn" : text);
    fprintf(stderr, "%s\n", text);
    MPI_Finalize();
    return 0;
  }
  show_hosts(inter, count);
  if (is(argv[1], "waits") || is(argv[1], "aborts"))
    MPI_Recv(NULL, 0, MPI_INT, 0, 9, inter, MPI_STATUS_IGNORE);
  talk(inter, 1);
  MPI_Comm_disconnect(&inter);
  return finish();
}

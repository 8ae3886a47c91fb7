/* Spawns itself, and is spawned: MPI_Comm_spawn and what follows from it. argv[1]: the child's part. */
#include <string.h>
#include <unistd.h>

#include "check.h"

static const char* own_path;

static void send_between_roots(MPI_Comm inter, int is_parent) {
  enum { kCount = 30000 };
  static int data[kCount];
  if (is_parent) {
    for (int i = 0; i < kCount; ++i) data[i] = i;
    MPI_Send(data, kCount, MPI_INT, 0, 3, inter);
    MPI_Status status;
    MPI_Recv(data, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &status);
    CHECK(data[0] == kCount - 1 && status.MPI_SOURCE == 0 && status.MPI_TAG == 4);
  } else {
    MPI_Recv(data, kCount, MPI_INT, 0, 3, inter, MPI_STATUS_IGNORE);
    MPI_Send(&data[kCount - 1], 1, MPI_INT, 0, 4, inter);
  }
}

static void use_window(MPI_Comm all, int rank, int size) {
  int* memory;
  MPI_Win win;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, all, &memory, &win);
  *memory = -1;
  MPI_Win_fence(0, win);
  MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(*memory == (rank + size - 1) % size);
  MPI_Win_free(&win);
}

/* What two groups can do over an intercommunicator: messages, collectives, merge, windows. */
static void talk(MPI_Comm inter, int is_parent) {
  int rank, size, remote;
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_size(inter, &size);
  MPI_Comm_remote_size(inter, &remote);
  if (rank == 0) send_between_roots(inter, is_parent);
  int mine = rank + (is_parent ? 100 : 1000), sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == remote * (is_parent ? 1000 : 100) + remote * (remote - 1) / 2);
  MPI_Comm all;
  MPI_Intercomm_merge(inter, !is_parent, &all);
  int all_rank, all_size;
  MPI_Comm_rank(all, &all_rank);
  MPI_Comm_size(all, &all_size);
  CHECK(all_size == size + remote);
  CHECK(all_rank == (is_parent ? rank : remote + rank));
  int word = all_rank == 0 ? 42 : 0;
  MPI_Bcast(&word, 1, MPI_INT, 0, all);
  CHECK(word == 42);
  use_window(all, all_rank, all_size);
  MPI_Comm_free(&all);
}

static int attribute(int key) {
  int* value = NULL;
  int flag = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
  return flag ? *value : -1;
}

static void spawn_deeper(const char* depth) {
  char text[16];
  if (atoi(depth) == 0) return;
  snprintf(text, sizeof text, "%d", atoi(depth) - 1);
  char* args[] = {"deeper", text, NULL};
  MPI_Comm inter;
  int failures = -1;
  MPI_Comm_spawn(own_path, args, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                 MPI_ERRCODES_IGNORE);
  talk(inter, 1);
  MPI_Recv(&failures, 1, MPI_INT, 0, 9, inter, MPI_STATUS_IGNORE);
  CHECK(failures == 0);
  MPI_Comm_disconnect(&inter);
}

static void check_start(int argc, char** argv) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(argv[1], "talk") == 0) {
    CHECK(argc == 3 && strcmp(argv[2], "a b") == 0);
    CHECK(size == 3 && attribute(MPI_APPNUM) == 0);
  } else if (strcmp(argv[1], "several") == 0) {
    CHECK(size == 3 && attribute(MPI_APPNUM) == (rank < 1 ? 0 : 1));
    CHECK(strcmp(argv[2], rank < 1 ? "one" : "two") == 0);
  } else if (strcmp(argv[1], "folder") == 0) {
    char folder[1024];
    CHECK(getcwd(folder, sizeof folder) != NULL && strcmp(folder, "/") == 0);
  } else {
    CHECK(argc == 3 && size == 1);
    spawn_deeper(argv[2]);
  }
}

static int child(int argc, char** argv, MPI_Comm parent) {
  int rank, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  check_start(argc, argv);
  talk(parent, 0);
  MPI_Allreduce(&check_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) MPI_Send(&all, 1, MPI_INT, 0, 9, parent);
  MPI_Comm_disconnect(&parent);
  CHECK(parent == MPI_COMM_NULL);
  MPI_Comm_get_parent(&parent);
  CHECK(parent == MPI_COMM_NULL);
  MPI_Finalize();
  return check_failures != 0;
}

static void finish_children(MPI_Comm* inter) {
  int rank, failures = 0;
  MPI_Comm_rank(*inter, &rank);
  talk(*inter, 1);
  if (rank == 0) MPI_Recv(&failures, 1, MPI_INT, 0, 9, *inter, MPI_STATUS_IGNORE);
  CHECK(failures == 0);
  MPI_Comm_disconnect(inter);
  CHECK(*inter == MPI_COMM_NULL);
}

static void spawn_one_kind(void) {
  char* args[] = {"talk", "a b", NULL};
  MPI_Comm inter = MPI_COMM_NULL;
  int codes[3] = {-1, -1, -1}, remote, size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_spawn(own_path, args, 3, MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, &inter,
                 codes);
  MPI_Comm_remote_size(inter, &remote);
  CHECK(remote == 3 && codes[0] == MPI_SUCCESS && codes[2] == MPI_SUCCESS);
  finish_children(&inter);
}

static void spawn_two_kinds(void) {
  char *one[] = {"several", "one", NULL}, *two[] = {"several", "two", NULL};
  char* commands[] = {(char*)own_path, (char*)own_path};
  char** args[] = {one, two};
  int counts[] = {1, 2}, codes[3] = {-1, -1, -1};
  MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm inter;
  MPI_Comm_spawn_multiple(2, commands, args, counts, infos, 0, MPI_COMM_WORLD, &inter,
                          codes);
  CHECK(codes[0] == MPI_SUCCESS && codes[2] == MPI_SUCCESS);
  finish_children(&inter);
}

static void spawn_with_keys(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "wdir", "/");
  MPI_Info_set(info, "host", "localhost");
  MPI_Info_set(info, "soft", "1:9:4");
  char* args[] = {"folder", NULL};
  MPI_Comm inter;
  int codes[7], remote, rank;
  MPI_Comm_spawn(own_path, args, 7, info, 0, MPI_COMM_WORLD, &inter, codes);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_remote_size(inter, &remote);
  CHECK(remote == 5);
  if (rank == 0) CHECK(codes[4] == MPI_SUCCESS && codes[5] == MPI_ERR_SPAWN);
  finish_children(&inter);
  MPI_Info_free(&info);
}

/* Each rank for itself, at the same time; the children spawn, too. */
static void spawn_alone(void) {
  char* args[] = {"deeper", "2", NULL};
  MPI_Comm inter;
  MPI_Comm_spawn(own_path, args, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                 MPI_ERRCODES_IGNORE);
  finish_children(&inter);
}

static void expect_error(const char* command, const char* key, const char* value) {
  MPI_Info info;
  MPI_Info_create(&info);
  if (key != NULL) MPI_Info_set(info, key, value);
  MPI_Comm inter = MPI_COMM_WORLD;
  int codes[2] = {-1, -1}, rank, class = MPI_SUCCESS;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Error_class(
      MPI_Comm_spawn(command, MPI_ARGV_NULL, 2, info, 0, MPI_COMM_WORLD, &inter, codes),
      &class);
  CHECK(class == MPI_ERR_SPAWN && inter == MPI_COMM_NULL);
  if (rank == 0) CHECK(codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN);
  MPI_Info_free(&info);
}

static void spawn_in_vain(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  expect_error("./there-is-no-such-program", NULL, NULL);
  expect_error("there-is-no-such-program", NULL, NULL);
  expect_error("/etc/passwd", NULL, NULL);
#ifndef NO_PROCESSES
  expect_error("/bin/true", NULL,
               NULL); /* a process for each rank, which never calls MPI_Init */
#endif
  expect_error(own_path, "wdir", "/there-is-no-such-folder");
  expect_error(own_path, "soft", "3:9");
  expect_error(own_path, "soft", "all");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  own_path = argv[0];
  MPI_Init(&argc, &argv);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(argc, argv, parent);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(attribute(MPI_UNIVERSE_SIZE) == -1 || attribute(MPI_UNIVERSE_SIZE) > size);
  spawn_one_kind();
  spawn_two_kinds();
  spawn_with_keys();
  spawn_in_vain();
  spawn_alone();
  return finish();
}

/* Every function that makes processes or connects them: run with any number of ranks.
   Spawned with the argument "child" it is a child of itself. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "every.h"

static const char* own_path;

/* A message each way between the ranks 0, and a sum of the other side's ranks. */
static void talk(MPI_Comm inter) {
  int rank = -1, remote = -1, sum = -1, out, in = -1, flag = 0;
  MPI_Comm_test_inter(inter, &flag);
  CHECK(flag);
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_remote_size(inter, &remote);
  out = rank + 40;
  if (rank == 0)
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, inter,
                 MPI_STATUS_IGNORE);
  CHECK(in == (rank == 0 ? 40 : -1));
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == remote * (remote - 1) / 2);
}

static int child(MPI_Comm parent) {
  int all = 0, rank;
  MPI_Comm none = MPI_COMM_WORLD;
  talk(parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&every_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) MPI_Send(&all, 1, MPI_INT, 0, 1, parent);
  MPI_Comm_disconnect(&parent);
  MPI_Comm_get_parent(&none);
  if (none != MPI_COMM_NULL) return 1;
  return MPI_Finalize();
}

static void meet_children(MPI_Comm* inter, int wanted) {
  int failures = 0, rank, remote = -1;
  MPI_Comm_rank(*inter, &rank);
  MPI_Comm_remote_size(*inter, &remote);
  CHECK(remote == wanted);
  talk(*inter);
  if (rank == 0) MPI_Recv(&failures, 1, MPI_INT, 0, 1, *inter, MPI_STATUS_IGNORE);
  CHECK(failures == 0);
  RIGHT(MPI_Comm_disconnect(inter));
  CHECK(*inter == MPI_COMM_NULL);
}

static void spawn(void) {
  char* args[] = {"child", NULL};
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm inter = MPI_COMM_NULL;
  int codes[2] = {-1, -1};
  RIGHT(MPI_Comm_spawn(own_path, args, 2, MPI_INFO_NULL, 0, world, &inter, codes));
  CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS);
  meet_children(&inter, 2);
  WRONG(MPI_ERR_SPAWN, MPI_Comm_spawn("./there-is-no-such-program", args, 1,
                                      MPI_INFO_NULL, 0, world, &inter, codes));
  if (every_rank == 0) CHECK(codes[0] == MPI_ERR_SPAWN);
  WRONG(MPI_ERR_ROOT, MPI_Comm_spawn(own_path, args, 1, MPI_INFO_NULL, every_size,
                                     world, &inter, codes));
  WRONG(MPI_ERR_COMM, MPI_Comm_spawn(own_path, args, 1, MPI_INFO_NULL, 0, MPI_COMM_NULL,
                                     &inter, codes));
  WRONG(MPI_ERR_COUNT, MPI_Comm_spawn(own_path, args, -1, MPI_INFO_NULL, 0,
                                      MPI_COMM_SELF, &inter, codes));
  WRONG(MPI_ERR_ARG,
        MPI_Comm_spawn(NULL, args, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, codes));
  WRONG(MPI_ERR_ARG,
        MPI_Comm_spawn(own_path, args, 1, MPI_INFO_NULL, 0, world, NULL, codes));
  CHECK(inter == MPI_COMM_NULL);
}

static void spawn_several(void) {
  char* child_args[] = {"child", NULL};
  char* commands[] = {(char*)own_path, (char*)own_path};
  char* missing[] = {(char*)own_path, "./there-is-no-such-program"};
  char** args[] = {child_args, child_args};
  const int counts[] = {1, 2}, negative[] = {1, -2};
  const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm inter = MPI_COMM_NULL;
  int codes[3] = {-1, -1, -1};
  RIGHT(MPI_Comm_spawn_multiple(2, commands, args, counts, infos, 0, world, &inter,
                                codes));
  CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS && codes[2] == MPI_SUCCESS);
  meet_children(&inter, 3);
  WRONG(MPI_ERR_SPAWN, MPI_Comm_spawn_multiple(2, missing, args, counts, infos, 0,
                                               world, &inter, codes));
  WRONG(MPI_ERR_ROOT, MPI_Comm_spawn_multiple(2, commands, args, counts, infos, -1,
                                              world, &inter, codes));
  WRONG(MPI_ERR_COMM, MPI_Comm_spawn_multiple(2, commands, args, counts, infos, 0,
                                              MPI_COMM_NULL, &inter, codes));
  WRONG(MPI_ERR_COUNT, MPI_Comm_spawn_multiple(-1, commands, args, counts, infos, 0,
                                               MPI_COMM_SELF, &inter, codes));
  WRONG(MPI_ERR_ARG, MPI_Comm_spawn_multiple(2, commands, args, negative, infos, 0,
                                             MPI_COMM_SELF, &inter, codes));
  CHECK(inter == MPI_COMM_NULL);
}

/* The ranks that accept and those that connect find each other by a name. */
static void ports(void) {
  char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
  MPI_Comm half, inter = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, every_rank % 2, every_rank, &half);
  if (every_rank == 0) {
    RIGHT(MPI_Open_port(MPI_INFO_NULL, port));
    CHECK(port[0] != '\0');
    RIGHT(MPI_Publish_name("every", MPI_INFO_NULL, port));
    WRONG(MPI_ERR_SERVICE, MPI_Publish_name("every", MPI_INFO_NULL, port));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  RIGHT(MPI_Lookup_name("every", MPI_INFO_NULL, found));
  CHECK(every_rank != 0 || strcmp(port, found) == 0);
  if (every_size > 1) {
    if (every_rank % 2 == 0)
      RIGHT(MPI_Comm_accept(found, MPI_INFO_NULL, 0, half, &inter));
    else
      RIGHT(MPI_Comm_connect(found, MPI_INFO_NULL, 0, half, &inter));
    talk(inter);
    RIGHT(MPI_Comm_disconnect(&inter));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (every_rank == 0) {
    RIGHT(MPI_Unpublish_name("every", MPI_INFO_NULL, port));
    WRONG(MPI_ERR_SERVICE, MPI_Unpublish_name("every", MPI_INFO_NULL, port));
    WRONG(MPI_ERR_NAME, MPI_Lookup_name("every", MPI_INFO_NULL, found));
    RIGHT(MPI_Close_port(port));
    WRONG(MPI_ERR_PORT, MPI_Close_port(port));
  }
  MPI_Comm_free(&half);
}

static void wrong_ports(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter = MPI_COMM_NULL;
  const MPI_Comm self = MPI_COMM_SELF;
  WRONG(MPI_ERR_ARG, MPI_Open_port(MPI_INFO_NULL, NULL));
  WRONG(MPI_ERR_INFO, MPI_Open_port((MPI_Info)MPI_INT, port));
  WRONG(MPI_ERR_PORT, MPI_Close_port("nowhere"));
  WRONG(MPI_ERR_ARG, MPI_Close_port(NULL));
  WRONG(MPI_ERR_ARG, MPI_Publish_name(NULL, MPI_INFO_NULL, "port"));
  WRONG(MPI_ERR_ARG, MPI_Lookup_name("every", MPI_INFO_NULL, NULL));
  WRONG(MPI_ERR_ARG, MPI_Unpublish_name(NULL, MPI_INFO_NULL, "port"));
  WRONG(MPI_ERR_PORT, MPI_Comm_accept("nowhere", MPI_INFO_NULL, 0, self, &inter));
  WRONG(MPI_ERR_ARG, MPI_Comm_accept(NULL, MPI_INFO_NULL, 0, self, &inter));
  WRONG(MPI_ERR_ROOT, MPI_Comm_accept("nowhere", MPI_INFO_NULL, 1, self, &inter));
  WRONG(MPI_ERR_COMM,
        MPI_Comm_accept("nowhere", MPI_INFO_NULL, 0, MPI_COMM_NULL, &inter));
  WRONG(MPI_ERR_PORT, MPI_Comm_connect("nowhere", MPI_INFO_NULL, 0, self, &inter));
  WRONG(MPI_ERR_ARG, MPI_Comm_connect(NULL, MPI_INFO_NULL, 0, self, &inter));
  WRONG(MPI_ERR_ROOT, MPI_Comm_connect("nowhere", MPI_INFO_NULL, 1, self, &inter));
  WRONG(MPI_ERR_COMM,
        MPI_Comm_connect("nowhere", MPI_INFO_NULL, 0, MPI_COMM_NULL, &inter));
  WRONG(MPI_ERR_COMM, MPI_Comm_disconnect(&inter));
  WRONG(MPI_ERR_COMM, MPI_Comm_disconnect(&(MPI_Comm){MPI_COMM_WORLD}));
  WRONG(MPI_ERR_ARG, MPI_Comm_disconnect(NULL));
  WRONG(MPI_ERR_ARG, MPI_Comm_join(-1, &inter));
  WRONG(MPI_ERR_ARG, MPI_Comm_join(0, NULL));
  CHECK(inter == MPI_COMM_NULL);
}

/* The ranks 0 and 1: the ends of a connection over the loopback interface. */
static int socket_to(int other) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t length = sizeof address;
  int fd = socket(AF_INET, SOCK_STREAM, 0), end;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (other == 0) {
    MPI_Recv(&address.sin_port, sizeof address.sin_port, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    CHECK(connect(fd, (struct sockaddr*)&address, length) == 0);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    return fd;
  }
  CHECK(bind(fd, (struct sockaddr*)&address, length) == 0 && listen(fd, 1) == 0);
  CHECK(getsockname(fd, (struct sockaddr*)&address, &length) == 0);
  MPI_Send(&address.sin_port, sizeof address.sin_port, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  end = accept(fd, NULL, NULL);
  CHECK(end >= 0);
  close(fd);
  return end;
}

static void join(void) {
  MPI_Comm inter = MPI_COMM_NULL;
  if (every_size < 2 || every_rank > 1) return;
  const int fd = socket_to(1 - every_rank);
  RIGHT(MPI_Comm_join(fd, &inter));
  talk(inter);
  RIGHT(MPI_Comm_disconnect(&inter));
  close(fd);
}

int main(int argc, char** argv) {
  MPI_Comm parent = MPI_COMM_WORLD;
  own_path = argv[0];
  every_begin(&argc, &argv);
  RIGHT(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) return child(parent);
  CHECK(argc < 2 || strcmp(argv[1], "child") != 0);
  WRONG(MPI_ERR_ARG, MPI_Comm_get_parent(NULL));
  spawn();
  spawn_several();
  ports();
  wrong_ports();
  join();
  return every_end();
}

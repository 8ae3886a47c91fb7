/* Ports, names and sockets: groups of a job that find each other without a common communicator. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

static int rank, size;

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

/* A message each way, and a collective. */
static void talk(MPI_Comm inter) {
  int me, remote, mine, theirs = -1, sum = 0;
  MPI_Comm_rank(inter, &me);
  MPI_Comm_remote_size(inter, &remote);
  mine = me;
  if (me == 0) {
    MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &theirs, 1, MPI_INT, 0, 0, inter,
                 MPI_STATUS_IGNORE);
    CHECK(theirs >= 0 && theirs != rank);
  }
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == remote * (remote - 1) / 2);
}

/* Even ranks accept, odd ones connect, again and again. */
static void meet_in_halves(void) {
  char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  if (rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name("halves", MPI_INFO_NULL, port);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Lookup_name("halves", MPI_INFO_NULL, found);
  if (rank == 0) CHECK(strcmp(port, found) == 0);
  for (int i = 0; i < 3; ++i) {
    if (rank % 2 == 0)
      MPI_Comm_accept(found, MPI_INFO_NULL, 0, half, &inter);
    else
      MPI_Comm_connect(found, MPI_INFO_NULL, 0, half, &inter);
    talk(inter);
    MPI_Comm_disconnect(&inter);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Unpublish_name("halves", MPI_INFO_NULL, port);
    MPI_Close_port(port);
  }
  MPI_Comm_free(&half);
}

/* One server, all others come one by one. */
static void serve(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int i = 1; rank == 0 && i < size; ++i) {
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    talk(inter);
    MPI_Comm_disconnect(&inter);
  }
  if (rank != 0) {
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    talk(inter);
    MPI_Comm_disconnect(&inter);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Close_port(port);
}

static void join_by_socket(void) {
  static int ends[2]; /* of this rank */
  int fd = -1;
  if (rank == 0) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    fd = ends[0];
    MPI_Send(&ends[1], 1, MPI_INT, 1, 0,
             MPI_COMM_WORLD); /* one process has one table */
  } else if (rank == 1) {
    MPI_Recv(&fd, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    return;
  }
  MPI_Comm inter;
  MPI_Comm_join(fd, &inter);
  talk(inter);
  MPI_Comm_disconnect(&inter);
  char left;
  CHECK(recv(fd, &left, 1, MSG_DONTWAIT) <= 0); /* 0: the other one has closed it */
  close(fd);
}

static void ask_for_what_is_not_there(void) {
  char port[MPI_MAX_PORT_NAME] = "", name[MPI_MAX_PORT_NAME];
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Comm_connect("myhost:27", MPI_INFO_NULL, 0, MPI_COMM_SELF,
                                  &inter)) == MPI_ERR_PORT);
  CHECK(class_of(MPI_Comm_accept("", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter)) ==
        MPI_ERR_PORT);
  MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "timeout", "0.05");
  CHECK(class_of(MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter)) ==
        MPI_ERR_PORT);
  MPI_Info_free(&info);
  CHECK(MPI_Close_port(port) == MPI_SUCCESS);
  CHECK(class_of(MPI_Close_port(port)) == MPI_ERR_PORT);
  CHECK(class_of(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter)) ==
        MPI_ERR_PORT);
  CHECK(inter == MPI_COMM_NULL);
  CHECK(class_of(MPI_Lookup_name("nobody", MPI_INFO_NULL, name)) == MPI_ERR_NAME);
  CHECK(class_of(MPI_Unpublish_name("nobody", MPI_INFO_NULL, port)) == MPI_ERR_SERVICE);
  CHECK(class_of(MPI_Comm_join(-1, &inter)) == MPI_ERR_ARG);
}

/* Who waits at a port is told that it is closed. */
static void close_while_somebody_waits(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    usleep(20000);
    MPI_Close_port(port);
  } else {
    CHECK(class_of(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter)) ==
          MPI_ERR_PORT);
  }
}

static void publish_twice(void) {
  if (rank != 0) return;
  CHECK(MPI_Publish_name("twice", MPI_INFO_NULL, "a") == MPI_SUCCESS);
  CHECK(class_of(MPI_Publish_name("twice", MPI_INFO_NULL, "b")) == MPI_ERR_SERVICE);
  CHECK(MPI_Unpublish_name("twice", MPI_INFO_NULL, "a") == MPI_SUCCESS);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 1) meet_in_halves();
  serve();
  if (size > 1) join_by_socket();
  ask_for_what_is_not_there();
  close_while_somebody_waits();
  publish_twice();
  return finish();
}

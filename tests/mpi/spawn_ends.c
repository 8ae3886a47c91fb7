/* How jobs with spawned ranks end. argv[1]: how; the children get it as "child", too. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int child(const char* how, MPI_Comm parent) {
  if (strcmp(how, "child-aborts") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(how, "child-fails") == 0) exit(9);
  if (strcmp(how, "child-crashes") == 0) *(volatile int*)NULL = 1;
  if (strcmp(how, "child-prints") == 0) printf("a line of the child\n");
  if (strcmp(how, "deadlock") == 0 || strcmp(how, "parent-aborts") == 0)
    MPI_Recv(NULL, 0, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}

int main(int argc, char** argv) {
  const char* how = argv[argc - 1];
  if (argc == 3 && strcmp(how, "child-without-mpi") == 0) return 0;
  MPI_Init(&argc, &argv);
  MPI_Comm parent, inter;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(how, parent);
  char* args[] = {"child", (char*)how, NULL};
  if (strcmp(how, "no-program") == 0) argv[0] = "./there-is-no-such-program";
  if (strcmp(how, "connect") == 0) {
    char port[MPI_MAX_PORT_NAME];
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  }
  MPI_Comm_spawn(argv[0], args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                 MPI_ERRCODES_IGNORE);
  if (strcmp(how, "parent-aborts") == 0) MPI_Abort(MPI_COMM_WORLD, 5);
  if (strcmp(how, "deadlock") == 0 || strncmp(how, "child-", 6) == 0) {
    if (strcmp(how, "child-prints") != 0)
      MPI_Recv(NULL, 0, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}

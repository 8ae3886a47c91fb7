/* In front of a program (-include): its MPI_COMM_WORLD is the group of two jobs that connect in MPI_Init. The
   variable MERGED_PORT names a file with the port; MERGED_PART is "server", whose ranks come first, or "client". */
#ifndef MERGED_WORLD_H
#define MERGED_WORLD_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static MPI_Comm merged_world;

static inline void merged_find_port(int is_server, char* port) {
  const char* where = getenv("MERGED_PORT");
  if (is_server) {
    char draft[4096];
    snprintf(draft, sizeof draft, "%s.new", where);
    MPI_Open_port(MPI_INFO_NULL, port);
    FILE* file = fopen(draft, "w");
    fputs(port, file);
    fclose(file);
    rename(draft, where);
    return;
  }
  FILE* file = NULL;
  while ((file = fopen(where, "r")) == NULL) usleep(10000);
  port[fread(port, 1, MPI_MAX_PORT_NAME - 1, file)] = '\0';
  fclose(file);
}

static inline int merged_connect(void) {
  int rank;
  const int is_server = strcmp(getenv("MERGED_PART"), "server") == 0;
  static char port[MPI_MAX_PORT_NAME];
  MPI_Comm inter;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) merged_find_port(is_server, port);
  if (is_server)
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  else
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  MPI_Intercomm_merge(inter, !is_server, &merged_world);
  return MPI_Comm_disconnect(&inter);
}

static inline int merged_init(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  return merged_connect();
}

static inline int merged_init_thread(int* argc, char*** argv, int required,
                                     int* provided) {
  MPI_Init_thread(argc, argv, required, provided);
  return merged_connect();
}

static inline int merged_finalize(void) {
  MPI_Comm_disconnect(&merged_world);
  return MPI_Finalize();
}

/* Errors that have no communicator go to the handler of the job's own world. */
static inline int merged_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  if (comm == merged_world) MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  return MPI_Comm_set_errhandler(comm, handler);
}

#define MPI_Comm_set_errhandler merged_set_errhandler
#define MPI_Init merged_init
#define MPI_Init_thread merged_init_thread
#define MPI_Finalize merged_finalize
#undef MPI_COMM_WORLD
#define MPI_COMM_WORLD merged_world

#endif

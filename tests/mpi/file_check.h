/* What the programs that test files share: a name of their own, and what a file holds. */
#ifndef FILE_CHECK_H
#define FILE_CHECK_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/* Collective: the name of a file that is not there. */
static inline const char* new_file_name(void) {
  static char name[64];
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    strcpy(name, "/tmp/mpi-file-test-XXXXXX");
    close(mkstemp(name));
    unlink(name);
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  return name;
}

static inline MPI_File open_file(const char* name, int amode) {
  MPI_File file;
  CHECK(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file) ==
        MPI_SUCCESS);
  return file;
}

static inline MPI_File new_file(const char* name) {
  return open_file(name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
}

static inline int class_of(int code) {
  int class;
  MPI_Error_class(code, &class);
  return class;
}

static inline int count_of(MPI_Status* status, MPI_Datatype type) {
  int count;
  MPI_Get_count(status, type, &count);
  return count;
}

/* The byte that belongs at a place of a file. */
static inline unsigned char byte_at(long place) {
  return (unsigned char)((place * 7919 + place / 251) % 253 + 1);
}

#endif

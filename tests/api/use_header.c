/* mpi.h in each language standard that programs use: types, constants and prototypes. */
#include "mpi.h"

static int user_copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out,
                     int* flag) {
  (void)comm, (void)keyval, (void)extra, (void)in, (void)out;
  *flag = 0;
  return MPI_SUCCESS;
}

int main(void) {
  MPI_Comm_copy_attr_function* functions[] = {user_copy, MPI_COMM_DUP_FN,
                                              MPI_COMM_NULL_COPY_FN};
  MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_DATATYPE_NULL};
  MPI_Status status = {0, 0, 0, {0, 0, 0, 0, 0}};
  int rank = MPI_PROC_NULL > 0 ? MPI_ANY_SOURCE : MPI_ROOT;
  int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm) = 0;
  (void)functions, (void)types, (void)status, (void)rank, (void)send;
  return sizeof(&MPI_Send) == sizeof(&PMPI_Send_c) ? 0 : 1;
}

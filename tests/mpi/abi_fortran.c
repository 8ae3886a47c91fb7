/* What the library says of Fortran's types, and what it lets others say. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}
#define FAILS(call, class) CHECK(class_of(call) == (class))

static void booleans(void) {
  int yes = -7, no = -7, is_set = -7;
  char small = 1;
  CHECK(MPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &is_set) == MPI_SUCCESS);
  CHECK(is_set == 1 && yes == 1 && no == 0);
  CHECK(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no) == MPI_SUCCESS);
  yes = -1;
  FAILS(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no), MPI_ERR_ABI);
  FAILS(MPI_Abi_set_fortran_booleans(1, &small, &small), MPI_ERR_ABI);
  FAILS(MPI_Abi_get_fortran_booleans(1, &small, &small, &is_set), MPI_ERR_ABI);
  FAILS(MPI_Abi_get_fortran_booleans(sizeof yes, NULL, &no, &is_set), MPI_ERR_ARG);
}

/* Fortran's MPI_SESSION_GET_NTH_PSET as a program calls it that asks for the length of a name before it
   allocates it: the address and the length of the name mean nothing. */
extern void mpi_session_get_nth_pset_(const MPI_Fint* session, const MPI_Fint* info,
                                      const int* n, int* length, char* name, int* error,
                                      size_t name_length);
static void name_of_set(void) {
  MPI_Session session;
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
  const MPI_Fint handle = MPI_Session_c2f(session);
  const MPI_Fint no_info = MPI_Info_c2f(MPI_INFO_NULL);
  const int n = 1;
  int length = 0, error = -1;
  char name[100];
  memset(name, 'x', sizeof name);
  mpi_session_get_nth_pset_(&handle, &no_info, &n, &length, NULL, &error, SIZE_MAX / 2);
  CHECK(error == MPI_SUCCESS && length > 1 && length < (int)sizeof name);
  mpi_session_get_nth_pset_(&handle, &no_info, &n, &length, name, &error, sizeof name);
  CHECK(error == MPI_SUCCESS && memcmp(name, "mpi://SELF ", 11) == 0);
  CHECK(name[sizeof name - 1] == ' ');
  CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
}

static void check_value(MPI_Info info, const char* key, const char* wanted) {
  char value[20] = "";
  int length = sizeof value, flag = 0;
  MPI_Info_get_string(info, key, &length, value, &flag);
  CHECK(flag && (wanted == NULL || strcmp(value, wanted) == 0));
}

static void info(void) {
  MPI_Info info, wrong;
  CHECK(MPI_Abi_get_fortran_info(&info) == MPI_SUCCESS);
  check_value(info, "mpi_logical_size", "4");
  check_value(info, "mpi_double_precision_size", "8");
  check_value(info, "mpi_integer8_supported", "true");
  check_value(info, "mpi_real2_supported", NULL);
  CHECK(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS);
  MPI_Info_create(&wrong);
  MPI_Info_set(wrong, "mpi_integer_size", "8");
  FAILS(MPI_Abi_set_fortran_info(wrong), MPI_ERR_ABI);
  MPI_Info_free(&wrong);
  MPI_Info_free(&info);
  FAILS(MPI_Abi_get_fortran_info(NULL), MPI_ERR_ARG);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  booleans();
  name_of_set();
  info();
  return finish();
}

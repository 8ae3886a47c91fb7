/* Integers for handles (Fortran's, and MPI_*_toint), statuses of other languages. */
#include <stdint.h>
#include <string.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 257);
  CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
  CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE);
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_NULL)) == MPI_COMM_NULL);
  MPI_Comm comms[20];
  int numbers[20];
  for (int i = 0; i < 20; ++i) {
    MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    numbers[i] = MPI_Comm_toint(comms[i]);
    CHECK(numbers[i] >= 1024);
    for (int k = 0; k < i; ++k) CHECK(numbers[k] != numbers[i]);
  }
  for (int i = 0; i < 20; ++i) {
    CHECK(MPI_Comm_fromint(numbers[i]) == comms[i]);
    CHECK(MPI_Comm_toint(comms[i]) == numbers[i]);
    MPI_Comm_free(&comms[i]);
  }
  /* Numbers of freed objects are used again: they stay small. */
  MPI_Comm again;
  MPI_Comm_dup(MPI_COMM_SELF, &again);
  CHECK(MPI_Comm_toint(again) < 1024 + 20);
  MPI_Comm_free(&again);

  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  CHECK(MPI_Group_fromint(MPI_Group_toint(group)) == group);
  MPI_Group_free(&group);

  MPI_Status status, back;
  MPI_Fint numbers8[MPI_F_STATUS_SIZE];
  int one = 1, n;
  MPI_Sendrecv(&one, 1, MPI_INT, 0, 9, &n, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &status);
  MPI_Status_c2f(&status, numbers8);
  CHECK(numbers8[0] == 0 && numbers8[1] == 9);
  memset(&back, 0, sizeof back);
  MPI_Status_f2c(numbers8, &back);
  MPI_Get_count(&back, MPI_INT, &n);
  CHECK(n == 1);

  /* A handle kept in an int, as programs for other MPIs do, is an error, no crash. */
  MPI_Datatype pair, cut;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  cut = (MPI_Datatype)(uintptr_t)(uint32_t)(uintptr_t)pair;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(cut != pair && MPI_Type_size(cut, &n) != MPI_SUCCESS);
  CHECK(MPI_Type_size((MPI_Datatype)(uintptr_t)0xfff0000000000000u, &n) != MPI_SUCCESS);
  MPI_Type_free(&pair);
  return finish();
}

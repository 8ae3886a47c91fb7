/* Every function on the classes, codes and texts of errors. */
#include "every.h"

static void known(void) {
  int class_of_error = -1, length = -1;
  char text[MPI_MAX_ERROR_STRING];
  RIGHT(MPI_Error_class(MPI_ERR_TAG, &class_of_error));
  CHECK(class_of_error == MPI_ERR_TAG);
  RIGHT(MPI_Error_class(MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD),
                        &class_of_error));
  CHECK(class_of_error == MPI_ERR_COUNT);
  RIGHT(MPI_Error_string(MPI_ERR_TRUNCATE, text, &length));
  CHECK(length > 0 && length == (int)strlen(text));
  WRONG(MPI_ERR_ARG, MPI_Error_class(MPI_ERR_TAG, NULL));
  WRONG(MPI_ERR_ARG, MPI_Error_class(-77, &class_of_error));
  WRONG(MPI_ERR_ARG, MPI_Error_string(MPI_ERR_TRUNCATE, NULL, &length));
  WRONG(MPI_ERR_ARG, MPI_Error_string(-77, text, &length));
}

/* What functions of the tool interface return are classes, too. */
static void of_tools(void) {
  for (int code = MPI_T_ERR_CANNOT_INIT; code <= MPI_T_ERR_PVAR_NO_ATOMIC; ++code) {
    int class_of_error = -1, length = 0, new_code = -1;
    char text[MPI_MAX_ERROR_STRING];
    RIGHT(MPI_Error_class(code, &class_of_error));
    CHECK(class_of_error == code && code <= MPI_ERR_LASTCODE);
    RIGHT(MPI_Error_string(code, text, &length));
    CHECK(length > 0 && length == (int)strlen(text));
    RIGHT(MPI_Add_error_code(code, &new_code));
    CHECK(MPI_Error_class(new_code, &class_of_error) == MPI_SUCCESS);
    CHECK(class_of_error == code);
    RIGHT(MPI_Remove_error_code(new_code));
  }
  int class_of_error;
  WRONG(MPI_ERR_ARG, MPI_Error_class(MPI_T_ERR_CANNOT_INIT - 1, &class_of_error));
  WRONG(MPI_ERR_ARG, MPI_Error_class(MPI_T_ERR_PVAR_NO_ATOMIC + 1, &class_of_error));
}

static void added(void) {
  int new_class = -1, code = -1, got = -1, length = -1, flag = 0, *last = NULL;
  char text[MPI_MAX_ERROR_STRING];
  RIGHT(MPI_Add_error_class(&new_class));
  CHECK(new_class > MPI_ERR_LASTCODE);
  RIGHT(MPI_Add_error_code(new_class, &code));
  CHECK(code > MPI_ERR_LASTCODE && code != new_class);
  CHECK(MPI_Error_class(code, &got) == MPI_SUCCESS && got == new_class);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
  CHECK(flag && *last >= code && *last >= new_class);
  RIGHT(MPI_Add_error_string(code, "no tea left"));
  CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS);
  CHECK(length == 11 && strcmp(text, "no tea left") == 0);

  WRONG(MPI_ERR_ARG, MPI_Add_error_class(NULL));
  WRONG(MPI_ERR_ARG, MPI_Add_error_code(-77, &code));
  WRONG(MPI_ERR_ARG, MPI_Add_error_string(MPI_ERR_TAG, "of MPI's own"));
  WRONG(MPI_ERR_ARG, MPI_Remove_error_class(new_class)); /* has a code */
  WRONG(MPI_ERR_ARG, MPI_Remove_error_code(MPI_ERR_TAG));
  WRONG(MPI_ERR_ARG, MPI_Remove_error_string(MPI_ERR_TAG));

  WRONG(MPI_ERR_ARG, MPI_Remove_error_code(code)); /* has a string */
  RIGHT(MPI_Remove_error_string(code));
  CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS && length == 0);
  RIGHT(MPI_Remove_error_code(code));
  RIGHT(MPI_Add_error_string(new_class, "tea"));
  WRONG(MPI_ERR_ARG, MPI_Remove_error_class(new_class)); /* has a string */
  RIGHT(MPI_Remove_error_string(new_class));
  RIGHT(MPI_Remove_error_class(new_class));
  WRONG(MPI_ERR_ARG, MPI_Error_class(code, &got));
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  known();
  of_tools();
  added();
  return every_end();
}

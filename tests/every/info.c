/* Every function of the chapters on info objects: run with any number of ranks. */
#include "every.h"

static void keys_and_values(MPI_Info info) {
  char text[MPI_MAX_INFO_VAL], key[MPI_MAX_INFO_KEY];
  int n, flag, length;
  RIGHT(MPI_Info_set(info, "colour", "blue"));
  WRONG(MPI_ERR_INFO, MPI_Info_set(MPI_INFO_NULL, "colour", "blue"));
  WRONG(MPI_ERR_INFO_KEY, MPI_Info_set(info, "", "blue"));

  RIGHT(MPI_Info_get_nkeys(info, &n));
  CHECK(n == 1);
  WRONG(MPI_ERR_INFO, MPI_Info_get_nkeys(MPI_INFO_NULL, &n));

  RIGHT(MPI_Info_get_nthkey(info, 0, key));
  CHECK(strcmp(key, "colour") == 0);
  WRONG(MPI_ERR_ARG, MPI_Info_get_nthkey(info, 1, key));

  RIGHT(MPI_Info_get(info, "colour", 3, text, &flag));
  CHECK(flag && strcmp(text, "blu") == 0);
  RIGHT(MPI_Info_get(info, "size", 3, text, &flag));
  CHECK(!flag);
  WRONG(MPI_ERR_INFO, MPI_Info_get(MPI_INFO_NULL, "colour", 3, text, &flag));

  RIGHT(MPI_Info_get_valuelen(info, "colour", &length, &flag));
  CHECK(flag && length == 4);
  WRONG(MPI_ERR_INFO, MPI_Info_get_valuelen(MPI_INFO_NULL, "colour", &length, &flag));

  length = sizeof text;
  RIGHT(MPI_Info_get_string(info, "colour", &length, text, &flag));
  CHECK(flag && length == 5 && strcmp(text, "blue") == 0);
  WRONG(MPI_ERR_INFO,
        MPI_Info_get_string(MPI_INFO_NULL, "colour", &length, text, &flag));

  RIGHT(MPI_Info_delete(info, "colour"));
  WRONG(MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, "colour"));
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  MPI_Info info, copy, environment;
  RIGHT(MPI_Info_create(&info));
  WRONG(MPI_ERR_ARG, MPI_Info_create(NULL));
  RIGHT(MPI_Info_dup(info, &copy));
  WRONG(MPI_ERR_INFO, MPI_Info_dup(MPI_INFO_NULL, &copy));
  RIGHT(MPI_Info_create_env(argc, argv, &environment));
  WRONG(MPI_ERR_ARG, MPI_Info_create_env(argc, argv, NULL));
  keys_and_values(info);
  RIGHT(MPI_Info_free(&info));
  CHECK(info == MPI_INFO_NULL);
  WRONG(MPI_ERR_INFO, MPI_Info_free(&info));
  RIGHT(MPI_Info_free(&copy));
  RIGHT(MPI_Info_free(&environment));
  return every_end();
}

/* Every function on datatypes without a variant for large counts, and addresses. */
#include "every.h"

static int of_size(MPI_Datatype type) {
  int size = -1;
  MPI_Type_size(type, &size);
  return size;
}

static int combiner_of(MPI_Datatype type) {
  int n, combiner = -1;
  MPI_Type_get_envelope(type, &n, &n, &n, &combiner);
  return combiner;
}

/* A datatype can be used when it has been committed, until it is freed. */
static void lives(void) {
  MPI_Datatype type, copy, larger, named = MPI_INT;
  int from[4] = {1, 2, 3, 4}, to[4] = {0, 0, 0, 0};
  MPI_Type_vector(2, 1, 3, MPI_INT, &type);
  WRONG(MPI_ERR_TYPE, MPI_Bcast(from, 1, type, 0, MPI_COMM_SELF));
  RIGHT(MPI_Type_commit(&type));
  RIGHT(MPI_Type_commit(&type));
  RIGHT(MPI_Type_commit(&named));
  CHECK(MPI_Bcast(from, 1, type, 0, MPI_COMM_SELF) == MPI_SUCCESS && named == MPI_INT);
  larger = MPI_DATATYPE_NULL;
  WRONG(MPI_ERR_TYPE, MPI_Type_commit(&larger));
  WRONG(MPI_ERR_ARG, MPI_Type_commit(NULL));

  RIGHT(MPI_Type_dup(type, &copy));
  CHECK(copy != type && combiner_of(copy) == MPI_COMBINER_DUP && of_size(copy) == 8);
  WRONG(MPI_ERR_TYPE, MPI_Type_dup(MPI_DATATYPE_NULL, &larger));
  WRONG(MPI_ERR_ARG, MPI_Type_dup(type, NULL));

  /* Types that were made from another one live on. The copy is committed, too. */
  MPI_Type_contiguous(1, type, &larger);
  MPI_Type_commit(&larger);
  RIGHT(MPI_Type_free(&type));
  CHECK(type == MPI_DATATYPE_NULL);
  WRONG(MPI_ERR_TYPE, MPI_Type_free(&type));
  WRONG(MPI_ERR_TYPE, MPI_Type_free(&named));
  WRONG(MPI_ERR_ARG, MPI_Type_free(NULL));
  CHECK(named == MPI_INT);
  MPI_Sendrecv(from, 1, larger, 0, 0, to, 1, copy, 0, 0, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  CHECK(to[0] == 1 && to[1] == 0 && to[2] == 0 && to[3] == 4);
  RIGHT(MPI_Type_free(&larger));
  RIGHT(MPI_Type_free(&copy));
}

static void names(void) {
  MPI_Datatype type;
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  MPI_Type_contiguous(2, MPI_INT, &type);
  RIGHT(MPI_Type_get_name(type, name, &length));
  CHECK(length == 0 && name[0] == 0);
  RIGHT(MPI_Type_set_name(type, "two integers"));
  RIGHT(MPI_Type_get_name(type, name, &length));
  CHECK(length == 12 && strcmp(name, "two integers") == 0);
  RIGHT(MPI_Type_get_name(MPI_INT, name, &length));
  CHECK(length == 7 && strcmp(name, "MPI_INT") == 0);
  RIGHT(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length));
  CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0);
  WRONG(MPI_ERR_TYPE, MPI_Type_set_name(MPI_DATATYPE_NULL, "none"));
  WRONG(MPI_ERR_ARG, MPI_Type_set_name(type, NULL));
  WRONG(MPI_ERR_ARG, MPI_Type_get_name(type, NULL, &length));
  WRONG(MPI_ERR_ARG, MPI_Type_get_name(type, name, NULL));
  WRONG(MPI_ERR_TYPE, MPI_Type_get_name((MPI_Datatype)MPI_COMM_WORLD, name, &length));
  MPI_Type_free(&type);
}

/* Types that are asked for by what they can hold. */
static void chosen(void) {
  MPI_Datatype type, again, pair;
  int numbers[2] = {-1, -1};
  MPI_Aint address;
  RIGHT(MPI_Type_create_f90_real(15, 300, &type));
  CHECK(of_size(type) == 8 && combiner_of(type) == MPI_COMBINER_F90_REAL);
  CHECK(MPI_Type_get_contents(type, 2, 0, 0, numbers, &address, &again) == MPI_SUCCESS);
  CHECK(numbers[0] == 15 && numbers[1] == 300);
  RIGHT(MPI_Type_create_f90_real(15, 300, &again));
  CHECK(again == type);
  RIGHT(MPI_Type_create_f90_real(6, MPI_UNDEFINED, &again));
  CHECK(of_size(again) == 4);
  WRONG(MPI_ERR_TYPE, MPI_Type_free(&again));
  WRONG(MPI_ERR_ARG, MPI_Type_create_f90_real(1000, 10, &type));
  /* Either may be left out, but not both (MPI-4.1 section 19.1.9). */
  WRONG(MPI_ERR_ARG, MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &type));
  WRONG(MPI_ERR_ARG, MPI_Type_create_f90_real(15, 300, NULL));

  RIGHT(MPI_Type_create_f90_complex(6, 30, &type));
  CHECK(of_size(type) == 8 && combiner_of(type) == MPI_COMBINER_F90_COMPLEX);
  WRONG(MPI_ERR_ARG, MPI_Type_create_f90_complex(6, 100000, &type));
  WRONG(MPI_ERR_ARG, MPI_Type_create_f90_complex(MPI_UNDEFINED, MPI_UNDEFINED, &type));
  WRONG(MPI_ERR_ARG, MPI_Type_create_f90_complex(6, 30, NULL));

  RIGHT(MPI_Type_create_f90_integer(9, &type));
  CHECK(of_size(type) == 4 && combiner_of(type) == MPI_COMBINER_F90_INTEGER);
  RIGHT(MPI_Type_create_f90_integer(10, &type));
  CHECK(of_size(type) == 8);
  WRONG(MPI_ERR_ARG, MPI_Type_create_f90_integer(1000, &type));
  WRONG(MPI_ERR_ARG, MPI_Type_create_f90_integer(9, NULL));

  RIGHT(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type));
  CHECK(type == MPI_REAL8);
  RIGHT(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &type));
  CHECK(type == MPI_INTEGER4);
  RIGHT(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type));
  CHECK(type == MPI_COMPLEX16);
  WRONG(MPI_ERR_ARG, MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type));
  WRONG(MPI_ERR_ARG, MPI_Type_match_size(-1, 4, &type));
  WRONG(MPI_ERR_ARG, MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, NULL));

  RIGHT(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair));
  CHECK(pair == MPI_DOUBLE_INT);
  RIGHT(MPI_Type_get_value_index(MPI_INT, MPI_INT, &pair));
  CHECK(pair == MPI_2INT);
  RIGHT(MPI_Type_get_value_index(MPI_PACKED, MPI_PACKED, &pair));
  CHECK(pair == MPI_DATATYPE_NULL);
  WRONG(MPI_ERR_TYPE, MPI_Type_get_value_index(MPI_DATATYPE_NULL, MPI_INT, &pair));
  WRONG(MPI_ERR_TYPE, MPI_Type_get_value_index(MPI_INT, MPI_DATATYPE_NULL, &pair));
  WRONG(MPI_ERR_ARG, MPI_Type_get_value_index(MPI_INT, MPI_INT, NULL));
}

/* A type of 12 bytes at 8, which says that it takes 40 bytes from -4 on. */
static void wide_sizes(void) {
  MPI_Datatype type, resized;
  MPI_Count size = -1, lb = -1, extent = -1, n = -1;
  MPI_Status status;
  int two = 2, data[3] = {1, 2, 3}, got[4];
  MPI_Type_create_indexed_block(1, 3, &two, MPI_INT, &type);
  MPI_Type_create_resized(type, -4, 40, &resized);
  RIGHT(MPI_Type_size_x(resized, &size));
  CHECK(size == 12);
  WRONG(MPI_ERR_TYPE, MPI_Type_size_x(MPI_DATATYPE_NULL, &size));
  WRONG(MPI_ERR_ARG, MPI_Type_size_x(resized, NULL));
  RIGHT(MPI_Type_get_extent_x(resized, &lb, &extent));
  CHECK(lb == -4 && extent == 40);
  WRONG(MPI_ERR_TYPE, MPI_Type_get_extent_x(MPI_DATATYPE_NULL, &lb, &extent));
  WRONG(MPI_ERR_ARG, MPI_Type_get_extent_x(resized, NULL, &extent));
  RIGHT(MPI_Type_get_true_extent_x(resized, &lb, &extent));
  CHECK(lb == 8 && extent == 12);
  WRONG(MPI_ERR_TYPE, MPI_Type_get_true_extent_x(MPI_DATATYPE_NULL, &lb, &extent));
  WRONG(MPI_ERR_ARG, MPI_Type_get_true_extent_x(resized, &lb, NULL));

  /* Functions that MPI has removed. */
  MPI_Aint at = -1;
  RIGHT(MPI_Type_extent(resized, &at));
  CHECK(at == 40);
  WRONG(MPI_ERR_TYPE, MPI_Type_extent(MPI_DATATYPE_NULL, &at));
  WRONG(MPI_ERR_ARG, MPI_Type_extent(resized, NULL));
  RIGHT(MPI_Type_lb(resized, &at));
  CHECK(at == -4);
  WRONG(MPI_ERR_TYPE, MPI_Type_lb(MPI_DATATYPE_NULL, &at));
  WRONG(MPI_ERR_ARG, MPI_Type_lb(resized, NULL));
  RIGHT(MPI_Type_ub(resized, &at));
  CHECK(at == 36);
  WRONG(MPI_ERR_TYPE, MPI_Type_ub(MPI_DATATYPE_NULL, &at));
  WRONG(MPI_ERR_ARG, MPI_Type_ub(resized, NULL));
  MPI_Type_free(&resized);
  MPI_Type_free(&type);

  /* A pair and a half. */
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Sendrecv(data, 3, MPI_INT, 0, 0, got, 2, type, 0, 0, MPI_COMM_SELF, &status);
  RIGHT(MPI_Get_elements_x(&status, type, &n));
  CHECK(n == 3);
  WRONG(MPI_ERR_TYPE, MPI_Get_elements_x(&status, MPI_DATATYPE_NULL, &n));
  WRONG(MPI_ERR_ARG, MPI_Get_elements_x(&status, type, NULL));
  WRONG(MPI_ERR_ARG, MPI_Get_elements_x(MPI_STATUS_IGNORE, type, &n));
  MPI_Type_free(&type);
}

static void addresses(void) {
  int data[4];
  MPI_Aint a = 0, b = 0, old = 0;
  RIGHT(MPI_Get_address(data, &a));
  RIGHT(MPI_Get_address(data + 3, &b));
  CHECK((void*)a == data && b - a == 3 * sizeof(int));
  RIGHT(MPI_Get_address(MPI_BOTTOM, &old));
  CHECK(old == 0);
  WRONG(MPI_ERR_ARG, MPI_Get_address(data, NULL));
  RIGHT(MPI_Address(data, &old));
  CHECK(old == a);
  WRONG(MPI_ERR_ARG, MPI_Address(data, NULL));
  VALUE(MPI_Aint_diff(b, a) == 3 * sizeof(int));
  VALUE(MPI_Aint_add(a, 3 * sizeof(int)) == b);
  NO_WRONG(MPI_Aint_diff,
           "each two numbers have a difference, and it reports no errors");
  NO_WRONG(MPI_Aint_add, "each two numbers have a sum, and it reports no errors");
}

/* Whether an element of the type, which is freed here, is made of these integers. */
static int is_laid_out(MPI_Datatype* type, int n, const int* indices) {
  int data[16], got[16];
  for (int i = 0; i < 16; ++i) data[i] = i, got[i] = -1;
  CHECK(MPI_Type_commit(type) == MPI_SUCCESS);
  CHECK(MPI_Sendrecv(data, 1, *type, 0, 0, got, 16, MPI_INT, 0, 0, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Type_free(type) == MPI_SUCCESS);
  return memcmp(indices, got, n * sizeof *indices) == 0 && got[n] == -1;
}

/* Functions that MPI has removed. */
static void removed_constructors(void) {
  MPI_Datatype type, parts[2] = {MPI_INT, MPI_INT},
                     none[2] = {MPI_INT, MPI_DATATYPE_NULL};
  int lengths[2] = {1, 2}, negative[2] = {1, -2};
  MPI_Aint bytes[2] = {20, 4};
  RIGHT(MPI_Type_hvector(2, 2, 20, MPI_INT, &type));
  CHECK(combiner_of(type) == MPI_COMBINER_HVECTOR);
  CHECK(is_laid_out(&type, 4, (int[]){0, 1, 5, 6}));
  WRONG(MPI_ERR_COUNT, MPI_Type_hvector(-2, 2, 20, MPI_INT, &type));
  WRONG(MPI_ERR_ARG, MPI_Type_hvector(2, -2, 20, MPI_INT, &type));
  WRONG(MPI_ERR_TYPE, MPI_Type_hvector(2, 2, 20, MPI_DATATYPE_NULL, &type));
  RIGHT(MPI_Type_hindexed(2, lengths, bytes, MPI_INT, &type));
  CHECK(combiner_of(type) == MPI_COMBINER_HINDEXED);
  CHECK(is_laid_out(&type, 3, (int[]){5, 1, 2}));
  WRONG(MPI_ERR_COUNT, MPI_Type_hindexed(2, negative, bytes, MPI_INT, &type));
  WRONG(MPI_ERR_TYPE, MPI_Type_hindexed(2, lengths, bytes, MPI_DATATYPE_NULL, &type));
  RIGHT(MPI_Type_struct(2, lengths, bytes, parts, &type));
  CHECK(combiner_of(type) == MPI_COMBINER_STRUCT);
  CHECK(is_laid_out(&type, 3, (int[]){5, 1, 2}));
  WRONG(MPI_ERR_COUNT, MPI_Type_struct(2, negative, bytes, parts, &type));
  WRONG(MPI_ERR_TYPE, MPI_Type_struct(2, lengths, bytes, none, &type));
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  lives();
  names();
  chosen();
  wide_sizes();
  addresses();
  removed_constructors();
  return every_end();
}

/* Every function that makes a datatype from others or tells its size. */
#include <limits.h>

#include "every.h"

#ifdef EVERY_LARGE
#define EITHER(classic, large) large
typedef MPI_Count byte_t;
#else
#define EITHER(classic, large) classic
typedef MPI_Aint byte_t;
#endif

/* Whether an element of the type, which is freed here, is made of these integers. */
static int is_laid_out(MPI_Datatype* type, int n, const int* indices) {
  int data[64], got[64];
  MPI_Status status;
  for (int i = 0; i < 64; ++i) data[i] = i, got[i] = -1;
  CHECK(MPI_Type_commit(type) == MPI_SUCCESS);
  CHECK(MPI_Sendrecv(data, 1, *type, 0, 0, got, 64, MPI_INT, 0, 0, MPI_COMM_SELF,
                     &status) == MPI_SUCCESS);
  CHECK(MPI_Type_free(type) == MPI_SUCCESS);
  return memcmp(indices, got, n * sizeof *indices) == 0 && got[n] == -1;
}
#define LAYOUT(type, ...)                                              \
  CHECK(is_laid_out(&type, sizeof((int[]){__VA_ARGS__}) / sizeof(int), \
                    (int[]){__VA_ARGS__}))

/* Whether a type was made from these numbers: integers, addresses, large counts. */
static int is_made_of(MPI_Datatype type, int combiner, int ints, int addresses,
                      int larges, int types, const long long* numbers) {
  int i[64], made_by = -1;
  MPI_Aint a[64];
  MPI_Datatype t[8];
#ifdef EVERY_LARGE
  MPI_Count c[64], ni = -1, na = -1, nc = -1, nt = -1;
  RIGHT(MPI_Type_get_envelope_c(type, &ni, &na, &nc, &nt, &made_by));
#else
  int ni = -1, na = -1, nc = 0, nt = -1;
  RIGHT(MPI_Type_get_envelope(type, &ni, &na, &nt, &made_by));
#endif
  if (made_by != combiner || ni != ints || na != addresses || nc != larges ||
      nt != types)
    return 0;
#ifdef EVERY_LARGE
  RIGHT(MPI_Type_get_contents_c(type, ni, na, nc, nt, i, a, c, t));
  WRONG(MPI_ERR_ARG, MPI_Type_get_contents_c(type, ni, na, nc, nt - 1, i, a, c, t));
  WRONG(MPI_ERR_TYPE, MPI_Type_get_envelope(type, i, i, i, i));
  WRONG(MPI_ERR_TYPE, MPI_Type_get_contents(type, 64, 64, 8, i, a, t));
  for (int k = 0; k < nc; ++k)
    if (c[k] != numbers[ni + na + k]) return 0;
#else
  RIGHT(MPI_Type_get_contents(type, ni, na, nt, i, a, t));
  WRONG(MPI_ERR_ARG, MPI_Type_get_contents(type, ni, na, nt - 1, i, a, t));
#endif
  for (int k = 0; k < ni; ++k)
    if (i[k] != numbers[k]) return 0;
  for (int k = 0; k < na; ++k)
    if (a[k] != numbers[ni + k]) return 0;
  for (int k = 0; k < nt; ++k)
    if (t[k] != MPI_INT && t[k] != MPI_SHORT) return 0;
  return 1;
}
#define MADE_OF(type, combiner, ints, addresses, larges, types, ...) \
  CHECK(is_made_of(type, combiner, ints, addresses, larges, types,   \
                   (long long[]){__VA_ARGS__}))

static void contents_of_others(void) {
  MPI_Datatype type, t[8];
  int i[8], made_by = -1;
  MPI_Aint a[8];
#ifdef EVERY_LARGE
  MPI_Count c[8], ni = -1, na = -1, nc = -1, nt = -1;
  RIGHT(MPI_Type_get_envelope_c(MPI_INT, &ni, &na, &nc, &nt, &made_by));
  CHECK(made_by == MPI_COMBINER_NAMED && ni == 0 && na == 0 && nc == 0 && nt == 0);
  WRONG(MPI_ERR_TYPE,
        MPI_Type_get_envelope_c(MPI_DATATYPE_NULL, &ni, &na, &nc, &nt, &made_by));
  WRONG(MPI_ERR_ARG, MPI_Type_get_envelope_c(MPI_INT, &ni, &na, NULL, &nt, &made_by));
  WRONG(MPI_ERR_TYPE, MPI_Type_get_contents_c(MPI_INT, 8, 8, 8, 8, i, a, c, t));
  WRONG(MPI_ERR_TYPE,
        MPI_Type_get_contents_c(MPI_DATATYPE_NULL, 8, 8, 8, 8, i, a, c, t));
  MPI_Type_vector(2, 3, 4, MPI_INT, &type);
  RIGHT(MPI_Type_get_envelope_c(type, &ni, &na, &nc, &nt, &made_by));
  CHECK(made_by == MPI_COMBINER_VECTOR && ni == 3 && na == 0 && nc == 0 && nt == 1);
  RIGHT(MPI_Type_get_contents_c(type, 3, 0, 0, 1, i, a, c, t));
#else
  int ni = -1, na = -1, nt = -1;
  RIGHT(MPI_Type_get_envelope(MPI_INT, &ni, &na, &nt, &made_by));
  CHECK(made_by == MPI_COMBINER_NAMED && ni == 0 && na == 0 && nt == 0);
  WRONG(MPI_ERR_TYPE,
        MPI_Type_get_envelope(MPI_DATATYPE_NULL, &ni, &na, &nt, &made_by));
  WRONG(MPI_ERR_ARG, MPI_Type_get_envelope(MPI_INT, &ni, &na, &nt, NULL));
  WRONG(MPI_ERR_TYPE, MPI_Type_get_contents(MPI_INT, 8, 8, 8, i, a, t));
  WRONG(MPI_ERR_TYPE, MPI_Type_get_contents(MPI_DATATYPE_NULL, 8, 8, 8, i, a, t));
  MPI_Type_vector(2, 3, 4, MPI_INT, &type);
  RIGHT(MPI_Type_get_contents(type, 3, 0, 1, i, a, t));
#endif
  CHECK(i[0] == 2 && i[1] == 3 && i[2] == 4 && t[0] == MPI_INT);

  /* The handle of a part that is no predefined type is the caller's. */
  MPI_Datatype outer;
  MPI_Type_contiguous(2, type, &outer);
  MPI_Type_free(&type);
  t[0] = MPI_DATATYPE_NULL;
#ifdef EVERY_LARGE
  RIGHT(MPI_Type_get_contents_c(outer, 1, 0, 0, 1, i, a, c, t));
  CHECK(MPI_Type_get_envelope_c(t[0], &ni, &na, &nc, &nt, &made_by) == MPI_SUCCESS);
#else
  RIGHT(MPI_Type_get_contents(outer, 1, 0, 1, i, a, t));
  CHECK(MPI_Type_get_envelope(t[0], &ni, &na, &nt, &made_by) == MPI_SUCCESS);
#endif
  CHECK(i[0] == 2 && made_by == MPI_COMBINER_VECTOR);
  CHECK(MPI_Type_free(&t[0]) == MPI_SUCCESS);
  CHECK(MPI_Type_free(&outer) == MPI_SUCCESS);
}

static void regular(void) {
  MPI_Datatype type;
  RIGHT(N(MPI_Type_contiguous)(3, MPI_INT, &type));
  MADE_OF(type, MPI_COMBINER_CONTIGUOUS, EITHER(1, 0), 0, EITHER(0, 1), 1, 3);
  LAYOUT(type, 0, 1, 2);
  WRONG(MPI_ERR_COUNT, N(MPI_Type_contiguous)(-1, MPI_INT, &type));
  WRONG(MPI_ERR_TYPE, N(MPI_Type_contiguous)(3, MPI_DATATYPE_NULL, &type));
  WRONG(MPI_ERR_ARG, N(MPI_Type_contiguous)(3, MPI_INT, NULL));

  RIGHT(N(MPI_Type_vector)(3, 2, 4, MPI_INT, &type));
  MADE_OF(type, MPI_COMBINER_VECTOR, EITHER(3, 0), 0, EITHER(0, 3), 1, 3, 2, 4);
  LAYOUT(type, 0, 1, 4, 5, 8, 9);
  WRONG(MPI_ERR_COUNT, N(MPI_Type_vector)(-3, 2, 4, MPI_INT, &type));
  WRONG(MPI_ERR_COUNT, N(MPI_Type_vector)(3, -2, 4, MPI_INT, &type));
  WRONG(MPI_ERR_TYPE, N(MPI_Type_vector)(3, 2, 4, MPI_DATATYPE_NULL, &type));

  RIGHT(N(MPI_Type_create_hvector)(2, 2, 20, MPI_INT, &type));
  MADE_OF(type, MPI_COMBINER_HVECTOR, EITHER(2, 0), EITHER(1, 0), EITHER(0, 3), 1, 2, 2,
          20);
  LAYOUT(type, 0, 1, 5, 6);
  WRONG(MPI_ERR_COUNT, N(MPI_Type_create_hvector)(2, -2, 20, MPI_INT, &type));
  WRONG(MPI_ERR_TYPE, N(MPI_Type_create_hvector)(2, 2, 20, MPI_DATATYPE_NULL, &type));
}

static void indexed(void) {
  MPI_Datatype type;
  count_t lengths[2] = {1, 2}, displacements[2] = {5, 1}, negative[2] = {1, -2};
  byte_t bytes[2] = {20, 4};
  RIGHT(N(MPI_Type_indexed)(2, lengths, displacements, MPI_INT, &type));
  MADE_OF(type, MPI_COMBINER_INDEXED, EITHER(5, 0), 0, EITHER(0, 5), 1, 2, 1, 2, 5, 1);
  LAYOUT(type, 5, 1, 2);
  WRONG(MPI_ERR_COUNT, N(MPI_Type_indexed)(2, negative, displacements, MPI_INT, &type));
  WRONG(MPI_ERR_COUNT, N(MPI_Type_indexed)(-2, lengths, displacements, MPI_INT, &type));
  WRONG(MPI_ERR_ARG, N(MPI_Type_indexed)(2, lengths, NULL, MPI_INT, &type));
  WRONG(MPI_ERR_TYPE,
        N(MPI_Type_indexed)(2, lengths, displacements, MPI_DATATYPE_NULL, &type));

  RIGHT(N(MPI_Type_create_hindexed)(2, lengths, bytes, MPI_INT, &type));
  MADE_OF(type, MPI_COMBINER_HINDEXED, EITHER(3, 0), EITHER(2, 0), EITHER(0, 5), 1, 2,
          1, 2, 20, 4);
  LAYOUT(type, 5, 1, 2);
  WRONG(MPI_ERR_COUNT, N(MPI_Type_create_hindexed)(2, negative, bytes, MPI_INT, &type));
  WRONG(MPI_ERR_ARG, N(MPI_Type_create_hindexed)(2, lengths, NULL, MPI_INT, &type));
  WRONG(MPI_ERR_TYPE,
        N(MPI_Type_create_hindexed)(2, lengths, bytes, MPI_DATATYPE_NULL, &type));

  RIGHT(N(MPI_Type_create_indexed_block)(2, 2, displacements, MPI_INT, &type));
  MADE_OF(type, MPI_COMBINER_INDEXED_BLOCK, EITHER(4, 0), 0, EITHER(0, 4), 1, 2, 2, 5,
          1);
  LAYOUT(type, 5, 6, 1, 2);
  WRONG(MPI_ERR_COUNT,
        N(MPI_Type_create_indexed_block)(2, -2, displacements, MPI_INT, &type));
  WRONG(MPI_ERR_ARG, N(MPI_Type_create_indexed_block)(2, 2, NULL, MPI_INT, &type));
  WRONG(MPI_ERR_TYPE, N(MPI_Type_create_indexed_block)(2, 2, displacements,
                                                       MPI_DATATYPE_NULL, &type));

  RIGHT(N(MPI_Type_create_hindexed_block)(2, 2, bytes, MPI_INT, &type));
  MADE_OF(type, MPI_COMBINER_HINDEXED_BLOCK, EITHER(2, 0), EITHER(2, 0), EITHER(0, 4),
          1, 2, 2, 20, 4);
  LAYOUT(type, 5, 6, 1, 2);
  WRONG(MPI_ERR_COUNT, N(MPI_Type_create_hindexed_block)(-2, 2, bytes, MPI_INT, &type));
  WRONG(MPI_ERR_ARG, N(MPI_Type_create_hindexed_block)(2, 2, NULL, MPI_INT, &type));
  WRONG(MPI_ERR_TYPE,
        N(MPI_Type_create_hindexed_block)(2, 2, bytes, MPI_DATATYPE_NULL, &type));
}

static void structures(void) {
  struct {
    short a, b;
    int c;
  } from = {1, 2, 3}, to = {0, 0, 0};
  MPI_Datatype type, parts[2] = {MPI_INT, MPI_SHORT},
                     none[2] = {MPI_INT, MPI_DATATYPE_NULL};
  count_t lengths[2] = {1, 1}, negative[2] = {-1, 1};
  byte_t bytes[2] = {4, 2};
  RIGHT(N(MPI_Type_create_struct)(2, lengths, bytes, parts, &type));
  MADE_OF(type, MPI_COMBINER_STRUCT, EITHER(3, 0), EITHER(2, 0), EITHER(0, 5), 2, 2, 1,
          1, 4, 2);
  MPI_Type_commit(&type);
  MPI_Sendrecv(&from, 1, type, 0, 0, &to, 1, type, 0, 0, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  CHECK(to.a == 0 && to.b == 2 && to.c == 3);
  MPI_Type_free(&type);
  WRONG(MPI_ERR_TYPE, N(MPI_Type_create_struct)(2, lengths, bytes, none, &type));
  WRONG(MPI_ERR_COUNT, N(MPI_Type_create_struct)(2, negative, bytes, parts, &type));
  WRONG(MPI_ERR_COUNT, N(MPI_Type_create_struct)(-2, lengths, bytes, parts, &type));
  WRONG(MPI_ERR_ARG, N(MPI_Type_create_struct)(2, lengths, bytes, NULL, &type));
}

/* Parts of an array of 4 x 6 integers. */
static void arrays(void) {
  MPI_Datatype type;
  count_t sizes[2] = {4, 6}, parts[2] = {2, 3}, starts[2] = {1, 2}, late[2] = {3, 2};
  int distribs[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
      unknown[2] = {-5, -5};
  int dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, 1}, grid[2] = {2, 2};
  RIGHT(N(MPI_Type_create_subarray)(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT,
                                    &type));
#ifdef EVERY_LARGE
  MADE_OF(type, MPI_COMBINER_SUBARRAY, 2, 0, 6, 1, 2, MPI_ORDER_C, 4, 6, 2, 3, 1, 2);
#else
  MADE_OF(type, MPI_COMBINER_SUBARRAY, 8, 0, 0, 1, 2, 4, 6, 2, 3, 1, 2, MPI_ORDER_C);
#endif
  LAYOUT(type, 8, 9, 10, 14, 15, 16);
  RIGHT(N(MPI_Type_create_subarray)(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT,
                                    &type));
  LAYOUT(type, 9, 10, 13, 14, 17, 18);
  WRONG(MPI_ERR_ARG, N(MPI_Type_create_subarray)(2, sizes, parts, late, MPI_ORDER_C,
                                                 MPI_INT, &type));
  WRONG(MPI_ERR_ARG,
        N(MPI_Type_create_subarray)(2, sizes, parts, starts, -1, MPI_INT, &type));
  WRONG(MPI_ERR_ARG, N(MPI_Type_create_subarray)(2, sizes, NULL, starts, MPI_ORDER_C,
                                                 MPI_INT, &type));
  WRONG(MPI_ERR_TYPE, N(MPI_Type_create_subarray)(2, sizes, parts, starts, MPI_ORDER_C,
                                                  MPI_DATATYPE_NULL, &type));

  /* The process 1 of 2 x 2: the first two rows, and of them the columns 1, 3 and 5. */
  RIGHT(N(MPI_Type_create_darray)(4, 1, 2, sizes, distribs, dargs, grid, MPI_ORDER_C,
                                  MPI_INT, &type));
#ifdef EVERY_LARGE
  MADE_OF(type, MPI_COMBINER_DARRAY, 10, 0, 2, 1, 4, 1, 2, MPI_DISTRIBUTE_BLOCK,
          MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, 1, 2, 2, MPI_ORDER_C, 4, 6);
#else
  MADE_OF(type, MPI_COMBINER_DARRAY, 12, 0, 0, 1, 4, 1, 2, 4, 6, MPI_DISTRIBUTE_BLOCK,
          MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, 1, 2, 2, MPI_ORDER_C);
#endif
  LAYOUT(type, 1, 3, 5, 7, 9, 11);
  WRONG(MPI_ERR_ARG, N(MPI_Type_create_darray)(5, 1, 2, sizes, distribs, dargs, grid,
                                               MPI_ORDER_C, MPI_INT, &type));
  WRONG(MPI_ERR_ARG, N(MPI_Type_create_darray)(4, 4, 2, sizes, distribs, dargs, grid,
                                               MPI_ORDER_C, MPI_INT, &type));
  WRONG(MPI_ERR_ARG, N(MPI_Type_create_darray)(4, 1, 2, sizes, unknown, dargs, grid,
                                               MPI_ORDER_C, MPI_INT, &type));
  WRONG(MPI_ERR_ARG, N(MPI_Type_create_darray)(4, 1, 2, sizes, distribs, dargs, grid,
                                               -1, MPI_INT, &type));
  WRONG(MPI_ERR_TYPE, N(MPI_Type_create_darray)(4, 1, 2, sizes, distribs, dargs, grid,
                                                MPI_ORDER_C, MPI_DATATYPE_NULL, &type));
}

static void sizes(void) {
  MPI_Datatype type, resized;
  count_t size = 0, displacement = 2;
  byte_t lb = -1, extent = -1;
  N(MPI_Type_create_indexed_block)(1, 3, &displacement, MPI_INT, &type);
  RIGHT(N(MPI_Type_create_resized)(type, -4, 40, &resized));
  CHECK(MPI_Type_free(&resized) == MPI_SUCCESS);
  RIGHT(N(MPI_Type_create_resized)(MPI_INT, -4, 40, &resized));
  MADE_OF(resized, MPI_COMBINER_RESIZED, 0, EITHER(2, 0), EITHER(0, 2), 1, -4, 40);
  CHECK(MPI_Type_free(&resized) == MPI_SUCCESS);
  N(MPI_Type_create_resized)(type, -4, 40, &resized);
  WRONG(MPI_ERR_TYPE, N(MPI_Type_create_resized)(MPI_DATATYPE_NULL, -4, 40, &resized));
  WRONG(MPI_ERR_ARG, N(MPI_Type_create_resized)(type, -4, 40, NULL));

  RIGHT(N(MPI_Type_size)(resized, &size));
  CHECK(size == 12);
  WRONG(MPI_ERR_TYPE, N(MPI_Type_size)(MPI_DATATYPE_NULL, &size));
  WRONG(MPI_ERR_ARG, N(MPI_Type_size)(resized, NULL));
  RIGHT(N(MPI_Type_get_extent)(resized, &lb, &extent));
  CHECK(lb == -4 && extent == 40);
  RIGHT(N(MPI_Type_get_extent)(type, &lb, &extent));
  CHECK(lb == 8 && extent == 12);
  WRONG(MPI_ERR_TYPE, N(MPI_Type_get_extent)(MPI_DATATYPE_NULL, &lb, &extent));
  WRONG(MPI_ERR_ARG, N(MPI_Type_get_extent)(type, &lb, NULL));
  RIGHT(N(MPI_Type_get_true_extent)(resized, &lb, &extent));
  CHECK(lb == 8 && extent == 12);
  WRONG(MPI_ERR_TYPE, N(MPI_Type_get_true_extent)(MPI_DATATYPE_NULL, &lb, &extent));
  WRONG(MPI_ERR_ARG, N(MPI_Type_get_true_extent)(type, NULL, &extent));
  MPI_Type_free(&resized);
  MPI_Type_free(&type);

  /* A size that an int cannot hold. */
  N(MPI_Type_contiguous)(INT_MAX, MPI_INT, &type);
  RIGHT(N(MPI_Type_size)(type, &size));
  CHECK(size == EITHER(MPI_UNDEFINED, (MPI_Count)INT_MAX * 4));
  RIGHT(N(MPI_Type_get_extent)(type, &lb, &extent));
  CHECK(lb == 0 && extent == (byte_t)INT_MAX * 4);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  contents_of_others();
  regular();
  indexed();
  structures();
  arrays();
  sizes();
  return every_end();
}

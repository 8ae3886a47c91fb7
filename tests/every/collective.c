/* Every blocking collective, and operations of reductions: run with 2 to 8 ranks. */
#define CALL(Name, name, before, ...)  \
  do {                                 \
    (void)(before);                    \
    RIGHT(N(MPI_##Name)(__VA_ARGS__)); \
  } while (0)
#define BAD(class_of_error, Name, name, ...) \
  WRONG(class_of_error, N(MPI_##Name)(__VA_ARGS__))
#define CALL_BARRIER() RIGHT(MPI_Barrier(MPI_COMM_WORLD))
#define BAD_BARRIER(class_of_error, comm) WRONG(class_of_error, MPI_Barrier(comm))
#include "collective_calls.h"
#include "collective_ignored.h"

/* Only called by a rank alone, so that it need not be associative. */
static void twice_and_add(void* in, void* inout, count_t* n, MPI_Datatype* type) {
  int *a = in, *b = inout;
  for (count_t i = 0; i < *n; ++i) b[i] += 2 * a[i];
  CHECK(*type == MPI_INT);
}

/* Composition of functions x -> a x + b, which keep their order: first a[0], then b[0]. */
static void compose(void* in, void* inout, count_t* n, MPI_Datatype* type) {
  int *first = in, *then = inout;
  (void)type;
  for (count_t i = 0; i < *n; ++i, first += 2, then += 2) {
    then[1] += then[0] * first[1];
    then[0] *= first[0];
  }
}

static void operations(void) {
  MPI_Op op, ordered;
  int commutes = -1, a[3] = {1, 2, 3}, b[3] = {10, 20, 30};
  RIGHT(N(MPI_Op_create)(twice_and_add, 1, &op));
  RIGHT(N(MPI_Op_create)(compose, 0, &ordered));
  WRONG(MPI_ERR_ARG, N(MPI_Op_create)(twice_and_add, 1, NULL));
  WRONG(MPI_ERR_ARG, N(MPI_Op_create)(NULL, 1, &op));

  RIGHT(MPI_Op_commutative(op, &commutes));
  CHECK(commutes == 1);
  RIGHT(MPI_Op_commutative(ordered, &commutes));
  CHECK(commutes == 0);
  RIGHT(MPI_Op_commutative(MPI_SUM, &commutes));
  CHECK(commutes == 1);
  WRONG(MPI_ERR_OP, MPI_Op_commutative(MPI_OP_NULL, &commutes));
  WRONG(MPI_ERR_ARG, MPI_Op_commutative(op, NULL));

  RIGHT(N(MPI_Reduce_local)(a, b, 2, MPI_INT, op));
  CHECK(b[0] == 12 && b[1] == 24 && b[2] == 30);
  RIGHT(N(MPI_Reduce_local)(a, b, 3, MPI_INT, MPI_SUM));
  CHECK(b[0] == 13 && b[1] == 26 && b[2] == 33);
  WRONG(MPI_ERR_OP, N(MPI_Reduce_local)(a, b, 2, MPI_INT, MPI_OP_NULL));
  WRONG(MPI_ERR_COUNT, N(MPI_Reduce_local)(a, b, -2, MPI_INT, MPI_SUM));
  WRONG(MPI_ERR_TYPE, N(MPI_Reduce_local)(a, b, 2, MPI_DATATYPE_NULL, MPI_SUM));
  WRONG(MPI_ERR_BUFFER, N(MPI_Reduce_local)(NULL, b, 2, MPI_INT, MPI_SUM));
  WRONG(MPI_ERR_BUFFER, N(MPI_Reduce_local)(a, a, 2, MPI_INT, MPI_SUM));
  WRONG(MPI_ERR_BUFFER, N(MPI_Reduce_local)(MPI_IN_PLACE, b, 2, MPI_INT, MPI_SUM));
  CHECK(b[0] == 13 && b[1] == 26 && b[2] == 33);

  /* Rank r has x -> 2 x + r. */
  int mine[2] = {2, every_rank}, whole[2], factor = 1, sum = 0;
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  RIGHT(N(MPI_Allreduce)(mine, whole, 1, pair, ordered, MPI_COMM_WORLD));
  for (int i = 0; i < every_size; ++i) factor *= 2, sum = 2 * sum + i;
  CHECK(whole[0] == factor && whole[1] == sum);
  MPI_Type_free(&pair);

  RIGHT(MPI_Op_free(&op));
  CHECK(op == MPI_OP_NULL);
  WRONG(MPI_ERR_OP, MPI_Op_free(&op));
  op = MPI_SUM;
  WRONG(MPI_ERR_OP, MPI_Op_free(&op));
  WRONG(MPI_ERR_ARG, MPI_Op_free(NULL));
  RIGHT(MPI_Op_free(&ordered));
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  every_collective();
  every_ignored_argument();
  operations();
  return every_end();
}

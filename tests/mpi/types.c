/* Datatype handles: names, envelopes, contents, sizes, pack, user operations. */
#include <stddef.h>
#include <string.h>

#include "check.h"

typedef struct {
  char tag;
  double x[3];
} item;

static void longest(void* in, void* inout, int* n, MPI_Datatype* type) {
  int size;
  MPI_Type_size(*type, &size);
  if (size != 8) printf("the operation saw a type of %d bytes\n", size);
  for (int i = 0; i < 2 * *n; i += 2)
    if (((int*)in)[i] > ((int*)inout)[i]) memcpy((int*)inout + i, (int*)in + i, 8);
}

static void check_bounds(MPI_Datatype type, MPI_Aint lb, MPI_Aint ub) {
  MPI_Aint is_lb, is_extent;
  MPI_Type_get_extent(type, &is_lb, &is_extent);
  CHECK(is_lb == lb && is_lb + is_extent == ub);
}

/* Bounds that were set count in enclosing types; MPI_LB and MPI_UB set one. */
static void markers(void) {
  int lengths[3] = {1, 1, 1}, sizes[4], len, integers[4];
  MPI_Aint places[3] = {-4, 0, 12}, addresses[3];
  MPI_Datatype parts[3] = {MPI_LB, MPI_INT, MPI_UB}, got[3], type, pair, wide;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Type_get_name(MPI_LB, name, &len);
  CHECK(strcmp(name, "MPI_LB") == 0);
  MPI_Type_struct(3, lengths, places, parts, &type);
  check_bounds(type, -4, 12);
  MPI_Type_size(type, &len);
  CHECK(len == sizeof(int));
  MPI_Type_get_envelope(type, &sizes[0], &sizes[1], &sizes[2], &sizes[3]);
  CHECK(sizes[2] == 3);
  MPI_Type_get_contents(type, 4, 3, 3, integers, addresses, got);
  CHECK(got[0] == MPI_LB && got[1] == MPI_INT && got[2] == MPI_UB);
  MPI_Type_contiguous(2, type, &pair);
  check_bounds(pair, -4, 28);

  MPI_Type_commit(&pair);
  int from[8] = {1, 2, 3, 4, 5, 6, 7, 8}, to[4] = {0};
  MPI_Status status;
  MPI_Sendrecv(from, 1, pair, 0, 7, to, 4, MPI_INT, 0, 7, MPI_COMM_SELF, &status);
  MPI_Get_count(&status, MPI_INT, &len);
  CHECK(len == 2 && to[0] == 1 && to[1] == 5);
  MPI_Type_free(&pair);
  MPI_Type_free(&type);

  MPI_Type_create_resized(MPI_INT, 0, 16, &wide);
  MPI_Datatype both[2] = {wide, MPI_INT};
  places[0] = 0;
  places[1] = 28;
  MPI_Type_create_struct(2, lengths, places, both, &type);
  check_bounds(type, 0, 16);
  MPI_Type_commit(&type);
  MPI_Sendrecv(from, 1, type, 0, 8, to, 4, MPI_INT, 0, 8, MPI_COMM_SELF, &status);
  CHECK(to[0] == 1 && to[1] == 8);
  MPI_Type_free(&type);
  MPI_Type_free(&wide);
}

/* Long: checks in a row; each stands on what those before it have made. */
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, len, ni, na, nt, combiner;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

  MPI_Type_get_name(MPI_INT, name, &len);
  CHECK(strcmp(name, "MPI_INT") == 0);
  int lengths[2] = {1, 3};
  MPI_Aint places[2] = {0, offsetof(item, x)}, lb, extent;
  MPI_Datatype parts[2] = {MPI_CHAR, MPI_DOUBLE}, type, got[2];
  MPI_Type_create_struct(2, lengths, places, parts, &type);
  MPI_Type_get_name(type, name, &len);
  CHECK(len == 0);
  MPI_Type_get_extent(type, &lb, &extent);
  CHECK(lb == 0 && extent == sizeof(item));
  MPI_Type_size(type, &len);
  CHECK(len == 25);
  MPI_Type_get_envelope(type, &ni, &na, &nt, &combiner);
  CHECK(ni == 3 && na == 2 && nt == 2 && combiner == MPI_COMBINER_STRUCT);
  int integers[3];
  MPI_Aint addresses[2];
  MPI_Type_get_contents(type, 3, 2, 2, integers, addresses, got);
  CHECK(integers[0] == 2 && integers[2] == 3 && addresses[1] == places[1]);
  CHECK(got[0] == MPI_CHAR && got[1] == MPI_DOUBLE);
  CHECK(MPI_Type_get_contents(MPI_INT, 1, 1, 1, integers, addresses, got) ==
        MPI_ERR_TYPE);
  MPI_Datatype constant = MPI_INT;
  CHECK(MPI_Type_free(&constant) == MPI_ERR_TYPE);
  CHECK(MPI_Send(NULL, 0, type, 0, 0, MPI_COMM_SELF) ==
        MPI_ERR_TYPE); /* not committed */

  MPI_Type_commit(&type);
  item a[2] = {{'a', {1, 2, 3}}, {'b', {4, 5, 6}}}, b[2];
  char packed[64];
  int position = 0;
  MPI_Pack(a, 2, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
  CHECK(position == 50);
  CHECK(MPI_Pack(a, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF) ==
        MPI_ERR_TRUNCATE);
  position = 0;
  MPI_Unpack(packed, 50, &position, b, 2, type, MPI_COMM_WORLD);
  CHECK(b[1].tag == 'b' && b[1].x[2] == 6);
  MPI_Type_free(&type);
  CHECK(type == MPI_DATATYPE_NULL);

  MPI_Datatype f1, f2;
  MPI_Type_create_f90_real(10, 100, &f1);
  MPI_Type_create_f90_real(10, 100, &f2);
  CHECK(f1 == f2);
  MPI_Datatype f3;
  MPI_Type_create_f90_complex(10, 100, &f2);
  MPI_Type_create_f90_integer(8, &f3);
  MPI_Type_get_envelope(f1, &ni, &na, &nt, &combiner);
  CHECK(combiner == MPI_COMBINER_F90_REAL && ni == 2);
  MPI_Type_get_envelope(f2, &ni, &na, &nt, &combiner);
  CHECK(combiner == MPI_COMBINER_F90_COMPLEX && ni == 2);
  MPI_Type_get_envelope(f3, &ni, &na, &nt, &combiner);
  CHECK(combiner == MPI_COMBINER_F90_INTEGER && ni == 1);
  MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
  MPI_Type_size(type, &len);
  CHECK(len == 8);

  markers();

  /* A user's operation on a user's type, without commutativity. */
  MPI_Op op;
  MPI_Op_create(longest, 0, &op);
  MPI_Op_commutative(op, &len);
  CHECK(len == 0);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_commit(&type);
  int mine[2] = {rank == size / 2 ? 1000 : rank, rank}, best[2] = {-1, -1};
  MPI_Allreduce(mine, best, 1, type, op, MPI_COMM_WORLD);
  CHECK(best[0] == 1000 && best[1] == size / 2);
  MPI_Type_free(&type);
  MPI_Op_free(&op);
  CHECK(op == MPI_OP_NULL);
  CHECK(MPI_Allreduce(mine, best, 1, MPI_DOUBLE, MPI_BXOR, MPI_COMM_SELF) ==
        MPI_ERR_OP);
  return finish();
}

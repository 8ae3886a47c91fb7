/* Every function that packs, and elements that have arrived: any number of ranks. */
#include <limits.h>

#include "every.h"

#ifdef EVERY_LARGE
typedef MPI_Count byte_t;
#else
typedef MPI_Aint byte_t;
#endif

static void own_representation(void) {
  int numbers[3] = {1, 2, 3}, got[3] = {0, 0, 0};
  double real = 2.5, got_real = 0;
  char packed[256];
  count_t size = -1, position = 0, end, outside = 300;
  MPI_Datatype raw;
  MPI_Type_contiguous(2, MPI_INT, &raw);
  RIGHT(N(MPI_Pack_size)(3, MPI_INT, MPI_COMM_WORLD, &size));
  CHECK(size >= 12 && size <= 256);
  WRONG(MPI_ERR_COUNT, N(MPI_Pack_size)(-3, MPI_INT, MPI_COMM_WORLD, &size));
  WRONG(MPI_ERR_TYPE, N(MPI_Pack_size)(3, MPI_DATATYPE_NULL, MPI_COMM_WORLD, &size));
  WRONG(MPI_ERR_COMM, N(MPI_Pack_size)(3, MPI_INT, MPI_COMM_NULL, &size));
  WRONG(MPI_ERR_ARG, N(MPI_Pack_size)(3, MPI_INT, MPI_COMM_WORLD, NULL));

  RIGHT(N(MPI_Pack)(numbers, 3, MPI_INT, packed, sizeof packed, &position,
                    MPI_COMM_WORLD));
  CHECK(position > 0 && position <= size);
  RIGHT(N(MPI_Pack)(&real, 1, MPI_DOUBLE, packed, sizeof packed, &position,
                    MPI_COMM_WORLD));
  end = position;
  WRONG(MPI_ERR_COUNT,
        N(MPI_Pack)(numbers, -3, MPI_INT, packed, 256, &position, MPI_COMM_WORLD));
  WRONG(MPI_ERR_TYPE,
        N(MPI_Pack)(numbers, 1, raw, packed, 256, &position, MPI_COMM_WORLD));
  WRONG(MPI_ERR_COMM,
        N(MPI_Pack)(numbers, 3, MPI_INT, packed, 256, &position, MPI_COMM_NULL));
  WRONG(MPI_ERR_ARG,
        N(MPI_Pack)(numbers, 3, MPI_INT, packed, 256, NULL, MPI_COMM_WORLD));
  WRONG(MPI_ERR_ARG,
        N(MPI_Pack)(numbers, 3, MPI_INT, packed, 256, &outside, MPI_COMM_WORLD));
  WRONG(MPI_ERR_TRUNCATE,
        N(MPI_Pack)(numbers, 3, MPI_INT, packed, end + 1, &position, MPI_COMM_WORLD));
  CHECK(position == end);

  /* What has been packed can be sent. */
  MPI_Sendrecv(packed, (int)end, MPI_PACKED, 0, 0, packed + 128, 128, MPI_PACKED, 0, 0,
               MPI_COMM_SELF, MPI_STATUS_IGNORE);
  position = 0;
  RIGHT(N(MPI_Unpack)(packed + 128, end, &position, got, 3, MPI_INT, MPI_COMM_WORLD));
  RIGHT(N(MPI_Unpack)(packed + 128, end, &position, &got_real, 1, MPI_DOUBLE,
                      MPI_COMM_WORLD));
  CHECK(got[0] == 1 && got[1] == 2 && got[2] == 3 && got_real == 2.5 &&
        position == end);
  WRONG(MPI_ERR_TRUNCATE,
        N(MPI_Unpack)(packed, end, &position, got, 1, MPI_INT, MPI_COMM_WORLD));
  position = 0;
  WRONG(MPI_ERR_COUNT,
        N(MPI_Unpack)(packed, end, &position, got, -1, MPI_INT, MPI_COMM_WORLD));
  WRONG(MPI_ERR_COUNT,
        N(MPI_Unpack)(packed, -1, &position, got, 1, MPI_INT, MPI_COMM_WORLD));
  WRONG(MPI_ERR_TYPE,
        N(MPI_Unpack)(packed, end, &position, got, 1, raw, MPI_COMM_WORLD));
  WRONG(MPI_ERR_COMM,
        N(MPI_Unpack)(packed, end, &position, got, 1, MPI_INT, MPI_COMM_NULL));
  WRONG(MPI_ERR_ARG, N(MPI_Unpack)(packed, end, NULL, got, 1, MPI_INT, MPI_COMM_WORLD));
  WRONG(MPI_ERR_ARG,
        N(MPI_Unpack)(packed, end, &outside, got, 1, MPI_INT, MPI_COMM_WORLD));
  CHECK(position == 0 && got[0] == 1);
  MPI_Type_free(&raw);
}

static void external32(void) {
  int number = 0x01020304, got = 0;
  double real = 2.5, got_real = 0;
  unsigned char packed[32];
  byte_t size = -1, position = 0, outside = 40;
  RIGHT(N(MPI_Pack_external_size)("external32", 3, MPI_INT, &size));
  CHECK(size == 12);
  WRONG(MPI_ERR_ARG, N(MPI_Pack_external_size)("mine", 3, MPI_INT, &size));
  WRONG(MPI_ERR_COUNT, N(MPI_Pack_external_size)("external32", -3, MPI_INT, &size));
  WRONG(MPI_ERR_TYPE,
        N(MPI_Pack_external_size)("external32", 3, MPI_DATATYPE_NULL, &size));
  WRONG(MPI_ERR_ARG, N(MPI_Pack_external_size)("external32", 3, MPI_INT, NULL));

  RIGHT(N(MPI_Pack_external)("external32", &number, 1, MPI_INT, packed, 32, &position));
  CHECK(position == 4 && memcmp(packed, "\1\2\3\4", 4) == 0);
  RIGHT(
      N(MPI_Pack_external)("external32", &real, 1, MPI_DOUBLE, packed, 32, &position));
  CHECK(position == 12 && memcmp(packed + 4, "\x40\x04\0\0\0\0\0\0", 8) == 0);
  WRONG(MPI_ERR_ARG,
        N(MPI_Pack_external)("mine", &number, 1, MPI_INT, packed, 32, &position));
  WRONG(MPI_ERR_ARG,
        N(MPI_Pack_external)(NULL, &number, 1, MPI_INT, packed, 32, &position));
  WRONG(MPI_ERR_COUNT, N(MPI_Pack_external)("external32", &number, -1, MPI_INT, packed,
                                            32, &position));
  WRONG(MPI_ERR_TYPE, N(MPI_Pack_external)("external32", &number, 1, MPI_DATATYPE_NULL,
                                           packed, 32, &position));
  WRONG(MPI_ERR_ARG,
        N(MPI_Pack_external)("external32", &number, 1, MPI_INT, packed, 32, NULL));
  WRONG(MPI_ERR_ARG,
        N(MPI_Pack_external)("external32", &number, 1, MPI_INT, packed, 32, &outside));
  WRONG(MPI_ERR_TRUNCATE,
        N(MPI_Pack_external)("external32", &number, 1, MPI_INT, packed, 14, &position));
  CHECK(position == 12);

  position = 0;
  RIGHT(N(MPI_Unpack_external)("external32", packed, 12, &position, &got, 1, MPI_INT));
  CHECK(got == number && position == 4);
  RIGHT(N(MPI_Unpack_external)("external32", packed, 12, &position, &got_real, 1,
                               MPI_DOUBLE));
  CHECK(got_real == real && position == 12);
  WRONG(MPI_ERR_TRUNCATE,
        N(MPI_Unpack_external)("external32", packed, 12, &position, &got, 1, MPI_INT));
  position = 0;
  WRONG(MPI_ERR_ARG,
        N(MPI_Unpack_external)("mine", packed, 12, &position, &got, 1, MPI_INT));
  WRONG(MPI_ERR_COUNT,
        N(MPI_Unpack_external)("external32", packed, 12, &position, &got, -1, MPI_INT));
  WRONG(MPI_ERR_TYPE, N(MPI_Unpack_external)("external32", packed, 12, &position, &got,
                                             1, MPI_DATATYPE_NULL));
  WRONG(MPI_ERR_ARG,
        N(MPI_Unpack_external)("external32", packed, 12, NULL, &got, 1, MPI_INT));
  WRONG(MPI_ERR_ARG,
        N(MPI_Unpack_external)("external32", packed, 12, &outside, &got, 1, MPI_INT));
  CHECK(position == 0 && got == number);
}

/* A pair and a half of integers arrive. */
static void elements(void) {
  int data[3] = {1, 2, 3}, got[4];
  count_t n = -1;
  MPI_Datatype pair;
  MPI_Status status;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Sendrecv(data, 3, MPI_INT, 0, 0, got, 2, pair, 0, 0, MPI_COMM_SELF, &status);
  RIGHT(N(MPI_Get_elements)(&status, pair, &n));
  CHECK(n == 3);
  CHECK(N(MPI_Get_count)(&status, pair, &n) == MPI_SUCCESS && n == MPI_UNDEFINED);
  RIGHT(N(MPI_Get_elements)(&status, MPI_INT, &n));
  CHECK(n == 3);
  WRONG(MPI_ERR_TYPE, N(MPI_Get_elements)(&status, MPI_DATATYPE_NULL, &n));
  WRONG(MPI_ERR_ARG, N(MPI_Get_elements)(&status, pair, NULL));
  WRONG(MPI_ERR_ARG, N(MPI_Get_elements)(MPI_STATUS_IGNORE, pair, &n));
  MPI_Type_free(&pair);
}

/* Nothing is packed from a null pointer. */
static void null_buffers(void) {
  int numbers[8];
  count_t p = 0;
  byte_t q = 0;
  WRONG(MPI_ERR_BUFFER, N(MPI_Pack)(NULL, 1, MPI_INT, numbers, 32, &p, MPI_COMM_WORLD));
  WRONG(MPI_ERR_BUFFER, N(MPI_Pack)(numbers, 1, MPI_INT, NULL, 32, &p, MPI_COMM_WORLD));
  WRONG(MPI_ERR_BUFFER,
        N(MPI_Unpack)(NULL, 32, &p, numbers, 1, MPI_INT, MPI_COMM_WORLD));
  WRONG(MPI_ERR_BUFFER,
        N(MPI_Unpack)(numbers, 32, &p, NULL, 1, MPI_INT, MPI_COMM_WORLD));
  WRONG(MPI_ERR_BUFFER,
        N(MPI_Pack_external)("external32", NULL, 1, MPI_INT, numbers, 32, &q));
  WRONG(MPI_ERR_BUFFER,
        N(MPI_Unpack_external)("external32", numbers, 32, &q, NULL, 1, MPI_INT));
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  own_representation();
  external32();
  null_buffers();
  elements();
  return every_end();
}

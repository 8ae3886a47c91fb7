/* The values of the MPI 5.0 ABI (version 1.0), written down from its text by hand: mpi.h is
 * generated from a list, and this table is what the list is held against. */
#include <stddef.h>
#include <stdio.h>

#include "mpi.h"

struct expected {
  const char* name;
  long long actual, wanted;
};
#define H(name, code) {#name, (long long)(intptr_t)(name), 0x##code}
#define V(name, value) {#name, (long long)(name), value}

static const struct expected table[] = {
    /* operations: 0x20 and on */
    H(MPI_OP_NULL, 20), H(MPI_SUM, 21), H(MPI_MIN, 22), H(MPI_MAX, 23), H(MPI_PROD, 24),
    H(MPI_BAND, 28), H(MPI_BOR, 29), H(MPI_BXOR, 2a), H(MPI_LAND, 30), H(MPI_LOR, 31),
    H(MPI_LXOR, 32), H(MPI_MINLOC, 38), H(MPI_MAXLOC, 39), H(MPI_REPLACE, 3c),
    H(MPI_NO_OP, 3d),
    /* communicators and the rest of the handles that are not datatypes */
    H(MPI_COMM_NULL, 100), H(MPI_COMM_WORLD, 101), H(MPI_COMM_SELF, 102),
    H(MPI_GROUP_NULL, 108), H(MPI_GROUP_EMPTY, 109), H(MPI_WIN_NULL, 110),
    H(MPI_FILE_NULL, 118), H(MPI_SESSION_NULL, 120), H(MPI_MESSAGE_NULL, 128),
    H(MPI_MESSAGE_NO_PROC, 129), H(MPI_INFO_NULL, 130), H(MPI_INFO_ENV, 131),
    H(MPI_ERRHANDLER_NULL, 140), H(MPI_ERRORS_ARE_FATAL, 141), H(MPI_ERRORS_ABORT, 142),
    H(MPI_ERRORS_RETURN, 143), H(MPI_REQUEST_NULL, 180),
    /* datatypes whose size the platform chooses */
    H(MPI_DATATYPE_NULL, 200), H(MPI_AINT, 201), H(MPI_COUNT, 202), H(MPI_OFFSET, 203),
    H(MPI_PACKED, 207), H(MPI_SHORT, 208), H(MPI_INT, 209), H(MPI_LONG, 20a),
    H(MPI_LONG_LONG, 20b), H(MPI_LONG_LONG_INT, 20b), H(MPI_UNSIGNED_SHORT, 20c),
    H(MPI_UNSIGNED, 20d), H(MPI_UNSIGNED_LONG, 20e), H(MPI_UNSIGNED_LONG_LONG, 20f),
    H(MPI_FLOAT, 210), H(MPI_C_FLOAT_COMPLEX, 212), H(MPI_C_COMPLEX, 212),
    H(MPI_CXX_FLOAT_COMPLEX, 213), H(MPI_DOUBLE, 214), H(MPI_C_DOUBLE_COMPLEX, 216),
    H(MPI_CXX_DOUBLE_COMPLEX, 217), H(MPI_LOGICAL, 218), H(MPI_INTEGER, 219),
    H(MPI_REAL, 21a), H(MPI_COMPLEX, 21b), H(MPI_DOUBLE_PRECISION, 21c),
    H(MPI_DOUBLE_COMPLEX, 21d), H(MPI_CHARACTER, 21e), H(MPI_LONG_DOUBLE, 220),
    H(MPI_C_LONG_DOUBLE_COMPLEX, 224), H(MPI_CXX_LONG_DOUBLE_COMPLEX, 225),
    H(MPI_FLOAT_INT, 228), H(MPI_DOUBLE_INT, 229), H(MPI_LONG_INT, 22a), H(MPI_2INT, 22b),
    H(MPI_SHORT_INT, 22c), H(MPI_LONG_DOUBLE_INT, 22d), H(MPI_2REAL, 230),
    H(MPI_2DOUBLE_PRECISION, 231), H(MPI_2INTEGER, 232), H(MPI_C_BOOL, 238),
    H(MPI_CXX_BOOL, 239), H(MPI_WCHAR, 23c),
    /* datatypes of fixed size */
    H(MPI_INT8_T, 240), H(MPI_UINT8_T, 241), H(MPI_CHAR, 243), H(MPI_SIGNED_CHAR, 244),
    H(MPI_UNSIGNED_CHAR, 245), H(MPI_BYTE, 247), H(MPI_INT16_T, 248), H(MPI_UINT16_T, 249),
    H(MPI_INT32_T, 250), H(MPI_UINT32_T, 251), H(MPI_INT64_T, 258), H(MPI_UINT64_T, 259),
    H(MPI_LOGICAL1, 2c0), H(MPI_INTEGER1, 2c1), H(MPI_LOGICAL2, 2c8), H(MPI_INTEGER2, 2c9),
    H(MPI_REAL2, 2ca), H(MPI_LOGICAL4, 2d0), H(MPI_INTEGER4, 2d1), H(MPI_REAL4, 2d2),
    H(MPI_COMPLEX4, 2d3), H(MPI_LOGICAL8, 2d8), H(MPI_INTEGER8, 2d9), H(MPI_REAL8, 2da),
    H(MPI_COMPLEX8, 2db), H(MPI_LOGICAL16, 2e0), H(MPI_INTEGER16, 2e1), H(MPI_REAL16, 2e2),
    H(MPI_COMPLEX16, 2e3), H(MPI_COMPLEX32, 2eb),
    /* addresses */
    H(MPI_BOTTOM, 0), H(MPI_IN_PLACE, 1), H(MPI_BUFFER_AUTOMATIC, 2),
    H(MPI_STATUS_IGNORE, 0), H(MPI_STATUSES_IGNORE, 0), H(MPI_ARGV_NULL, 0),
    H(MPI_ARGVS_NULL, 0), H(MPI_ERRCODES_IGNORE, 0), H(MPI_UNWEIGHTED, a),
    H(MPI_WEIGHTS_EMPTY, b), H(MPI_COMM_NULL_COPY_FN, 0), H(MPI_COMM_DUP_FN, 1),
    H(MPI_COMM_NULL_DELETE_FN, 0), H(MPI_TYPE_DUP_FN, 1), H(MPI_WIN_DUP_FN, 1),
    H(MPI_NULL_COPY_FN, 0), H(MPI_DUP_FN, 1),
    /* ranks, tags, levels, lengths */
    V(MPI_ANY_SOURCE, -1), V(MPI_ANY_TAG, -2), V(MPI_PROC_NULL, -3), V(MPI_ROOT, -4),
    V(MPI_UNDEFINED, -32766), V(MPI_THREAD_SINGLE, 0), V(MPI_THREAD_FUNNELED, 1024),
    V(MPI_THREAD_SERIALIZED, 2048), V(MPI_THREAD_MULTIPLE, 4096), V(MPI_SUCCESS, 0),
    V(MPI_ERR_BUFFER, 1), V(MPI_ERR_COUNT, 2), V(MPI_ERR_TYPE, 3), V(MPI_ERR_TAG, 4),
    V(MPI_ERR_COMM, 5), V(MPI_ERR_RANK, 6), V(MPI_ERR_REQUEST, 7), V(MPI_ERR_ROOT, 8),
    V(MPI_ERR_GROUP, 9), V(MPI_ERR_OP, 10), V(MPI_ERR_TOPOLOGY, 11), V(MPI_ERR_DIMS, 12),
    V(MPI_ERR_ARG, 13), V(MPI_ERR_UNKNOWN, 14), V(MPI_ERR_TRUNCATE, 15),
    V(MPI_ERR_OTHER, 16), V(MPI_ERR_INTERN, 17), V(MPI_ERR_PENDING, 18),
    V(MPI_ERR_IN_STATUS, 19), V(MPI_ERR_UNSUPPORTED_OPERATION, 55), V(MPI_ERR_ABI, 62),
    V(MPI_T_ERR_CANNOT_INIT, 1001), V(MPI_T_ERR_PVAR_NO_ATOMIC, 1018),
    V(MPI_ERR_LASTCODE, 16383), V(MPI_MAX_PROCESSOR_NAME, 256),
    V(MPI_MAX_ERROR_STRING, 512), V(MPI_MAX_LIBRARY_VERSION_STRING, 8192),
    V(MPI_MAX_OBJECT_NAME, 128), V(MPI_MAX_PORT_NAME, 1024), V(MPI_BSEND_OVERHEAD, 512),
    V(MPI_KEYVAL_INVALID, 0), V(MPI_TAG_UB, 501), V(MPI_UNIVERSE_SIZE, 507),
    V(MPI_WIN_BASE, 601), V(MPI_WIN_MODEL, 605), V(MPI_COMBINER_NAMED, 101),
    V(MPI_COMBINER_VALUE_INDEX, 117), V(MPI_ORDER_C, 12), V(MPI_ORDER_FORTRAN, 15),
    V(MPI_TYPECLASS_INTEGER, 192), V(MPI_IDENT, 201), V(MPI_UNEQUAL, 204), V(MPI_CART, 211),
    V(MPI_DIST_GRAPH, 213), V(MPI_COMM_TYPE_SHARED, 221), V(MPI_MODE_APPEND, 1),
    V(MPI_MODE_NOSUCCEED, 16384), V(MPI_LOCK_EXCLUSIVE, 301), V(MPI_SEEK_SET, 403),
    V(MPI_VERSION, 4), V(MPI_SUBVERSION, 1), V(MPI_ABI_VERSION, 1), V(MPI_ABI_SUBVERSION, 0),
    /* the status */
    V(sizeof(MPI_Status), 32), V(offsetof(MPI_Status, MPI_SOURCE), 0),
    V(offsetof(MPI_Status, MPI_TAG), 4), V(offsetof(MPI_Status, MPI_ERROR), 8),
    V(offsetof(MPI_Status, MPI_internal), 12), V(MPI_F_STATUS_SIZE, 8), V(MPI_F_SOURCE, 0),
    V(MPI_F_TAG, 1), V(MPI_F_ERROR, 2), V(sizeof(MPI_Aint), sizeof(void*)),
    V(sizeof(MPI_Count), 8), V(sizeof(MPI_Offset), 8),
};

int main(void) {
  int wrong = 0;
  for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i) {
    if (table[i].actual == table[i].wanted) continue;
    printf("%s is %lld, the ABI says %lld\n", table[i].name, table[i].actual,
           table[i].wanted);
    ++wrong;
  }
  return wrong != 0;
}

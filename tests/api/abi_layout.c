/* The layout of MPI 5.0's ABI (version 1.0): sizes and the status. Its constants: abi_values_test.py. */
#include <stddef.h>
#include <stdio.h>

#include "mpi.h"

struct expected {
  const char* name;
  long long actual, wanted;
};
#define V(name, value) \
  { #name, (long long)(name), value }

static const struct expected table[] = {
    V(sizeof(MPI_Status), 32),
    V(offsetof(MPI_Status, MPI_SOURCE), 0),
    V(offsetof(MPI_Status, MPI_TAG), 4),
    V(offsetof(MPI_Status, MPI_ERROR), 8),
    V(offsetof(MPI_Status, MPI_internal), 12),
    V(sizeof(MPI_Aint), sizeof(void*)),
    V(sizeof(MPI_Count), 8),
    V(sizeof(MPI_Offset), 8),
    /* The standard that has this ABI: mpi4py finds MPI_Comm_toint() by it. */
    V(MPI_VERSION >= 5 && MPI_ABI_VERSION == 1, 1),
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

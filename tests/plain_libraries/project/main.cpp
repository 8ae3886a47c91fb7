// Calls the libraries, each rank with its number, and says "ok SIZE" if none found anything wrong.
#include <mpi.h>

#include <cstdio>

#include "parts.h"

static thread_local int own = 100;

int main(int argc, char** argv) {
  int rank, size, wrong = 0;
  const int options = check_options(argc, argv);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  own += rank;
  const int results[] = {options,
                         check_environment(rank),
                         check_streams(rank),
                         check_thread_locals(rank),
                         check_settings(rank),
                         check_objects(argc, argv),
                         check_cxx(rank)};
  for (int i = 0; i < 7; ++i)
    if (results[i] != 0)
      std::fprintf(stderr, "rank %d, part %d: line %d\n", rank, i, results[i]), ++wrong;
  int sum = 0;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (wrong == 0 && sum == 100 * size + size * (size - 1) / 2)
    std::printf("ok %d\n", size);
  MPI_Finalize();
  return wrong != 0;
}

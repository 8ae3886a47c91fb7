// C++: inline and template statics, constructors and thread_local objects, once per rank.
#include <mpi.h>

#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

inline int inline_variable = 5;
template <class T>
struct Counter {
  static inline int count = 0;
};
struct Registry {
  std::map<std::string, int> entries{{"made", 1}};
};
Registry& registry() {
  static Registry instance;
  return instance;
}
static Registry constructed_before_main;
thread_local std::string word = "rank";

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, wrong = 0, all_wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  inline_variable += rank;
  Counter<int>::count += rank;
  registry().entries["rank"] = rank;
  constructed_before_main.entries["rank"] = rank;
  word += std::to_string(rank);
  for (int i = 0; i < 3; ++i) {
    try {
      MPI_Barrier(MPI_COMM_WORLD);
      throw std::runtime_error(word);
    } catch (const std::exception& error) {
      MPI_Barrier(
          MPI_COMM_WORLD);  // other ranks throw while this one is in its handler
      wrong += error.what() != word;
    }
    wrong += inline_variable != 5 + rank || Counter<int>::count != rank;
    wrong += registry().entries["rank"] != rank || registry().entries.size() != 2;
    wrong += constructed_before_main.entries["rank"] != rank;
    wrong += word != "rank" + std::to_string(rank);
  }
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("globals in C++: %s\n", all_wrong ? "SHARED, WRONG" : "private");
  MPI_Finalize();
  return rank == 0 && all_wrong != 0;
}

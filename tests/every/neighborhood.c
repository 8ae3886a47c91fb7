/* Every neighbourhood collective: run with 2 to 8 ranks. */
#include "every.h"

enum { MAX_RANKS = 8, MAX_NEIGHBORS = 2, SLOTS = 2 * MAX_NEIGHBORS + 1 };

/* A ring: each rank sends to the next one and to itself, and receives from the previous one
   and from itself. */
static MPI_Comm ring;
static int from[MAX_NEIGHBORS];

static int value(int source, int index, int k) {
  return 1000 * source + 10 * index + k + 1;
}

static int* clear(int* data) {
  for (int i = 0; i < SLOTS; ++i) data[i] = -1;
  return data;
}

/* A function of all three kinds with these arguments; the result `is_there` each time. */
#define CALL(name, is_there, ...)                                               \
  do {                                                                          \
    MPI_Request request = MPI_REQUEST_NULL;                                     \
    clear(got);                                                                 \
    RIGHT(N(MPI_Neighbor_##name)(__VA_ARGS__));                                 \
    is_there;                                                                   \
    clear(got);                                                                 \
    RIGHT(N(MPI_Ineighbor_##name)(__VA_ARGS__, &request));                      \
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);                \
    CHECK(request == MPI_REQUEST_NULL);                                         \
    is_there;                                                                   \
    RIGHT(N(MPI_Neighbor_##name##_init)(__VA_ARGS__, MPI_INFO_NULL, &request)); \
    for (int i_start = 0; i_start < 2; ++i_start) {                             \
      clear(got);                                                               \
      CHECK(MPI_Start(&request) == MPI_SUCCESS);                                \
      CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);              \
      CHECK(request != MPI_REQUEST_NULL);                                       \
      is_there;                                                                 \
    }                                                                           \
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);                           \
  } while (0)
#define BAD(class_of_error, name, ...)                                          \
  do {                                                                          \
    MPI_Request request;                                                        \
    WRONG(class_of_error, N(MPI_Neighbor_##name)(__VA_ARGS__));                 \
    WRONG(class_of_error, N(MPI_Ineighbor_##name)(__VA_ARGS__, &request));      \
    WRONG(class_of_error,                                                       \
          N(MPI_Neighbor_##name##_init)(__VA_ARGS__, MPI_INFO_NULL, &request)); \
  } while (0)
/* Their arguments are right, but for where the request goes. */
#define NO_REQUEST(name, ...)                                               \
  do {                                                                      \
    WRONG(MPI_ERR_ARG, N(MPI_Ineighbor_##name)(__VA_ARGS__, NULL));         \
    WRONG(MPI_ERR_ARG,                                                      \
          N(MPI_Neighbor_##name##_init)(__VA_ARGS__, MPI_INFO_NULL, NULL)); \
  } while (0)

/* The two elements that each neighbour sends to all. */
static int gathered(const int* got, int single) {
  for (int i = 0; i < 2 * MAX_NEIGHBORS; ++i) {
    int there = value(from[i / 2], 0, i % 2);
    if (single && i == 1) there = -1;
    if (got[i] != there) return 0;
  }
  return got[SLOTS - 1] == -1;
}

/* The elements that each neighbour sends here, the first neighbour from its place 0. */
static int exchanged(const int* got, int single) {
  for (int i = 0; i < 2 * MAX_NEIGHBORS; ++i) {
    int there = value(from[i / 2], i / 2, i % 2);
    if (single && i == 1) there = -1;
    if (got[i] != there) return 0;
  }
  return got[SLOTS - 1] == -1;
}

static void allgather(void) {
  int mine[2] = {value(every_rank, 0, 0), value(every_rank, 0, 1)}, got[SLOTS];
  CALL(allgather, CHECK(gathered(got, 0)), mine, 2, MPI_INT, got, 2, MPI_INT, ring);
  BAD(MPI_ERR_TOPOLOGY, allgather, mine, 2, MPI_INT, got, 2, MPI_INT, MPI_COMM_WORLD);
  BAD(MPI_ERR_COMM, allgather, mine, 2, MPI_INT, got, 2, MPI_INT, MPI_COMM_NULL);
  BAD(MPI_ERR_COUNT, allgather, mine, -2, MPI_INT, got, 2, MPI_INT, ring);
  BAD(MPI_ERR_TYPE, allgather, mine, 2, MPI_INT, got, 2, MPI_DATATYPE_NULL, ring);
  NO_REQUEST(allgather, mine, 2, MPI_INT, got, 2, MPI_INT, ring);
}

/* The number of elements depends on the sender: one of an even rank, two of an odd one. */
static int uneven(const int* got) {
  for (int i = 0; i < 2 * MAX_NEIGHBORS; ++i) {
    int slot = MAX_NEIGHBORS - 1 - i / 2, there = value(from[slot], 0, i % 2);
    if (i % 2 == 1 && from[slot] % 2 == 0) there = -1;
    if (got[i] != there) return 0;
  }
  return got[SLOTS - 1] == -1;
}

static void allgatherv(void) {
  int mine[2] = {value(every_rank, 0, 0), value(every_rank, 0, 1)}, got[SLOTS];
  int n = every_rank % 2 + 1;
  count_t counts[MAX_NEIGHBORS] = {from[0] % 2 + 1, from[1] % 2 + 1},
          negative[MAX_NEIGHBORS] = {-1, -1};
  disp_t displs[MAX_NEIGHBORS] = {2, 0};
  CALL(allgatherv, CHECK(uneven(got)), mine, n, MPI_INT, got, counts, displs, MPI_INT,
       ring);
  BAD(MPI_ERR_TOPOLOGY, allgatherv, mine, n, MPI_INT, got, counts, displs, MPI_INT,
      MPI_COMM_WORLD);
  BAD(MPI_ERR_COMM, allgatherv, mine, n, MPI_INT, got, counts, displs, MPI_INT,
      MPI_COMM_NULL);
  BAD(MPI_ERR_COUNT, allgatherv, mine, n, MPI_INT, got, negative, displs, MPI_INT,
      ring);
  BAD(MPI_ERR_TYPE, allgatherv, mine, n, MPI_DATATYPE_NULL, got, counts, displs,
      MPI_INT, ring);
  BAD(MPI_ERR_ARG, allgatherv, mine, n, MPI_INT, got, counts, NULL, MPI_INT, ring);
  NO_REQUEST(allgatherv, mine, n, MPI_INT, got, counts, displs, MPI_INT, ring);
}

static void fill(int* mine) {
  for (int i = 0; i < 2 * MAX_NEIGHBORS; ++i) mine[i] = value(every_rank, i / 2, i % 2);
}

static void alltoall(void) {
  int mine[SLOTS], got[SLOTS];
  fill(mine);
  CALL(alltoall, CHECK(exchanged(got, 0)), mine, 2, MPI_INT, got, 2, MPI_INT, ring);
  BAD(MPI_ERR_TOPOLOGY, alltoall, mine, 2, MPI_INT, got, 2, MPI_INT, MPI_COMM_WORLD);
  BAD(MPI_ERR_COMM, alltoall, mine, 2, MPI_INT, got, 2, MPI_INT, MPI_COMM_NULL);
  BAD(MPI_ERR_COUNT, alltoall, mine, 2, MPI_INT, got, -2, MPI_INT, ring);
  BAD(MPI_ERR_TYPE, alltoall, mine, 2, MPI_DATATYPE_NULL, got, 2, MPI_INT, ring);
  NO_REQUEST(alltoall, mine, 2, MPI_INT, got, 2, MPI_INT, ring);
}

static void alltoallv(void) {
  int mine[SLOTS], got[SLOTS];
  count_t counts[MAX_NEIGHBORS] = {1, 2}, negative[MAX_NEIGHBORS] = {-1, -1};
  disp_t displs[MAX_NEIGHBORS] = {0, 2};
  fill(mine);
  CALL(alltoallv, CHECK(exchanged(got, 1)), mine, counts, displs, MPI_INT, got, counts,
       displs, MPI_INT, ring);
  BAD(MPI_ERR_TOPOLOGY, alltoallv, mine, counts, displs, MPI_INT, got, counts, displs,
      MPI_INT, MPI_COMM_WORLD);
  BAD(MPI_ERR_COMM, alltoallv, mine, counts, displs, MPI_INT, got, counts, displs,
      MPI_INT, MPI_COMM_NULL);
  BAD(MPI_ERR_COUNT, alltoallv, mine, negative, displs, MPI_INT, got, counts, displs,
      MPI_INT, ring);
  BAD(MPI_ERR_TYPE, alltoallv, mine, counts, displs, MPI_INT, got, counts, displs,
      MPI_DATATYPE_NULL, ring);
  BAD(MPI_ERR_ARG, alltoallv, mine, NULL, displs, MPI_INT, got, counts, displs, MPI_INT,
      ring);
  NO_REQUEST(alltoallv, mine, counts, displs, MPI_INT, got, counts, displs, MPI_INT,
             ring);
}

static void alltoallw(void) {
  int mine[SLOTS + 1], got[SLOTS + 1];
  count_t counts[MAX_NEIGHBORS] = {2, 1}, negative[MAX_NEIGHBORS] = {-1, -1};
  MPI_Aint displs[MAX_NEIGHBORS] = {0, 2 * sizeof(int)};
  MPI_Datatype types[MAX_NEIGHBORS] = {MPI_INT, MPI_INT64_T};
  MPI_Datatype none[MAX_NEIGHBORS] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
  fill(mine);
  CALL(alltoallw, CHECK(exchanged(got, 0)), mine, counts, displs, types, got, counts,
       displs, types, ring);
  BAD(MPI_ERR_TOPOLOGY, alltoallw, mine, counts, displs, types, got, counts, displs,
      types, MPI_COMM_WORLD);
  BAD(MPI_ERR_COMM, alltoallw, mine, counts, displs, types, got, counts, displs, types,
      MPI_COMM_NULL);
  BAD(MPI_ERR_COUNT, alltoallw, mine, counts, displs, types, got, negative, displs,
      types, ring);
  BAD(MPI_ERR_TYPE, alltoallw, mine, counts, displs, none, got, counts, displs, types,
      ring);
  BAD(MPI_ERR_ARG, alltoallw, mine, counts, displs, types, got, counts, NULL, types,
      ring);
  NO_REQUEST(alltoallw, mine, counts, displs, types, got, counts, displs, types, ring);
  MPI_Aint to_me[MAX_NEIGHBORS]; /* where the blocks are, without a buffer */
  for (int i = 0; i < 2; ++i) {
    MPI_Get_address((char*)got + displs[i], &to_me[i]);
    MPI_Get_address((char*)mine + displs[i], &displs[i]);
  }
  CALL(alltoallw, CHECK(exchanged(got, 0)), MPI_BOTTOM, counts, displs, types,
       MPI_BOTTOM, counts, to_me, types, ring);
  BAD(MPI_ERR_BUFFER, alltoallw, MPI_IN_PLACE, counts, displs, types, MPI_BOTTOM,
      counts, to_me, types, ring);
}

/* The ends of a line have a neighbour that does not exist: its place stays as it was. */
static void ends_of_a_line(void) {
  MPI_Comm line;
  int mine = every_rank, got[SLOTS], open = 0;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &every_size, &open, 0, &line);
  MPI_Comm_set_errhandler(line, MPI_ERRORS_RETURN);
  CALL(allgather,
       CHECK(got[0] == every_rank - 1 &&
             got[1] == (every_rank + 1 < every_size ? every_rank + 1 : -1)),
       &mine, 1, MPI_INT, got, 1, MPI_INT, line);
  BAD(MPI_ERR_COUNT, allgather, &mine, -1, MPI_INT, got, -1, MPI_INT, line);
  MPI_Comm_free(&line);
}

/* No operation has elements at a null pointer, and none is in place. */
static void null_buffers(void) {
  int mine[SLOTS], got[SLOTS];
  BAD(MPI_ERR_BUFFER, allgather, NULL, 2, MPI_INT, got, 2, MPI_INT, ring);
  BAD(MPI_ERR_BUFFER, alltoall, mine, 2, MPI_INT, NULL, 2, MPI_INT, ring);
  BAD(MPI_ERR_BUFFER, alltoall, MPI_IN_PLACE, 2, MPI_INT, got, 2, MPI_INT, ring);
  count_t counts[MAX_NEIGHBORS] = {1, 1};
  disp_t displs[MAX_NEIGHBORS] = {0, 1};
  MPI_Aint bytes[MAX_NEIGHBORS] = {0, 4};
  MPI_Datatype types[MAX_NEIGHBORS] = {MPI_INT, MPI_INT};
  BAD(MPI_ERR_BUFFER, allgatherv, mine, 1, MPI_INT, NULL, counts, displs, MPI_INT,
      ring);
  BAD(MPI_ERR_BUFFER, alltoallv, NULL, counts, displs, MPI_INT, got, counts, displs,
      MPI_INT, ring);
  BAD(MPI_ERR_BUFFER, alltoallv, MPI_IN_PLACE, counts, displs, MPI_INT, got, counts,
      displs, MPI_INT, ring);
  BAD(MPI_ERR_BUFFER, alltoallw, NULL, counts, bytes, types, got, counts, bytes, types,
      ring);
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  int to[MAX_NEIGHBORS] = {(every_rank + 1) % every_size, every_rank};
  from[0] = (every_rank + every_size - 1) % every_size, from[1] = every_rank;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, MPI_UNWEIGHTED, 2, to,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
  MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
  allgather();
  allgatherv();
  alltoall();
  alltoallv();
  alltoallw();
  ends_of_a_line();
  null_buffers();
  MPI_Comm_free(&ring);
  return every_end();
}

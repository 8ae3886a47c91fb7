/* Communicators from communicators, so many that each way to a context id is taken: their
   messages reach their members and nobody else. */
#include <stdlib.h>

#include "check.h"

static int rank, size;

/* Everybody tells everybody a number that only this communicator has. */
static void exchange(MPI_Comm comm, int number) {
  int me, n;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  const int mine = number * 1000 + me;
  int* all = malloc(sizeof(int) * (size_t)n);
  MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm);
  for (int i = 0; i < n; ++i) CHECK(all[i] == number * 1000 + i);
  int got = -1;
  MPI_Sendrecv(&mine, 1, MPI_INT, (me + 1) % n, 5, &got, 1, MPI_INT, (me + n - 1) % n,
               5, comm, MPI_STATUS_IGNORE);
  CHECK(got == number * 1000 + (me + n - 1) % n);
  free(all);
}

/* More than any reserve holds, each with duplicates of its own. */
static void duplicate_duplicates(void) {
  MPI_Comm all[40];
  for (int i = 0; i < 40; ++i)
    MPI_Comm_dup(i % 3 == 2 ? all[i - 1] : MPI_COMM_WORLD, &all[i]);
  for (int i = 39; i >= 0; --i) {
    exchange(all[i], i);
    MPI_Comm_free(&all[i]);
  }
}

/* Duplicates of two communicators are asked for in different orders: nobody may wait. */
static void start_in_any_order(void) {
  MPI_Comm parents[2], made[2][12];
  for (int p = 0; p < 2; ++p) MPI_Comm_dup(MPI_COMM_WORLD, &parents[p]);
  MPI_Request requests[24];
  int n = 0;
  for (int k = 0; k < 2; ++k) {
    const int p = (rank + k) % 2;
    for (int i = 0; i < 12; ++i) MPI_Comm_idup(parents[p], &made[p][i], &requests[n++]);
  }
  /* Each way to complete a request. */
  int index, flag = 0;
  MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
  CHECK(index >= 0 && index < n);
  while (!flag) MPI_Test(&requests[n - 1], &flag, MPI_STATUS_IGNORE);
  MPI_Wait(&requests[n - 2], MPI_STATUS_IGNORE);
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  for (int p = 0; p < 2; ++p) {
    for (int i = 0; i < 12; ++i) {
      exchange(made[p][i], 100 * p + i);
      MPI_Comm_free(&made[p][i]);
    }
    MPI_Comm_free(&parents[p]);
  }
}

/* Parts may have the same id as they have no member in common; what is made of two of them has
   another one. */
static void part_and_join(void) {
  MPI_Comm part, inter, joined, twice;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
  exchange(part, 1 + rank % 2);
  MPI_Comm copies[20];
  for (int i = 0; i < 20; ++i) MPI_Comm_dup(part, &copies[i]);
  for (int i = 0; i < 20; ++i) exchange(copies[i], 10 * i + rank % 2);
  if (size > 1) {
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
    MPI_Comm_dup(inter, &twice);
    for (int i = 0; i < 2; ++i) {
      MPI_Intercomm_merge(i == 0 ? inter : twice, rank % 2, &joined);
      exchange(joined, 7 + i);
      MPI_Comm_free(&joined);
    }
    for (int i = 0; i < 12; ++i) { /* two ids each */
      MPI_Comm again;
      MPI_Request request;
      MPI_Comm_idup(i % 2 == 0 ? inter : twice, &again, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      int mine = rank, sum = -1, n;
      MPI_Comm_remote_size(again, &n);
      MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, again);
      CHECK(sum == n * (n - 1) + n * (1 - rank % 2));
      MPI_Comm_free(&again);
    }
    MPI_Comm_free(&twice);
    MPI_Comm_free(&inter);
  }
  for (int i = 0; i < 20; ++i) {
    exchange(copies[i], i);
    MPI_Comm_free(&copies[i]);
  }
  MPI_Comm_free(&part);
}

/* Three disjoint groups in each call, and groups that only their members know. */
static void create_from_groups(void) {
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int range[1][3] = {{rank % 3, size - 1, 3}};
  MPI_Group_range_incl(world, 1, range, &group);
  for (int i = 0; i < 12; ++i) {
    MPI_Comm a, b;
    MPI_Comm_create(MPI_COMM_WORLD, group, &a);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 4, &b);
    exchange(a, 3 * i + rank % 3);
    exchange(b, 100 + 3 * i + rank % 3);
    MPI_Comm_free(&a);
    MPI_Comm_dup(b, &a);
    exchange(a, 200 + rank % 3);
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

/* Topologies of some of the members. */
static void create_topologies(void) {
  for (int i = 0; i < 12; ++i) {
    MPI_Comm line;
    const int dims[1] = {1 + i % size}, periods[1] = {1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &line);
    CHECK((line != MPI_COMM_NULL) == (rank < dims[0]));
    if (line == MPI_COMM_NULL) continue;
    exchange(line, i);
    MPI_Comm_free(&line);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  duplicate_duplicates();
  start_in_any_order();
  part_and_join();
  create_from_groups();
  create_topologies();
  return finish();
}

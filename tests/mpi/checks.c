/* Wrong in one way each; mpi.check says how. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size;

static void leave_things(void) {
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Group group;
  MPI_Info info;
  MPI_Request request;
  int in = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_group(comm, &group);
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Info_create(&info);
  MPI_Irecv(&in, 1, MPI_INT, (rank + 1) % size, 99, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 2; ++i)
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD);
}

/* Blocks of which only some members give the size, and sizes that may differ. */
static void exchange_blocks(void) {
  int one = rank, blocks[3] = {0}, back[3] = {0};
  int counts[3] = {1, 1, 1}, places[3] = {0, 1, 2}, parts[3] = {size, 0, 0};
  const int is_root = rank == 2;
  MPI_Gather(&one, 1, MPI_INT, blocks, is_root ? 1 : 77, is_root ? MPI_INT : MPI_DOUBLE,
             2, MPI_COMM_WORLD);
  MPI_Scatter(blocks, is_root ? 1 : 77, is_root ? MPI_INT : MPI_DOUBLE, &one, 1,
              MPI_INT, 2, MPI_COMM_WORLD);
  MPI_Allgather(&one, 1, MPI_INT, blocks, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoall(blocks, 1, MPI_INT, back, 1, MPI_INT, MPI_COMM_WORLD);
  if (rank == 1) counts[1] = 0; /* nothing from itself to itself */
  MPI_Alltoallv(blocks, counts, places, MPI_INT, back, counts, places, MPI_INT,
                MPI_COMM_WORLD);
  MPI_Gatherv(places, rank, MPI_INT, back, (int[]){0, 1, 2}, (int[]){0, 0, 1}, MPI_INT,
              0, MPI_COMM_WORLD);
  MPI_Reduce_scatter(blocks, back, parts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* Made, used and given back: nothing is left. */
static void leave_nothing(void) {
  MPI_Comm comm, part;
  MPI_Datatype type;
  MPI_Group group;
  MPI_Info info;
  MPI_Request request;
  int in = 0;
  double vector[6] = {0};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_split(comm, rank % 2, 0, &part);
  MPI_Comm_group(comm, &group);
  MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Info_create(&info);
  /* The same signature, told in two ways. */
  MPI_Bcast(vector, rank == 0 ? 1 : 3, rank == 0 ? type : MPI_DOUBLE, 0, comm);
  MPI_Ibcast(&in, 1, MPI_INT, size - 1, part == MPI_COMM_NULL ? comm : MPI_COMM_WORLD,
             &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Allreduce(MPI_IN_PLACE, vector, 6, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Allreduce(MPI_IN_PLACE, vector, 6, MPI_DOUBLE, MPI_MAX, part);
  MPI_Scan(&rank, &in, 1, MPI_INT, MPI_SUM, comm);
  MPI_Barrier(part);
  MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 7, comm, &request);
  MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 7, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Info_free(&info);
  MPI_Type_free(&type);
  MPI_Group_free(&group);
  MPI_Comm_free(&part);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* how = argc > 1 ? argv[1] : "";
  const int odd_one = rank == 1;
  int number = rank, all = 0;
  float real = 0;
  MPI_Request request;
  if (!strcmp(how, "root")) MPI_Bcast(&number, 1, MPI_INT, odd_one, MPI_COMM_WORLD);
  if (!strcmp(how, "function")) {
    if (odd_one)
      MPI_Reduce(&number, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    else
      MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (!strcmp(how, "type"))
    MPI_Allreduce(odd_one ? (void*)&real : (void*)&number, &all, 1,
                  odd_one ? MPI_FLOAT : MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (!strcmp(how, "operation")) {
    MPI_Iallreduce(&number, &all, 1, MPI_INT, odd_one ? MPI_MAX : MPI_SUM,
                   MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  int blocks[6] = {0}, mine[2] = {0};
  if (!strcmp(how, "gather"))
    MPI_Gather(mine, odd_one ? 2 : 1, MPI_INT, blocks, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!strcmp(how, "scatter"))
    MPI_Scatter(blocks, 2, MPI_INT, mine, odd_one ? 1 : 2, MPI_INT, 2, MPI_COMM_WORLD);
  if (!strcmp(how, "missing") && !odd_one)
    MPI_Reduce(&number, &all, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
  if (!strcmp(how, "left")) leave_things();
  if (!strcmp(how, "nothing")) {
    exchange_blocks();
    leave_nothing();
  }
  MPI_Finalize();
  if (rank == 0) puts("done");
  return 0;
}

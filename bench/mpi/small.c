/* Small collectives and exchanges, as the slowest rank sees them: the calls between two steps of a solver.
 *
 *   mpirun -n 2 ./small
 *   mpirun -n 1024 ./small --which=ibarrier_and_wait,comm_split_and_free
 *
 * 8 B (and 512 B where a root gives or takes): prefixes, vector forms, neighbours on a ring, a root that
 * changes with each call, start and wait of non-blocking ones, making a communicator, exchanges
 * with both neighbours on a ring, and what pairs of ranks may do instead of MPI_Send and MPI_Recv: exchanges, and
 * one-way times of ping-pongs.
 */
#include <mpi.h>

#include "bench.h"

static int rank, ranks;
static int *counts, *displs, *ones;
static char *in, *out;
static MPI_Comm ring;

/* One call, the `turn`-th; `bytes` of a block. */
typedef void call(int bytes, int turn);

static MPI_Comm world(void) { return MPI_COMM_WORLD; }

static void scan(int bytes, int turn) {
  (void)turn;
  MPI_Scan(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, world());
}
static void exscan(int bytes, int turn) {
  (void)turn;
  MPI_Exscan(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, world());
}
static void allgather(int bytes, int turn) {
  (void)turn;
  MPI_Allgather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, world());
}
static void allgatherv(int bytes, int turn) {
  (void)turn;
  MPI_Allgatherv(in, bytes, MPI_CHAR, out, counts, displs, MPI_CHAR, world());
}
static void alltoallv(int bytes, int turn) {
  (void)bytes, (void)turn;
  MPI_Alltoallv(in, counts, displs, MPI_CHAR, out, counts, displs, MPI_CHAR, world());
}
static void reduce_scatter(int bytes, int turn) {
  (void)bytes, (void)turn;
  MPI_Reduce_scatter(in, out, ones, MPI_DOUBLE, MPI_SUM, world());
}
static void reduce_scatter_block(int bytes, int turn) {
  (void)turn;
  MPI_Reduce_scatter_block(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, world());
}
static void neighbor_allgather(int bytes, int turn) {
  (void)turn;
  MPI_Neighbor_allgather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, ring);
}
static void neighbor_alltoall(int bytes, int turn) {
  (void)turn;
  MPI_Neighbor_alltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, ring);
}
static void bcast_from_0(int bytes, int turn) {
  (void)turn;
  MPI_Bcast(in, bytes, MPI_CHAR, 0, world());
}
static void bcast(int bytes, int turn) {
  MPI_Bcast(in, bytes, MPI_CHAR, turn % ranks, world());
}
static void reduce(int bytes, int turn) {
  MPI_Reduce(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, turn % ranks, world());
}
static void gather(int bytes, int turn) {
  MPI_Gather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, turn % ranks, world());
}
static void scatter(int bytes, int turn) {
  MPI_Scatter(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, turn % ranks, world());
}
static void finish(MPI_Request request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
static void iallreduce(int bytes, int turn) {
  MPI_Request request;
  (void)turn;
  MPI_Iallreduce(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, world(), &request);
  finish(request);
}
static void ibcast(int bytes, int turn) {
  MPI_Request request;
  (void)turn;
  MPI_Ibcast(in, bytes, MPI_CHAR, 0, world(), &request);
  finish(request);
}
static void ibarrier(int bytes, int turn) {
  MPI_Request request;
  (void)bytes, (void)turn;
  MPI_Ibarrier(world(), &request);
  finish(request);
}
static void ialltoall(int bytes, int turn) {
  MPI_Request request;
  (void)turn;
  MPI_Ialltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, world(), &request);
  finish(request);
}
static void sendrecv(int bytes, int turn) {
  (void)turn;
  MPI_Sendrecv(in, bytes, MPI_CHAR, (rank + 1) % ranks, 0, out, bytes, MPI_CHAR,
               (rank + ranks - 1) % ranks, 0, world(), MPI_STATUS_IGNORE);
}
static void exchange(int bytes, int turn) {
  MPI_Request requests[4];
  const int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
  (void)turn;
  MPI_Irecv(out, bytes, MPI_CHAR, down, 0, world(), &requests[0]);
  MPI_Irecv(out + bytes, bytes, MPI_CHAR, up, 1, world(), &requests[1]);
  MPI_Isend(in, bytes, MPI_CHAR, up, 0, world(), &requests[2]);
  MPI_Isend(in, bytes, MPI_CHAR, down, 1, world(), &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}
static void split(int bytes, int turn) {
  MPI_Comm half;
  (void)bytes, (void)turn;
  MPI_Comm_split(world(), rank % 2, rank, &half);
  MPI_Comm_free(&half);
}

static void copy_of_world(int bytes, int turn) {
  MPI_Comm copy;
  (void)bytes, (void)turn;
  MPI_Comm_dup(world(), &copy);
  MPI_Comm_free(&copy);
}

/* ---- pairs: ranks 0 and 1, 2 and 3, ...; an odd one out does nothing --------------------------- */

static int partner(void) { return (rank ^ 1) < ranks ? rank ^ 1 : MPI_PROC_NULL; }
static void pair_isend(int bytes, int turn) {
  MPI_Request requests[2];
  (void)turn;
  MPI_Irecv(out, bytes, MPI_CHAR, partner(), 0, world(), &requests[0]);
  MPI_Isend(in, bytes, MPI_CHAR, partner(), 0, world(), &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
static void pair_persistent(int bytes, int turn) {
  static MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  (void)turn;
  if (bytes == 0) { /* the end */
    if (requests[0] != MPI_REQUEST_NULL)
      MPI_Request_free(&requests[0]), MPI_Request_free(&requests[1]);
    return;
  }
  if (requests[0] == MPI_REQUEST_NULL) {
    MPI_Recv_init(out, bytes, MPI_CHAR, partner(), 0, world(), &requests[0]);
    MPI_Send_init(in, bytes, MPI_CHAR, partner(), 0, world(), &requests[1]);
  }
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* A ping-pong: what is measured is half of it. */
typedef void step(int bytes);
static void ping_pong(step* send, step* receive, int bytes) {
  if (partner() == MPI_PROC_NULL) return;
  if (rank % 2 == 0) {
    send(bytes);
    receive(bytes);
  } else {
    receive(bytes);
    send(bytes);
  }
}
static void plain_send(int bytes) {
  MPI_Send(in, bytes, MPI_CHAR, partner(), 0, world());
}
static void plain_receive(int bytes) {
  MPI_Recv(out, bytes, MPI_CHAR, partner(), 0, world(), MPI_STATUS_IGNORE);
}
static void synchronous_send(int bytes) {
  MPI_Ssend(in, bytes, MPI_CHAR, partner(), 0, world());
}
static void buffered_send(int bytes) {
  MPI_Bsend(in, bytes, MPI_CHAR, partner(), 0, world());
}
static void probed_receive(int bytes) {
  MPI_Status status;
  MPI_Probe(partner(), 0, world(), &status);
  MPI_Recv(out, bytes, MPI_CHAR, status.MPI_SOURCE, 0, world(), MPI_STATUS_IGNORE);
}
static void any_receive(int bytes) {
  MPI_Recv(out, bytes, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, world(),
           MPI_STATUS_IGNORE);
}
static void pair_ssend(int bytes, int turn) {
  (void)turn;
  ping_pong(synchronous_send, plain_receive, bytes);
}
static void pair_bsend(int bytes, int turn) {
  (void)turn;
  ping_pong(buffered_send, plain_receive, bytes);
}
static void pair_probe(int bytes, int turn) {
  (void)turn;
  ping_pong(plain_send, probed_receive, bytes);
}
static void pair_any_source(int bytes, int turn) {
  (void)turn;
  ping_pong(plain_send, any_receive, bytes);
}

static const struct row {
  const char* name;
  call* call;
  int bytes;
  int messages; /* one after the other, by which the time is divided */
} rows[] = {{"scan_8B", scan, 8, 1},
            {"exscan_8B", exscan, 8, 1},
            {"allgather_8B", allgather, 8, 1},
            {"allgatherv_8B", allgatherv, 8, 1},
            {"alltoallv_8B", alltoallv, 8, 1},
            {"reduce_scatter_8B", reduce_scatter, 8, 1},
            {"reduce_scatter_block_8B", reduce_scatter_block, 8, 1},
            {"neighbor_allgather_8B", neighbor_allgather, 8, 1},
            {"neighbor_alltoall_8B", neighbor_alltoall, 8, 1},
            {"bcast_8B_from_0", bcast_from_0, 8, 1},
            {"bcast_8B_root_changes", bcast, 8, 1},
            {"reduce_8B_root_changes", reduce, 8, 1},
            {"gather_8B_root_changes", gather, 8, 1},
            {"scatter_8B_root_changes", scatter, 8, 1},
            {"bcast_512B_root_changes", bcast, 512, 1},
            {"reduce_512B_root_changes", reduce, 512, 1},
            {"gather_512B_root_changes", gather, 512, 1},
            {"scatter_512B_root_changes", scatter, 512, 1},
            {"iallreduce_8B_and_wait", iallreduce, 8, 1},
            {"ibcast_8B_and_wait", ibcast, 8, 1},
            {"ibarrier_and_wait", ibarrier, 0, 1},
            {"ialltoall_8B_and_wait", ialltoall, 8, 1},
            {"comm_split_and_free", split, 0, 1},
            {"comm_dup_and_free", copy_of_world, 0, 1},
            {"sendrecv_8B", sendrecv, 8, 1},
            {"exchange_8B", exchange, 8, 1},
            {"pair_isend_8B", pair_isend, 8, 1},
            {"pair_persistent_8B", pair_persistent, 8, 1},
            {"pair_ssend_8B", pair_ssend, 8, 2},
            {"pair_bsend_8B", pair_bsend, 8, 2},
            {"pair_probe_8B", pair_probe, 8, 2},
            {"pair_any_source_8B", pair_any_source, 8, 2}};

static long share(long value) {
  MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return value;
}

static double batch(long iterations, void* context) {
  const struct row* row = context;
  MPI_Barrier(MPI_COMM_WORLD);
  double start = bench_now_s();
  for (long i = 0; i < iterations; ++i) row->call(row->bytes, (int)i);
  double mine = bench_now_s() - start, slowest = mine;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static int* numbers(void) {
  int* made = calloc((size_t)ranks, sizeof *made);
  if (!made) MPI_Abort(MPI_COMM_WORLD, 2);
  return made;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* which = bench_option(argc, argv, "which", "");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long bytes = 512l * (ranks > 1 ? ranks : 2);
  in = bench_buffer(bytes);
  out = bench_buffer(bytes);
  memset(in, 0, (size_t)bytes);
  counts = numbers(), displs = numbers(), ones = numbers();
  for (int r = 0; r < ranks; ++r) counts[r] = 8, displs[r] = 8 * r, ones[r] = 1;
  char* const buffered = bench_buffer(1 << 16);
  MPI_Buffer_attach(buffered, 1 << 16);
  int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    struct row row = rows[i];
    if (*which && !bench_listed(which, row.name)) continue;
    double seconds = bench_run(batch, share, &row);
    if (rank == 0) bench_print(row.name, ranks, 1e6 * seconds / row.messages, "us");
  }
  pair_persistent(0, 0);
  MPI_Comm_free(&ring);
  void* detached;
  int size;
  MPI_Buffer_detach(&detached, &size);
  free(detached);
  free(counts), free(displs), free(ones);
  MPI_Finalize();
  return 0;
}

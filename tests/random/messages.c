/* Messages between random datatypes, in all modes of sending, receiving and completing, on several
   communicators; whole buffers are compared with the model, gaps included.
   usage: messages [SEED [ROUNDS]]; the seed is printed when something is wrong. */
#include <time.h>

#include "type.h"

enum { kMost = 16, kComms = 4, kWild = 3 };

typedef struct {
  int from, to, tag, comm, send_mode, receive_mode, is_mine, is_persistent_send;
  unsigned long long key;
  buffer out, in;
  int out_count, in_count;
  MPI_Request sent, received;
  MPI_Status status;
} message;

static int rank, size, failures;
static MPI_Comm comms[kComms];
static unsigned long long seed;

static int peer(const message* m,
                int world_rank) { /* comm 2 has the ranks in reverse */
  return m->comm == 2 ? size - 1 - world_rank : world_rank;
}

/* ---- the plan ---- */

static void plan(message* m, int index, source* s) {
  memset(m, 0, sizeof *m);
  m->from = (int)draw(s, 0, size - 1);
  m->to = (int)draw(s, 0, size - 1);
  m->comm = (int)draw(s, 0, kComms - 1);
  m->tag = m->comm == kWild ? 5 : 100 + index;
  m->send_mode = (int)draw(s, 0, 4);
  m->receive_mode = m->comm == kWild ? (int)draw(s, 0, 1) : (int)draw(s, 0, 6);
  m->key = next_number(s);
  m->sent = m->received = MPI_REQUEST_NULL;
}
/* Types and buffers: both ends know both. */
static void furnish(message* m) {
  source s = {m->key};
  const unit u = random_unit(&s);
  const long most = one_in(&s, 4) ? 300000 : one_in(&s, 2) ? 20000 : 600;
  type_model a, b;
  random_pair(&u, most, &s, &a, &m->out_count, &b, &m->in_count);
  if (!agrees(&a) || !agrees(&b)) ++failures;
  if (one_in(&s, 3) && is_fine(&b, m->in_count + 3))
    m->in_count += 3; /* more room than data */
  m->out = make_buffer(a, m->out_count, m->key + 1);
  m->in = make_buffer(b, m->in_count, m->key + 2);
}

/* ---- its two ends ---- */

static void start_receive(message* m) {
  MPI_Comm comm = comms[m->comm];
  const int from = peer(m, m->from), any = m->receive_mode == 1;
  const MPI_Datatype type = m->in.type.handle;
  if (m->receive_mode <= 1)
    MPI_Irecv(base_of(&m->in), m->in_count, type,
              any && m->comm != kWild ? MPI_ANY_SOURCE : from,
              any && m->comm == kWild ? MPI_ANY_TAG : m->tag, comm, &m->received);
  if (m->receive_mode == 2) {
    MPI_Recv_init(base_of(&m->in), m->in_count, type, from, m->tag, comm, &m->received);
    MPI_Start(&m->received);
  }
}

static void start_send(message* m) {
  MPI_Comm comm = comms[m->comm];
  void* const base = base_of(&m->out);
  const MPI_Datatype type = m->out.type.handle;
  const int to = peer(m, m->to);
  if (m->send_mode == 0)
    MPI_Isend(base, m->out_count, type, to, m->tag, comm, &m->sent);
  if (m->send_mode == 1)
    MPI_Issend(base, m->out_count, type, to, m->tag, comm, &m->sent);
  if (m->send_mode == 2)
    MPI_Send_init(base, m->out_count, type, to, m->tag, comm, &m->sent);
  if (m->send_mode == 3)
    MPI_Ssend_init(base, m->out_count, type, to, m->tag, comm, &m->sent);
  if (m->send_mode == 4)
    MPI_Ibsend(base, m->out_count, type, to, m->tag, comm, &m->sent);
  if (m->send_mode == 2 || m->send_mode == 3) MPI_Start(&m->sent);
}

/* What has not been posted: all sends are under way, so any order will do. */
static void receive_late(message* m) {
  MPI_Comm comm = comms[m->comm];
  const MPI_Datatype type = m->in.type.handle;
  MPI_Message handle;
  MPI_Status probed;
  const int from = peer(m, m->from);
  if (m->receive_mode == 3)
    MPI_Recv(base_of(&m->in), m->in_count, type, from, m->tag, comm, &m->status);
  if (m->receive_mode == 4) {
    MPI_Mprobe(MPI_ANY_SOURCE, m->tag, comm, &handle, &probed);
    MPI_Mrecv(base_of(&m->in), m->in_count, type, &handle, &m->status);
  }
  if (m->receive_mode == 5) {
    for (int flag = 0; !flag;) MPI_Improbe(from, m->tag, comm, &flag, &handle, &probed);
    MPI_Imrecv(base_of(&m->in), m->in_count, type, &handle, &m->received);
  }
  if (m->receive_mode == 6) {
    MPI_Probe(from, m->tag, comm, &probed);
    MPI_Irecv(base_of(&m->in), m->in_count, type, probed.MPI_SOURCE, probed.MPI_TAG,
              comm, &m->received);
  }
}

static void verify(message* m) {
  int is_right =
      m->status.MPI_SOURCE == peer(m, m->from) && m->status.MPI_TAG == m->tag;
  if (!is_right)
    printf("status: source %d, tag %d\n", m->status.MPI_SOURCE, m->status.MPI_TAG);
  long elements = 0;
  for (long left = m->out.bytes; left > 0; ++elements)
    left -= m->in.type.map[elements % m->in.type.count].bytes;
  int said = -1, whole = -1;
  MPI_Get_elements(&m->status, m->in.type.handle, &said);
  MPI_Get_count(&m->status, m->in.type.handle, &whole);
  const int wanted = elements % m->in.type.count == 0
                         ? (int)(elements / m->in.type.count)
                         : MPI_UNDEFINED;
  if (said != elements || whole != wanted) {
    printf("%d elements, count %d; should be %ld, %d\n", said, whole, elements, wanted);
    is_right = 0;
  }
  unsigned char* const bytes = as_made(&m->in, m->key + 2);
  expect_bytes(bytes, &m->in, 0, &m->out, m->key + 1, m->out.bytes);
  is_right &= is_as_wanted(&m->in, bytes);
  if (is_right) return;
  ++failures;
  printf("seed %llu: %d to %d, tag %d, comm %d, modes %d and %d, %ld bytes\n", seed,
         m->from, m->to, m->tag, m->comm, m->send_mode, m->receive_mode, m->out.bytes);
}

/* ---- a round ---- */

static void complete(message* all, int n, source* own) {
  MPI_Request open[2 * kMost];
  MPI_Status statuses[2 * kMost];
  MPI_Status* keep[2 * kMost];
  int count = 0, outcount, indices[2 * kMost];
  for (int i = 0; i < n; ++i) {
    if (all[i].received != MPI_REQUEST_NULL) {
      keep[count] = &all[i].status;
      open[count++] = all[i].received;
    }
    if (all[i].sent != MPI_REQUEST_NULL) {
      keep[count] = NULL;
      open[count++] = all[i].sent;
    }
  }
  const long how = draw(own, 0, 3);
  for (int left = count; left > 0;) {
    outcount = 0;
    if (how == 0) {
      MPI_Waitall(count, open, statuses);
      for (int i = 0; i < count; ++i) indices[i] = i;
      outcount = count;
    } else if (how == 1) {
      MPI_Waitany(count, open, indices, statuses);
      outcount = 1;
    } else if (how == 2) {
      MPI_Testsome(count, open, &outcount, indices, statuses);
    } else {
      int flag = 0;
      const int i = (int)draw(own, 0, count - 1);
      if (keep[i] == statuses) continue; /* has ended */
      MPI_Test(&open[i], &flag, statuses);
      indices[0] = i;
      outcount = flag;
    }
    for (int i = 0; i < outcount; ++i, --left) {
      if (keep[indices[i]] != NULL) *keep[indices[i]] = statuses[i];
      keep[indices[i]] = statuses;
    }
  }
  for (int i = 0; i < count; ++i)
    if (open[i] != MPI_REQUEST_NULL) MPI_Request_free(&open[i]); /* persistent */
}

static void exchange(int round) {
  static message all[kMost];
  source common = seeded(seed, (unsigned long long)round, 1);
  source own = seeded(seed, (unsigned long long)round, 1000 + (unsigned long long)rank);
  const int n = (int)draw(&common, 1, kMost);
  for (int i = 0; i < n; ++i) {
    plan(&all[i], i, &common);
    all[i].is_mine = all[i].from == rank || all[i].to == rank;
    if (all[i].is_mine) furnish(&all[i]);
  }
  const int sends_first = one_in(&own, 2);
  for (int i = 0; i < n && sends_first; ++i)
    if (all[i].from == rank) start_send(&all[i]);
  for (int i = 0; i < n; ++i)
    if (all[i].to == rank) start_receive(&all[i]);
  for (int i = 0; i < n && !sends_first; ++i)
    if (all[i].from == rank) start_send(&all[i]);
  for (int i = n - 1; i >= 0; --i)
    if (all[i].to == rank) receive_late(&all[i]);
  complete(all, n, &own);
  for (int i = 0; i < n; ++i) {
    if (all[i].to == rank) verify(&all[i]);
    if (!all[i].is_mine) continue;
    drop_buffer(&all[i].out);
    drop_buffer(&all[i].in);
  }
}

/* Everybody sends to the rank that is `shift` above, with the calls that do both. */
static void shift_all(int round) {
  source common = seeded(seed, (unsigned long long)round, 2);
  const int shift = (int)draw(&common, 0, size - 1), to = (rank + shift) % size;
  const int from = (rank - shift + size) % size, how = (int)draw(&common, 0, 1);
  message all[2]; /* the one that leaves, the one that comes */
  for (int i = 0; i < 2; ++i) {
    plan(&all[i], 0, &common);
    all[i].from = i == 0 ? rank : from;
    all[i].to = i == 0 ? to : rank;
    all[i].comm = all[i].tag = 0;
    source s =
        seeded(seed, (unsigned long long)round, 100 + (unsigned long long)all[i].from);
    all[i].key = next_number(&s);
    furnish(&all[i]);
  }
  if (how == 0) {
    MPI_Sendrecv(base_of(&all[0].out), all[0].out_count, all[0].out.type.handle, to, 0,
                 base_of(&all[1].in), all[1].in_count, all[1].in.type.handle, from, 0,
                 comms[0], &all[1].status);
  } else {
    MPI_Request requests[2];
    MPI_Irecv(base_of(&all[1].in), all[1].in_count, all[1].in.type.handle, from, 0,
              comms[0], &requests[0]);
    MPI_Barrier(comms[1]);
    MPI_Irsend(base_of(&all[0].out), all[0].out_count, all[0].out.type.handle, to, 0,
               comms[0], &requests[1]);
    MPI_Wait(&requests[0], &all[1].status);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  }
  verify(&all[1]);
  for (int i = 0; i < 2; ++i) {
    drop_buffer(&all[i].out);
    drop_buffer(&all[i].in);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (unsigned long long)time(NULL);
  MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  const int rounds = argc > 2 ? atoi(argv[2]) : 20;
  enum { kBsendBytes = 64 << 20 };
  void* const room = malloc(kBsendBytes);
  int bytes;
  MPI_Buffer_attach(room, kBsendBytes);
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comms[2]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[kWild]);
  for (int round = 0; round < rounds; ++round) {
    exchange(round);
    shift_all(round);
  }
  void* detached;
  MPI_Buffer_detach(&detached, &bytes);
  free(room);
  for (int i = 1; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  int all = 0;
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("No Errors\n");
  if (rank == 0 && all != 0) printf("%d errors, seed %llu\n", all, seed);
  MPI_Finalize();
  return failures != 0;
}

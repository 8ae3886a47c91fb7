/* A storm of collectives: all non-blocking and persistent ones, several in flight on several
   communicators (copies, halves, grids, a graph, an intercommunicator), started in different
   orders, by ranks that are late, completed in any way, with blocking calls and messages
   meanwhile; every result is compared with a local computation.
   usage: storm [ROUNDS [SEED|time [THREADS]]]; the seed is printed when something is wrong. */
#include <pthread.h>
#include <time.h>

#include "storm_call.h"

enum { kMost = 16, kPlaces = 7, kThreads = 4, kMail = 3000 };

/* What one thread does; it has communicators of its own. */
typedef struct {
  place places[kPlaces];
  unsigned common, own; /* random numbers that are alike at all ranks, or not */
  int rounds, count;
  collective* all[kMost]; /* null where the rank is not a member */
  MPI_Request requests[kMost];
} storm;

static int world_rank, world_size;

static void pause_a_bit(unsigned* own) {
  if (draw(own, 8)) return;
  volatile double x = 1;
  for (int turns = draw(own, 100000); turns > 0; --turns) x = x * 1.0000001;
}

/* ---- communicators ---- */

static void set_place(place* p, MPI_Comm comm, unsigned number) {
  memset(p, 0, sizeof *p);
  p->comm = comm;
  p->number = number;
  if (comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(comm, &p->rank);
  MPI_Comm_size(comm, &p->size);
  MPI_Comm_test_inter(comm, &p->is_inter);
  p->peers = p->size;
  if (p->is_inter) MPI_Comm_remote_size(comm, &p->peers);
}

static void set_grid(place* p, int dimensions, unsigned number) {
  MPI_Comm comm;
  int sides[2] = {0, 0};
  const int is_periodic[2] = {dimensions == 1, 1};
  MPI_Dims_create(world_size, dimensions, sides);
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, sides, is_periodic, 0, &comm);
  set_place(p, comm, number);
  p->topology = kGrid;
  p->source_count = p->target_count = 2 * dimensions;
  for (int i = 0; i < dimensions; ++i)
    MPI_Cart_shift(comm, i, 1, &p->sources[2 * i], &p->sources[2 * i + 1]);
  memcpy(p->targets, p->sources, sizeof p->targets);
}

static void set_graph(place* p, unsigned number) {
  MPI_Comm comm;
  place edges = {.comm = MPI_COMM_NULL};
  for (int i = 0; i < world_size && i < kNeighbors; ++i) {
    const unsigned me = (unsigned)world_rank, other = (unsigned)i;
    if (world_rank < kNeighbors && hash(number, other, me) % 3 == 0)
      edges.sources[edges.source_count++] = i;
    if (world_rank < kNeighbors && hash(number, me, other) % 3 == 0)
      edges.targets[edges.target_count++] = i;
  }
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, edges.source_count, edges.sources,
                                 MPI_UNWEIGHTED, edges.target_count, edges.targets,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  set_place(p, comm, number);
  p->topology = kGraph;
  p->source_count = edges.source_count;
  p->target_count = edges.target_count;
  memcpy(p->sources, edges.sources, sizeof p->sources);
  memcpy(p->targets, edges.targets, sizeof p->targets);
}

/* A third of the ranks against the others. */
static void set_bridge(place* p, unsigned number) {
  MPI_Comm part, comm = MPI_COMM_NULL;
  const int group = world_rank % 3 == 0;
  MPI_Comm_split(MPI_COMM_WORLD, group, world_rank, &part);
  if (world_size > 1) MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, group, 77, &comm);
  set_place(p, comm, number);
  p->group = group;
  MPI_Comm_free(&part);
}

static void set_places(place* p, unsigned number) {
  MPI_Comm comm;
  const int is_odd = world_rank % 2, is_low = world_rank < (world_size + 1) / 2;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  set_place(&p[0], comm, number);
  MPI_Comm_split(MPI_COMM_WORLD, is_odd, -world_rank, &comm);
  set_place(&p[1], comm, number + 1 + 100 * (unsigned)is_odd);
  MPI_Comm_split(MPI_COMM_WORLD, is_low ? 0 : MPI_UNDEFINED, 0, &comm);
  set_place(&p[2], comm, number + 2);
  set_grid(&p[3], 1, number + 3);
  set_grid(&p[4], 2, number + 4);
  set_graph(&p[5], number + 5);
  set_bridge(&p[6], number + 6);
}

/* ---- a round ---- */

static void draw_round(storm* s) {
  s->count = 1 + draw(&s->common, kMost);
  for (int i = 0; i < s->count; ++i) {
    place* p = &s->places[draw(&s->common, kPlaces)];
    /* a generator of its own, as those that are not members draw nothing from it */
    unsigned common = hash((unsigned)draw(&s->common, 1 << 30), (unsigned)i, 7);
    s->all[i] = p->comm == MPI_COMM_NULL ? NULL : draw_collective(p, &common, &s->own);
    s->requests[i] = MPI_REQUEST_NULL;
    if (s->all[i]) fill(s->all[i]);
  }
}

/* Persistent ones may start in any order, the others in that of their communicator. */
static int may_start(const storm* s, int i) {
  if (!s->all[i] || s->all[i]->is_started) return 0;
  for (int k = 0; k < i && !s->all[i]->is_persistent; ++k) {
    const collective* o = s->all[k];
    if (o && o->where == s->all[i]->where && !o->is_persistent && !o->is_started)
      return 0;
  }
  return 1;
}

static void note_end(storm* s, int i) {
  collective* o = s->all[i];
  o->is_complete = 1;
  --o->runs_left;
  check_result(o);
  CHECK(o->is_persistent == (s->requests[i] != MPI_REQUEST_NULL));
}

static int is_in_flight(const storm* s, int i) {
  return s->all[i] && s->all[i]->is_started && !s->all[i]->is_complete;
}

static void test_one(storm* s) {
  const int i = draw(&s->own, s->count);
  int flag = 0;
  if (is_in_flight(s, i)) MPI_Test(&s->requests[i], &flag, MPI_STATUS_IGNORE);
  if (flag) note_end(s, i);
}

static void start_all(storm* s) {
  int left = 0;
  for (int i = 0; i < s->count; ++i) {
    collective* o = s->all[i];
    left += o != NULL;
    if (o && o->is_persistent) initiate(o, &s->requests[i], &s->own);
  }
  while (left > 0) {
    const int i = draw(&s->own, s->count);
    if (!may_start(s, i)) continue;
    pause_a_bit(&s->own);
    if (s->all[i]->is_persistent)
      MPI_Start(&s->requests[i]);
    else
      initiate(s->all[i], &s->requests[i], &s->own);
    s->all[i]->is_started = 1;
    --left;
    if (draw(&s->own, 4) == 0) test_one(s);
  }
}

/* Blocking calls while others are in flight. */
static void call_blocking(const place* p, int kind) {
  const int n = p->size;
  int x = p->rank + 1, y = 0;
  MPI_Comm comm;
  MPI_Request request;
  switch (kind) {
    case 0:
      MPI_Barrier(p->comm);
      break;
    case 1:
      MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, p->comm);
      CHECK(y == n * (n + 1) / 2);
      break;
    case 2:
      MPI_Bcast(&x, 1, MPI_INT, n / 2, p->comm);
      CHECK(x == n / 2 + 1);
      break;
    case 3:
      MPI_Comm_dup(p->comm, &comm);
      MPI_Scan(&x, &y, 1, MPI_INT, MPI_SUM, comm);
      CHECK(y == x * (x + 1) / 2);
      MPI_Comm_free(&comm);
      break;
    case 4: /* a communicator that is freed too early */
      MPI_Comm_split(p->comm, p->rank % 3, p->rank, &comm);
      MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_MAX, comm, &request);
      MPI_Comm_free(&comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(y <= n && y > n - 3 && y % 3 == x % 3);
      break;
    case 5:
      MPI_Comm_idup(p->comm, &comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Barrier(comm);
      MPI_Comm_free(&comm);
      break;
    default:
      MPI_Reduce(&x, &y, 1, MPI_INT, MPI_MAX, 0, p->comm);
      CHECK(p->rank != 0 || y == n);
      break;
  }
}

/* Messages around the ring of all ranks, and blocking calls. */
static void do_something_else(storm* s) {
  const place* p = &s->places[0];
  int sent[kMail], got[kMail];
  MPI_Request requests[2];
  const int n = draw(&s->common, kMail), left = (p->rank + p->size - 1) % p->size;
  for (int i = 0; i < n; ++i) sent[i] = p->rank * kMail + i;
  MPI_Irecv(got, n, MPI_INT, left, 7, p->comm, &requests[0]);
  MPI_Isend(sent, n, MPI_INT, (p->rank + 1) % p->size, 7, p->comm, &requests[1]);
  for (int calls = draw(&s->common, 5); calls > 0; --calls)
    call_blocking(p, draw(&s->common, 7));
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += got[i] != left * kMail + i;
  CHECK(wrong == 0);
}

/* One of the calls that complete requests; returns how many, their places in "done". */
static int complete_some(int how, int n, MPI_Request* requests, int* done) {
  MPI_Status statuses[kMost];
  int flag = 1, some = n;
  for (int i = 0; i < n; ++i) done[i] = i;
  switch (how) {
    case 0:
      MPI_Wait(requests, statuses);
      return 1;
    case 1:
      MPI_Test(requests, &flag, statuses);
      return flag;
    case 2:
      MPI_Waitall(n, requests, statuses);
      return n;
    case 3:
      MPI_Testall(n, requests, &flag, statuses);
      return flag ? n : 0;
    case 4:
      MPI_Waitany(n, requests, done, statuses);
      return 1;
    case 5:
      MPI_Testany(n, requests, done, &flag, statuses);
      return flag;
    case 6:
      MPI_Waitsome(n, requests, &some, done, statuses);
      return some;
    default:
      MPI_Testsome(n, requests, &some, done, statuses);
      return some;
  }
}

static int choose_in_flight(storm* s, int* chosen, int* left) {
  int n = 0;
  *left = 0;
  for (int i = 0; i < s->count; ++i) {
    if (!is_in_flight(s, i)) continue;
    ++*left;
    if (draw(&s->own, 2)) chosen[n++] = i;
  }
  return n;
}

static void complete_all(storm* s) {
  int chosen[kMost], done[kMost], left = 0;
  MPI_Request requests[kMost];
  do {
    const int n = choose_in_flight(s, chosen, &left);
    if (n == 0) continue;
    pause_a_bit(&s->own);
    for (int i = 0; i < n; ++i) requests[i] = s->requests[chosen[i]];
    const int ended = complete_some(draw(&s->own, 8), n, requests, done);
    for (int i = 0; i < n; ++i) s->requests[chosen[i]] = requests[i];
    CHECK(ended >= 0 && ended <= n);
    for (int i = 0; i < ended; ++i) note_end(s, chosen[done[i]]);
  } while (left > 0);
}

/* The next runs of the persistent ones; returns how many there are. */
static int start_again(storm* s) {
  MPI_Request requests[kMost];
  int again[kMost], n = 0;
  for (int i = 0; i < s->count; ++i) {
    collective* o = s->all[i];
    if (!o || o->runs_left == 0) continue;
    fill(o);
    o->is_complete = 0;
    requests[n] = s->requests[i];
    again[n++] = i;
  }
  MPI_Startall(n, requests);
  for (int i = 0; i < n; ++i) s->requests[again[i]] = requests[i];
  return n;
}

static void end_round(storm* s) {
  for (int i = 0; i < s->count; ++i) {
    if (!s->all[i]) continue;
    if (s->all[i]->is_persistent) MPI_Request_free(&s->requests[i]);
    free_collective(s->all[i]);
  }
}

static void* run(void* of_a_storm) {
  storm* s = of_a_storm;
  for (int round = 0; round < s->rounds; ++round) {
    draw_round(s);
    start_all(s);
    if (draw(&s->common, 2)) do_something_else(s);
    do complete_all(s);
    while (start_again(s) > 0);
    end_round(s);
  }
  return NULL;
}

static void set_storm(storm* s, int rounds, unsigned seed) {
  s->rounds = rounds;
  s->common = scramble(seed);
  s->own = hash(seed, (unsigned)world_rank, 3);
  set_places(s->places, hash(seed, 1, 1));
}

int main(int argc, char** argv) {
  static storm storms[kThreads];
  pthread_t threads[kThreads];
  const int rounds = argc > 1 ? atoi(argv[1]) : 20;
  int count = argc > 3 ? atoi(argv[3]) : 1;
  if (count > kThreads) count = kThreads;
  int provided;
  MPI_Init_thread(&argc, &argv, count > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  const int has_seed = argc > 2 && strcmp(argv[2], "time") != 0;
  unsigned seed = has_seed ? (unsigned)atol(argv[2]) : (unsigned)time(NULL);
  MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
  make_types_and_operations();
  for (int i = 0; i < count; ++i)
    set_storm(&storms[i], rounds, seed + (unsigned)i * 1000003u);
  for (int i = 1; i < count; ++i) pthread_create(&threads[i], NULL, run, &storms[i]);
  run(&storms[0]);
  for (int i = 1; i < count; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < kPlaces; ++k)
      if (storms[i].places[k].comm != MPI_COMM_NULL)
        MPI_Comm_free(&storms[i].places[k].comm);
  free_types_and_operations();
  if (check_failures) printf("seed %u, rounds %d, threads %d\n", seed, rounds, count);
  return finish();
}

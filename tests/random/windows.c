/* One-sided operations between random datatypes on both sides: put, get, accumulate and their request
   forms, in epochs of fences, locks, and post and start; whole windows and buffers are compared with the
   model, gaps included.
   usage: windows [SEED [ROUNDS]]; the seed is printed when something is wrong. */
#include <time.h>

#include "type.h"

enum { kMostRanks = 32, kMostOps = 4 };
enum kind { kPut, kGet, kReplace, kSum, kFetch, kKinds };

/* One operation. At the target it has a part of the window of its own, so that order does not count. */
typedef struct {
  int origin, target, is_request;
  enum kind kind;
  unit u;
  unsigned long long key;
  buffer here, there, result; /* `there` is a model of the part of the window */
  int here_count, there_count;
  long at; /* of the part, in the window */
} operation;

static int rank, size, failures;
static unsigned long long seed;
static operation all[kMostRanks * kMostOps];
static int count;

static unsigned long long window_key(const operation* o) { return o->key + 2; }

/* ---- the plan: all ranks make all of it ---- */

static void plan(int round, long* window_bytes) {
  source s = seeded(seed, (unsigned long long)round, 4);
  long used[kMostRanks] = {0};
  count = 0;
  for (int r = 0; r < size; ++r)
    for (long n = draw(&s, 0, kMostOps); n > 0; --n) {
      operation* const o = &all[count++];
      memset(o, 0, sizeof *o);
      o->origin = r;
      o->target = (int)draw(&s, 0, size - 1);
      o->kind = (enum kind)draw(&s, 0, kKinds - 1);
      o->is_request = one_in(&s, 3);
      o->key = next_number(&s);
      o->u = random_unit(&s);
      if (o->kind >= kReplace) o->u.count = 1; /* of one predefined type */
      if (o->kind >= kSum) {
        o->u.basic[0] = MPI_INT;
        o->u.bytes[0] = 4;
      }
      type_model a, b;
      random_pair(&o->u, one_in(&s, 5) ? 100000 : 2000, &s, &a, &o->here_count, &b,
                  &o->there_count);
      if (o->kind == kFetch) {
        source again = seeded(o->key, 5, 5);
        type_model c = random_type(&o->u, 0, &again);
        o->result = make_buffer(c, (int)(size_of(&b) * o->there_count / 4), o->key + 3);
      }
      o->here = make_buffer(a, o->here_count, o->key + 1);
      o->there = make_buffer(b, o->there_count, window_key(o));
      o->at = used[o->target]; /* displacements must not be negative */
      if (o->there.low > 0) o->at += o->there.low;
      used[o->target] = (o->at + o->there.room + 63) & ~63L;
    }
  for (int r = 0; r < size; ++r) window_bytes[r] = used[r];
}

/* The parts begin at a multiple of 64 and what is before the base belongs to them. */
static MPI_Aint displacement(const operation* o) { return o->at - o->there.low; }

/* ---- what is done ---- */

static void issue(operation* o, MPI_Win win, int epoch_allows_requests) {
  void* const here = base_of(&o->here);
  const MPI_Datatype a = o->here.type.handle, b = o->there.type.handle;
  const int n = o->here_count, m = o->there_count, to = o->target;
  const MPI_Aint at = displacement(o);
  MPI_Request request = MPI_REQUEST_NULL;
  const int r = o->is_request && epoch_allows_requests;
  switch (o->kind) {
    case kPut:
      if (r)
        MPI_Rput(here, n, a, to, at, m, b, win, &request);
      else
        MPI_Put(here, n, a, to, at, m, b, win);
      break;
    case kGet:
      if (r)
        MPI_Rget(here, n, a, to, at, m, b, win, &request);
      else
        MPI_Get(here, n, a, to, at, m, b, win);
      break;
    case kFetch:
      if (r)
        MPI_Rget_accumulate(here, n, a, base_of(&o->result), o->result.count, MPI_INT,
                            to, at, m, b, MPI_SUM, win, &request);
      else
        MPI_Get_accumulate(here, n, a, base_of(&o->result), o->result.count, MPI_INT,
                           to, at, m, b, MPI_SUM, win);
      break;
    default:
      if (r)
        MPI_Raccumulate(here, n, a, to, at, m, b,
                        o->kind == kSum ? MPI_SUM : MPI_REPLACE, win, &request);
      else
        MPI_Accumulate(here, n, a, to, at, m, b,
                       o->kind == kSum ? MPI_SUM : MPI_REPLACE, win);
  }
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void run_epochs(MPI_Win win, int how) {
  MPI_Group group;
  if (how == 0) MPI_Win_fence(0, win);
  if (how == 1) MPI_Win_lock_all(0, win);
  if (how == 3) {
    MPI_Win_get_group(win, &group);
    MPI_Win_post(group, 0, win);
    MPI_Win_start(group, 0, win);
  }
  for (int i = 0; i < count; ++i) {
    if (all[i].origin != rank) continue;
    const int kind_of_lock = i % 2 == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
    if (how == 2) MPI_Win_lock(kind_of_lock, all[i].target, 0, win);
    issue(&all[i], win, how == 1 || how == 2);
    if (how == 1 && i % 3 == 0) MPI_Win_flush(all[i].target, win);
    if (how == 2) MPI_Win_unlock(all[i].target, win);
  }
  if (how == 0) MPI_Win_fence(0, win);
  if (how == 1) MPI_Win_unlock_all(win);
  if (how == 3) {
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Group_free(&group);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- what should have come of it ---- */

static void add_int(unsigned char* to, const unsigned char* value) {
  unsigned a, b; /* that overflow is wanted */
  memcpy(&a, to, 4);
  memcpy(&b, value, 4);
  a += b;
  memcpy(to, &a, 4);
}

static void complain(const operation* o, const char* where) {
  ++failures;
  printf("seed %llu: kind %d, request %d, %d to %d, %ld bytes: %s\n", seed,
         (int)o->kind, o->is_request, o->origin, o->target, o->here.bytes, where);
}

static void verify_target(const operation* o, const unsigned char* window) {
  unsigned char* const wanted = as_made(&o->there, window_key(o));
  if (o->kind == kPut || o->kind == kReplace)
    expect_bytes(wanted, &o->there, 0, &o->here, o->key + 1, o->here.bytes);
  if (o->kind == kSum || o->kind == kFetch)
    for (long i = 0; i < o->here.bytes; i += 4) {
      unsigned char value[4];
      for (int k = 0; k < 4; ++k) value[k] = pattern(o->key + 1, o->here.place[i + k]);
      add_int(wanted + o->there.place[i], value);
    }
  buffer seen = o->there;
  seen.memory = (unsigned char*)window + o->at;
  if (!is_as_wanted(&seen, wanted)) complain(o, "at the target");
}

static void verify_origin(operation* o) {
  unsigned char* wanted = as_made(&o->here, o->key + 1);
  if (o->kind == kGet)
    expect_bytes(wanted, &o->here, 0, &o->there, window_key(o), o->here.bytes);
  if (!is_as_wanted(&o->here, wanted)) complain(o, "at the origin");
  if (o->kind != kFetch) return;
  wanted = as_made(&o->result, o->key + 3);
  expect_bytes(wanted, &o->result, 0, &o->there, window_key(o), o->there.bytes);
  if (!is_as_wanted(&o->result, wanted)) complain(o, "in the result");
}

static void one_round(int round) {
  long bytes[kMostRanks];
  plan(round, bytes);
  source s = seeded(seed, (unsigned long long)round, 6);
  const int how = (int)draw(&s, 0, 3), flavour = (int)draw(&s, 0, 1);
  MPI_Win win;
  unsigned char* window = NULL;
  if (flavour == 0)
    MPI_Win_allocate(bytes[rank], 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
  else {
    MPI_Alloc_mem(bytes[rank] + 1, MPI_INFO_NULL, &window);
    MPI_Win_create(window, bytes[rank], 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  }
  if (how != 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  for (int i = 0; i < count; ++i)
    if (all[i].target == rank)
      memcpy(window + all[i].at, all[i].there.memory, (size_t)all[i].there.room);
  if (how != 0) MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  run_epochs(win, how);
  if (how != 0) MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  for (int i = 0; i < count; ++i) {
    if (all[i].target == rank) verify_target(&all[i], window);
    if (all[i].origin == rank) verify_origin(&all[i]);
  }
  if (how != 0) MPI_Win_unlock(rank, win);
  MPI_Win_free(&win);
  if (flavour == 1) MPI_Free_mem(window);
  for (int i = 0; i < count; ++i) {
    drop_buffer(&all[i].here);
    drop_buffer(&all[i].there);
    if (all[i].kind == kFetch) drop_buffer(&all[i].result);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (unsigned long long)time(NULL);
  MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  const int rounds = argc > 2 ? atoi(argv[2]) : 20;
  if (size > kMostRanks) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int round = 0; round < rounds; ++round) one_round(round);
  int sum = 0;
  MPI_Reduce(&failures, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && sum == 0) printf("No Errors\n");
  if (rank == 0 && sum != 0) printf("%d errors, seed %llu\n", sum, seed);
  MPI_Finalize();
  return failures != 0;
}

/* A scene with a window, whose owners compute meanwhile. Part of progress.c. */

enum { kTicket, kSum, kFirstSlot };
enum sync { kFence, kLock, kLockAll, kPscw, kSyncs };

/* What this rank has done at each target, and what must be there. */
typedef struct {
  MPI_Win win;
  long* memory;
  long slots; /* of each origin */
  long* put[kMostRanks];
  long taken[kMostRanks], added[kMostRanks], last_ticket[kMostRanks];
} window;

static MPI_Aint slot_of(const scene* s, const window* w) {
  return kFirstSlot + s->rank * w->slots;
}

static void wait_here(scene* s, MPI_Request* request) {
  MPI_Status status;
  finish(1, request, &status, &s->own);
}

/* What may only be done where a flush is allowed. */
static void look_back(scene* s, window* w, int target) {
  long* const back = room((size_t)w->slots * 8);
  MPI_Request request;
  long ticket = -1;
  const long one = 1;
  MPI_Win_flush(target, w->win);
  if (one_in(&s->own, 2)) {
    MPI_Get(back, (int)w->slots, MPI_LONG, target, slot_of(s, w), (int)w->slots,
            MPI_LONG, w->win);
    pause_a_little(&s->own);
    MPI_Win_flush(target, w->win);
  } else {
    MPI_Rget(back, (int)w->slots, MPI_LONG, target, slot_of(s, w), (int)w->slots,
             MPI_LONG, w->win, &request);
    wait_here(s, &request);
  }
  for (long i = 0; i < w->slots; ++i)
    if (back[i] != w->put[target][i]) {
      fail(s, "a word put", back[i], w->put[target][i]);
      break;
    }
  MPI_Fetch_and_op(&one, &ticket, MPI_LONG, target, kTicket, MPI_SUM, w->win);
  MPI_Win_flush(target, w->win);
  ++w->taken[target];
  if (ticket < w->last_ticket[target] || (w->taken[target] > 1 && ticket == 0))
    fail(s, "a ticket", ticket, w->last_ticket[target] + 1);
  w->last_ticket[target] = ticket;
  free(back);
}

static void put_something(scene* s, window* w, int target, int is_passive) {
  MPI_Request request = MPI_REQUEST_NULL;
  long* const values = w->put[target];
  for (long i = 0; i < w->slots; ++i) values[i] = (long)next_number(&s->own);
  if (is_passive && one_in(&s->own, 3))
    MPI_Rput(values, (int)w->slots, MPI_LONG, target, slot_of(s, w), (int)w->slots,
             MPI_LONG, w->win, &request);
  else
    MPI_Put(values, (int)w->slots, MPI_LONG, target, slot_of(s, w), (int)w->slots,
            MPI_LONG, w->win);
  if (request != MPI_REQUEST_NULL) wait_here(s, &request);
}

static void use_target(scene* s, window* w, int target) {
  static const long one = 1;
  long amounts[3], ignored[2];
  MPI_Request request;
  put_something(s, w, target, 1);
  for (int i = (int)draw(&s->own, 0, 3); i > 0; --i) {
    MPI_Fetch_and_op(&one, &ignored[0], MPI_LONG, target, kTicket, MPI_SUM, w->win);
    ++w->taken[target];
    MPI_Win_flush_local(target, w->win);
  }
  for (int i = 0; i < 3; ++i) amounts[i] = draw(&s->own, 1, 1000);
  MPI_Accumulate(&amounts[0], 1, MPI_LONG, target, kSum, 1, MPI_LONG, MPI_SUM, w->win);
  MPI_Raccumulate(&amounts[1], 1, MPI_LONG, target, kSum, 1, MPI_LONG, MPI_SUM, w->win,
                  &request);
  pause_a_little(&s->own);
  wait_here(s, &request);
  MPI_Get_accumulate(&amounts[2], 1, MPI_LONG, &ignored[1], 1, MPI_LONG, target, kSum,
                     1, MPI_LONG, MPI_SUM, w->win);
  look_back(s, w, target);
  w->added[target] += amounts[0] + amounts[1] + amounts[2];
}

/* Each rank is a target of the `reach` ones before it. In an active epoch operations end with it, so that
   what they read or write has to live as long. */
static void active(scene* s, window* w, int is_fence) {
  const int reach = (int)draw(&s->common, 1, s->size);
  int to[kMostRanks], from[kMostRanks], flag = 0;
  long tickets[kMostRanks], amounts[kMostRanks];
  const long one = 1;
  MPI_Group all, targets, origins;
  MPI_Comm_group(s->comm, &all);
  for (int i = 0; i < reach; ++i) {
    to[i] = (s->rank + 1 + i) % s->size;
    from[i] = (s->rank + 2 * s->size - 1 - i) % s->size;
  }
  MPI_Group_incl(all, reach, to, &targets);
  MPI_Group_incl(all, reach, from, &origins);
  if (is_fence) {
    MPI_Win_fence(0, w->win);
  } else {
    MPI_Win_post(origins, 0, w->win);
    pause_a_little(&s->own);
    MPI_Win_start(targets, 0, w->win);
  }
  for (int i = 0; i < reach; ++i) {
    put_something(s, w, to[i], 0);
    MPI_Fetch_and_op(&one, &tickets[i], MPI_LONG, to[i], kTicket, MPI_SUM, w->win);
    amounts[i] = draw(&s->own, 1, 1000);
    MPI_Accumulate(&amounts[i], 1, MPI_LONG, to[i], kSum, 1, MPI_LONG, MPI_SUM, w->win);
    ++w->taken[to[i]];
    w->added[to[i]] += amounts[i];
    pause_a_little(&s->own);
  }
  if (is_fence) {
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
  } else {
    MPI_Win_complete(w->win);
    pause_a_little(&s->own);
    if (one_in(&s->own, 2)) {
      MPI_Win_wait(w->win);
    } else {
      for (; !flag; rest(&s->own)) MPI_Win_test(w->win, &flag);
    }
  }
  for (int i = 0; i < reach; ++i)
    if (tickets[i] < w->last_ticket[to[i]]) fail(s, "an early ticket", tickets[i], -1);
  MPI_Group_free(&all);
  MPI_Group_free(&targets);
  MPI_Group_free(&origins);
}

static void passive(scene* s, window* w, int is_lock_all) {
  const int n = (int)draw(&s->own, 0, 4);
  if (is_lock_all) MPI_Win_lock_all(0, w->win);
  for (int i = 0; i < n; ++i) {
    const int target = (int)draw(&s->own, 0, s->size - 1);
    const int how = one_in(&s->own, 3) ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
    if (!is_lock_all) MPI_Win_lock(how, target, 0, w->win);
    use_target(s, w, target);
    if (is_lock_all && one_in(&s->own, 2)) MPI_Win_flush_all(w->win);
    if (!is_lock_all) MPI_Win_unlock(target, w->win);
    pause_a_little(&s->own);
  }
  if (is_lock_all) MPI_Win_unlock_all(w->win);
}

static void check_window(scene* s, window* w) {
  long all_taken[kMostRanks], all_added[kMostRanks];
  MPI_Allreduce(w->taken, all_taken, s->size, MPI_LONG, MPI_SUM, s->comm);
  MPI_Allreduce(w->added, all_added, s->size, MPI_LONG, MPI_SUM, s->comm);
  MPI_Win_lock(MPI_LOCK_SHARED, s->rank, 0, w->win);
  expect(s, "the number of tickets", w->memory[kTicket], all_taken[s->rank]);
  expect(s, "the sum", w->memory[kSum], all_added[s->rank]);
  MPI_Win_unlock(s->rank, w->win);
  for (int target = 0; target < s->size; ++target) {
    long* const back = room((size_t)w->slots * 8);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win);
    MPI_Get(back, (int)w->slots, MPI_LONG, target, slot_of(s, w), (int)w->slots,
            MPI_LONG, w->win);
    MPI_Win_unlock(target, w->win);
    for (long i = 0; i < w->slots; ++i)
      if (back[i] != w->put[target][i]) {
        fail(s, "a word in the end", back[i], w->put[target][i]);
        break;
      }
    free(back);
  }
}

static void windows(scene* s) {
  window w = {0};
  MPI_Request request;
  w.slots = one_in(&s->common, 2) ? draw(&s->common, 1, 8) : draw(&s->common, 1, 4000);
  const MPI_Aint bytes = (kFirstSlot + s->size * w.slots) * 8;
  const int is_created = one_in(&s->common, 2), steps = (int)draw(&s->common, 1, 4);
  if (is_created) {
    w.memory = room((size_t)bytes);
    MPI_Win_create(w.memory, bytes, 8, MPI_INFO_NULL, s->comm, &w.win);
  } else {
    MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, s->comm, &w.memory, &w.win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, s->rank, 0, w.win);
    memset(w.memory, 0, (size_t)bytes);
    MPI_Win_unlock(s->rank, w.win);
  }
  for (int target = 0; target < s->size; ++target)
    w.put[target] = room((size_t)w.slots * 8);
  for (int step = 0; step < steps; ++step) {
    MPI_Ibarrier(s->comm, &request);
    pause_a_little(&s->own);
    wait_here(s, &request);
    const long sync = draw(&s->common, 0, kSyncs - 1);
    if (sync == kFence || sync == kPscw)
      active(s, &w, sync == kFence);
    else
      passive(s, &w, sync == kLockAll);
  }
  pause_a_little(&s->own);
  MPI_Barrier(s->comm);
  check_window(s, &w);
  pause_a_little(&s->own);
  MPI_Win_free(&w.win);
  for (int target = 0; target < s->size; ++target) free(w.put[target]);
  if (is_created) free(w.memory);
}

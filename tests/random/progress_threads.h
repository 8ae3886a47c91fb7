/* Scenes with kernel threads, which wait in calls while the main thread of their rank computes, or plays
   another scene. Part of progress.c. */

enum { kMostThreads = 2, kMostAsked = 12, kAsk = 20, kAnswer = 40 };
enum serve_mode {
  kByRecv,
  kByProbe,
  kByMprobe,
  kByWait,
  kByTest,
  kByIprobe,
  kServeModes
};

typedef struct {
  scene s;
  int number, n, mode;
  int from[kMostAsked], to[kMostAsked], thread[kMostAsked]; /* the questions */
} helper;

static int take_question(scene* s, int mode, int tag, long long* ask,
                         MPI_Status* status) {
  MPI_Request request;
  MPI_Message handle;
  int flag = 0;
  switch (mode) {
    case kByRecv:
      return MPI_Recv(ask, 2, MPI_LONG_LONG, MPI_ANY_SOURCE, tag, s->other, status);
    case kByProbe:
      MPI_Probe(MPI_ANY_SOURCE, tag, s->other, status);
      return MPI_Recv(ask, 2, MPI_LONG_LONG, status->MPI_SOURCE, tag, s->other, status);
    case kByMprobe:
      MPI_Mprobe(MPI_ANY_SOURCE, tag, s->other, &handle, status);
      return MPI_Mrecv(ask, 2, MPI_LONG_LONG, &handle, status);
    case kByIprobe:
      while (!flag) {
        MPI_Iprobe(MPI_ANY_SOURCE, tag, s->other, &flag, status);
        if (!flag) rest(&s->own);
      }
      return MPI_Recv(ask, 2, MPI_LONG_LONG, status->MPI_SOURCE, tag, s->other, status);
    default:
      MPI_Irecv(ask, 2, MPI_LONG_LONG, MPI_ANY_SOURCE, tag, s->other, &request);
      if (mode == kByWait) return MPI_Wait(&request, status);
      while (!flag) {
        MPI_Test(&request, &flag, status);
        if (!flag) rest(&s->own);
      }
      return 0;
  }
}

static void* serve(void* argument) {
  helper* const h = argument;
  long long ask[2];
  MPI_Status status;
  for (int i = 0; i < h->n; ++i) {
    if (h->to[i] != h->s.rank || h->thread[i] != h->number) continue;
    const long long entered = now_ns();
    take_question(&h->s, h->mode, h->s.tag + kAsk + h->number, ask, &status);
    if (h->mode <= kByWait)
      note_wait(h->mode == kByProbe || h->mode == kByMprobe ? 4
                : h->mode == kByRecv                        ? 3
                                                            : 6,
                entered, ask[0]);
    expect(&h->s, "who asks a thread", status.MPI_SOURCE, h->from[ask[1]]);
    expect(&h->s, "whom it asks", h->to[ask[1]], h->s.rank);
    ask[0] = now_ns();
    MPI_Send(ask, 2, MPI_LONG_LONG, status.MPI_SOURCE, h->s.tag + kAnswer + (int)ask[1],
             h->s.other);
  }
  return NULL;
}

static void* ask_all(void* argument) {
  helper* const h = argument;
  for (int i = 0; i < h->n; ++i) {
    long long ask[2] = {0, i}, answer[2] = {0, -1};
    if (h->from[i] != h->s.rank) continue;
    pause_a_little(&h->s.own);
    ask[0] = now_ns();
    MPI_Send(ask, 2, MPI_LONG_LONG, h->to[i], h->s.tag + kAsk + h->thread[i],
             h->s.other);
    const long long entered = now_ns();
    MPI_Recv(answer, 2, MPI_LONG_LONG, h->to[i], h->s.tag + kAnswer + i, h->s.other,
             MPI_STATUS_IGNORE);
    note_wait(5, entered, answer[0]);
    expect(&h->s, "an answer", (long)answer[1], i);
  }
  return NULL;
}

static void start(pthread_t* thread, void* (*what)(void*), helper* h, int number) {
  h->number = number;
  h->s.own =
      seeded(h->s.key, (unsigned long long)world_rank, 50 + (unsigned long long)number);
  h->mode = (int)draw(&h->s.own, 0, kServeModes - 1);
  if (pthread_create(thread, NULL, what, h) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
}

static void play_one(scene* s, int which);
enum { kPlainScenes = 10 };

/* Threads answer what others ask; the main thread computes, asks, or plays. */
static void servants(scene* s) {
  helper plan = {.s = *s}, helpers[kMostThreads + 1];
  pthread_t threads[kMostThreads + 1];
  plan.n = (int)draw(&s->common, 1, kMostAsked);
  const int count = (int)draw(&s->common, 1, kMostThreads);
  for (int i = 0; i < plan.n; ++i) {
    plan.from[i] = (int)draw(&s->common, 0, s->size - 1);
    plan.to[i] = (int)draw(&s->common, 0, s->size - 1);
    plan.thread[i] = (int)draw(&s->common, 0, count - 1);
  }
  const int plays = one_in(&s->common, 2),
            which = (int)draw(&s->common, 0, kPlainScenes - 1);
  const int asks_itself = !plays && one_in(&s->own, 2);
  for (int i = 0; i <= kMostThreads; ++i) helpers[i] = plan;
  for (int i = 0; i < count; ++i) start(&threads[i], &serve, &helpers[i], i);
  if (!asks_itself)
    start(&threads[kMostThreads], &ask_all, &helpers[kMostThreads], kMostThreads);
  if (plays) play_one(s, which);
  if (asks_itself) ask_all(&plan);
  compute(draw(&s->own, 0, one_in(&s->own, 3) ? 20000 : 2000));
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  if (!asks_itself) pthread_join(threads[kMostThreads], NULL);
}

typedef struct {
  scene s;
  int which;
} second_scene;
static void* play_there(void* argument) {
  second_scene* const second = argument;
  play_one(&second->s, second->which);
  return NULL;
}

/* A thread plays a scene of its own, the main thread computes or plays another one. */
static void two_scenes(scene* s) {
  second_scene second = {.s = *s, .which = (int)draw(&s->common, 0, kPlainScenes - 1)};
  pthread_t thread;
  second.s.comm = s->other;
  second.s.key += 1;
  second.s.common = seeded(s->key, 60, 0);
  second.s.own = seeded(s->key, 61, (unsigned long long)world_rank);
  const int plays = one_in(&s->common, 2),
            which = (int)draw(&s->common, 0, kPlainScenes - 1);
  if (pthread_create(&thread, NULL, &play_there, &second) != 0)
    MPI_Abort(MPI_COMM_WORLD, 2);
  if (plays)
    play_one(s, which);
  else
    compute(draw(&s->own, 0, 30000));
  pthread_join(thread, NULL);
}

/* Scenes of messages between two. Part of progress.c. */

enum { kMostMessages = 14, kTag = 20 };
enum receive_mode {
  kIrecv,
  kIrecvAny,
  kRecv,
  kRecvAny,
  kProbe,
  kMprobe,
  kImprobe,
  kIprobe,
  kReceiveModes
};

typedef struct {
  int from, to, tag, mode;
  long words;
  unsigned long long key;
  unsigned *out, *in;
  MPI_Request sent, received;
} message;

static long random_words(source* s) {
  return one_in(s, 2)   ? draw(s, 0, 16)
         : one_in(s, 2) ? draw(s, 0, 2500)
                        : draw(s, 0, 60000);
}

/* The first two words of those that are long enough are the time at which it was sent. */
enum { kStampWords = 2 };
static long stamp_words(long words) { return words >= kStampWords ? kStampWords : 0; }
static void stamp(unsigned* words, long n) {
  const long long now = now_ns();
  if (stamp_words(n) != 0) memcpy(words, &now, sizeof now);
}
static void note_message(int kind, long long entered, const unsigned* words, long n) {
  long long sent;
  memcpy(&sent, words, sizeof sent);
  if (n >= kStampWords && n < 500) note_wait(kind, entered, sent);
}

static void start_send(scene* s, message* m) {
  void* const data = m->out = room((size_t)m->words * 4);
  fill(m->out, m->words, m->key);
  stamp(m->out, m->words);
  if (one_in(&s->own, 4))
    MPI_Issend(data, (int)m->words, MPI_UNSIGNED, m->to, m->tag, s->comm, &m->sent);
  else
    MPI_Isend(data, (int)m->words, MPI_UNSIGNED, m->to, m->tag, s->comm, &m->sent);
}

static void receive_now(scene* s, message* m) {
  MPI_Status status;
  MPI_Message handle;
  const int n = (int)m->words;
  int flag = 0;
  const long long entered = now_ns();
  switch (m->mode) {
    case kRecv:
      MPI_Recv(m->in, n, MPI_UNSIGNED, m->from, m->tag, s->comm, &status);
      break;
    case kRecvAny:
      MPI_Recv(m->in, n, MPI_UNSIGNED, MPI_ANY_SOURCE, m->tag, s->comm, &status);
      break;
    case kProbe:
      MPI_Probe(MPI_ANY_SOURCE, m->tag, s->comm, &status);
      expect(s, "the source probed", status.MPI_SOURCE, m->from);
      MPI_Recv(m->in, n, MPI_UNSIGNED, m->from, m->tag, s->comm, &status);
      break;
    case kMprobe:
      MPI_Mprobe(m->from, m->tag, s->comm, &handle, &status);
      pause_a_little(&s->own);
      MPI_Mrecv(m->in, n, MPI_UNSIGNED, &handle, &status);
      break;
    case kImprobe:
      while (!flag) {
        MPI_Improbe(MPI_ANY_SOURCE, m->tag, s->comm, &flag, &handle, &status);
        if (!flag) rest(&s->own);
      }
      MPI_Imrecv(m->in, n, MPI_UNSIGNED, &handle, &m->received);
      return;
    default:
      while (!flag) {
        MPI_Iprobe(m->from, m->tag, s->comm, &flag, &status);
        if (!flag) rest(&s->own);
      }
      MPI_Irecv(m->in, n, MPI_UNSIGNED, m->from, m->tag, s->comm, &m->received);
      return;
  }
  if (m->mode < kMprobe)
    note_message(m->mode == kProbe ? 1 : 0, entered, m->in, m->words);
  expect(s, "the source", status.MPI_SOURCE, m->from);
  expect(s, "the tag", status.MPI_TAG, m->tag);
}

static void exchange(scene* s) {
  message all[kMostMessages];
  MPI_Request open[2 * kMostMessages];
  MPI_Status statuses[2 * kMostMessages];
  int open_count = 0;
  const int n = (int)draw(&s->common, 1, kMostMessages);
  const int is_short = one_in(&s->common, 2);
  for (int i = 0; i < n; ++i) {
    all[i] = (message){.from = (int)draw(&s->common, 0, s->size - 1),
                       .to = (int)draw(&s->common, 0, s->size - 1),
                       .tag = s->tag + kTag + i,
                       .mode = (int)draw(&s->common, 0, kReceiveModes - 1),
                       .words = random_words(&s->common),
                       .key = key_of(s, i, 0),
                       .sent = MPI_REQUEST_NULL,
                       .received = MPI_REQUEST_NULL};
    if (is_short) all[i].words = all[i].words % 17;
    if (all[i].to == s->rank) all[i].in = room((size_t)all[i].words * 4);
  }
  const int sends_first = one_in(&s->own, 2);
  for (int i = 0; i < n && sends_first; ++i)
    if (all[i].from == s->rank) start_send(s, &all[i]);
  pause_a_little(&s->own);
  for (int i = 0; i < n; ++i)
    if (all[i].to == s->rank && all[i].mode <= kIrecvAny)
      MPI_Irecv(all[i].in, (int)all[i].words, MPI_UNSIGNED,
                all[i].mode == kIrecv ? all[i].from : MPI_ANY_SOURCE, all[i].tag,
                s->comm, &all[i].received);
  for (int i = 0; i < n && !sends_first; ++i)
    if (all[i].from == s->rank) {
      start_send(s, &all[i]);
      pause_a_little(&s->own);
    }
  for (int i = 0; i < n; ++i)
    if (all[i].to == s->rank && all[i].mode > kIrecvAny) receive_now(s, &all[i]);
  pause_a_little(&s->own);
  for (int i = 0; i < n; ++i) {
    if (all[i].received != MPI_REQUEST_NULL) open[open_count++] = all[i].received;
    if (all[i].sent != MPI_REQUEST_NULL) open[open_count++] = all[i].sent;
  }
  finish(open_count, open, statuses, &s->own);
  for (int i = 0; i < n; ++i) {
    if (all[i].to == s->rank)
      verify(s, "a word", all[i].in, stamp_words(all[i].words), all[i].words,
             all[i].key);
    free(all[i].in);
    free(all[i].out);
  }
}

/* Round and round, by blocking calls: whoever is late delays all. */
static void ring(scene* s) {
  const int laps = (int)draw(&s->common, 1, 30), lazy = one_in(&s->common, 3);
  const long words = one_in(&s->common, 3) ? random_words(&s->common) : 4;
  const int right = (s->rank + 1) % s->size, left = (s->rank + s->size - 1) % s->size;
  unsigned* const out = room((size_t)words * 4);
  unsigned* const in = room((size_t)words * 4);
  for (int lap = 0; lap < laps; ++lap) {
    fill(out, words, key_of(s, lap, s->rank));
    stamp(out, words);
    if (lazy) pause_a_little(&s->own);
    const long long entered = now_ns();
    MPI_Sendrecv(out, (int)words, MPI_UNSIGNED, right, s->tag, in, (int)words,
                 MPI_UNSIGNED, left, s->tag, s->comm, MPI_STATUS_IGNORE);
    note_message(7, entered, in, words);
    verify(s, "a word in the ring", in, stamp_words(words), words,
           key_of(s, lap, left));
  }
  free(out);
  free(in);
}

/* Rank 0 serves whoever asks; the others ask, compute, and wait for the answer. */
static void server(scene* s) {
  const int questions = (int)draw(&s->common, 1, 8);
  long long ask[2] = {0, 0};
  MPI_Status status;
  if (s->rank != 0) {
    for (int i = 0; i < questions; ++i) {
      MPI_Request request;
      pause_a_little(&s->own);
      long long answer[2] = {0, 0};
      MPI_Irecv(answer, 2, MPI_LONG_LONG, 0, s->tag + 3, s->comm, &request);
      ask[0] = now_ns();
      ask[1] = s->rank * 1000 + i;
      MPI_Send(ask, 2, MPI_LONG_LONG, 0, s->tag + 2, s->comm);
      pause_a_little(&s->own);
      const long long entered = now_ns();
      if (one_in(&s->own, 2))
        MPI_Wait(&request, &status);
      else
        finish(1, &request, &status, &s->own);
      note_wait(5, entered, answer[0]);
      expect(s, "the answer", (long)answer[1], (long)ask[1] + 1);
    }
    return;
  }
  for (int i = 0; i < questions * (s->size - 1); ++i) {
    const int probes = one_in(&s->own, 2);
    const long long entered = now_ns();
    if (probes) MPI_Probe(MPI_ANY_SOURCE, s->tag + 2, s->comm, &status);
    MPI_Recv(ask, 2, MPI_LONG_LONG, probes ? status.MPI_SOURCE : MPI_ANY_SOURCE,
             s->tag + 2, s->comm, &status);
    note_wait(2, entered, ask[0]);
    expect(s, "the questioner", (long)ask[1] / 1000, status.MPI_SOURCE);
    if (one_in(&s->own, 4)) pause_a_little(&s->own);
    ask[0] = now_ns();
    ++ask[1];
    MPI_Send(ask, 2, MPI_LONG_LONG, status.MPI_SOURCE, s->tag + 3, s->comm);
  }
}

/* A receive is taken back, or not: then it has its message. And one for which nothing is sent. */
static void cancel(scene* s) {
  const int to = (s->rank + 1) % s->size, from = (s->rank + s->size - 1) % s->size;
  const long words = draw(&s->common, 1, 40);
  unsigned in[40], out[40], none;
  MPI_Request request, never, sent;
  MPI_Status status;
  int is_cancelled = 0;
  memset(in, 0, sizeof in);
  MPI_Irecv(&none, 1, MPI_UNSIGNED, MPI_ANY_SOURCE, s->tag + 9, s->comm, &never);
  MPI_Irecv(in, 40, MPI_UNSIGNED, one_in(&s->own, 2) ? from : MPI_ANY_SOURCE,
            s->tag + 8, s->comm, &request);
  pause_a_little(&s->own);
  fill(out, words, key_of(s, s->rank, 0));
  MPI_Isend(out, (int)words, MPI_UNSIGNED, to, s->tag + 8, s->comm, &sent);
  pause_a_little(&s->own);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &is_cancelled);
  if (is_cancelled) MPI_Recv(in, 40, MPI_UNSIGNED, from, s->tag + 8, s->comm, &status);
  verify(s, "a word after a cancel", in, 0, words, key_of(s, from, 0));
  MPI_Cancel(&never);
  MPI_Wait(&never, &status);
  MPI_Test_cancelled(&status, &is_cancelled);
  expect(s, "cancelled", is_cancelled, 1);
  finish(1, &sent, &status, &s->own);
}

static void persistent(scene* s) {
  const int laps = (int)draw(&s->common, 1, 6);
  const int step = (int)draw(&s->common, 1, s->size);
  const int to = (s->rank + step) % s->size,
            from = (s->rank + s->size - step % s->size) % s->size;
  const long words = random_words(&s->common);
  unsigned* const out = room((size_t)words * 4);
  unsigned* const in = room((size_t)words * 4);
  MPI_Request all[2];
  MPI_Status statuses[2];
  MPI_Recv_init(in, (int)words, MPI_UNSIGNED, from, s->tag + 4, s->comm, &all[0]);
  if (one_in(&s->own, 3))
    MPI_Ssend_init(out, (int)words, MPI_UNSIGNED, to, s->tag + 4, s->comm, &all[1]);
  else
    MPI_Send_init(out, (int)words, MPI_UNSIGNED, to, s->tag + 4, s->comm, &all[1]);
  for (int lap = 0; lap < laps; ++lap) {
    fill(out, words, key_of(s, lap, s->rank));
    if (one_in(&s->own, 2)) {
      MPI_Startall(2, all);
    } else {
      const int first = (int)draw(&s->own, 0, 1);
      MPI_Start(&all[first]);
      pause_a_little(&s->own);
      MPI_Start(&all[1 - first]);
    }
    pause_a_little(&s->own);
    if (one_in(&s->own, 2)) {
      MPI_Waitall(2, all, statuses);
    } else {
      finish(1, &all[0], statuses, &s->own);
      finish(1, &all[1], statuses, &s->own);
    }
    verify(s, "a persistent word", in, 0, words, key_of(s, lap, from));
  }
  MPI_Request_free(&all[0]);
  MPI_Request_free(&all[1]);
  free(out);
  free(in);
}

static void partitioned(scene* s) {
  enum { kMost = 8 };
  const int laps = (int)draw(&s->common, 1, 4), parts = (int)draw(&s->common, 1, kMost);
  const long each =
      one_in(&s->common, 2) ? draw(&s->common, 1, 20) : draw(&s->common, 1, 6000);
  const int to = (s->rank + 1) % s->size, from = (s->rank + s->size - 1) % s->size;
  unsigned* const out = room((size_t)(each * parts) * 4);
  unsigned* const in = room((size_t)(each * parts) * 4);
  MPI_Request all[2];
  MPI_Status statuses[2];
  MPI_Psend_init(out, parts, each, MPI_UNSIGNED, to, s->tag + 5, s->comm, MPI_INFO_NULL,
                 &all[0]);
  MPI_Precv_init(in, parts, each, MPI_UNSIGNED, from, s->tag + 5, s->comm,
                 MPI_INFO_NULL, &all[1]);
  for (int lap = 0; lap < laps; ++lap) {
    fill(out, each * parts, key_of(s, lap, s->rank));
    MPI_Startall(2, all);
    for (int i = 0, first = (int)draw(&s->own, 0, parts - 1); i < parts; ++i) {
      MPI_Pready((first + i) % parts, all[0]);
      pause_a_little(&s->own);
    }
    for (int part = 0, flag = 0; one_in(&s->own, 2) && part < parts; ++part, flag = 0) {
      while (!flag) {
        MPI_Parrived(all[1], part, &flag);
        if (!flag) rest(&s->own);
      }
      verify(s, "a word of a partition", in, part * each, (part + 1) * each,
             key_of(s, lap, from));
    }
    if (one_in(&s->own, 2)) {
      MPI_Waitall(2, all, statuses);
    } else {
      finish(1, &all[0], statuses, &s->own);
      finish(1, &all[1], statuses, &s->own);
    }
    verify(s, "a partitioned word", in, 0, each * parts, key_of(s, lap, from));
  }
  MPI_Request_free(&all[0]);
  MPI_Request_free(&all[1]);
  free(out);
  free(in);
}

/* From rank to rank, each of which computes in between. */
static void pipeline(scene* s) {
  const int items = (int)draw(&s->common, 1, 12);
  unsigned item[4];
  for (int i = 0; i < items; ++i) {
    if (s->rank == 0) fill(item, 4, key_of(s, i, 0));
    const long long entered = now_ns();
    if (s->rank > 0)
      MPI_Recv(item, 4, MPI_UNSIGNED, s->rank - 1, s->tag + 6, s->comm,
               MPI_STATUS_IGNORE);
    if (s->rank > 0) note_message(0, entered, item, 4);
    if (i % s->size == s->rank) pause_a_little(&s->own);
    verify(s, "a word of a pipeline", item, kStampWords, 4, key_of(s, i, 0));
    stamp(item, 4);
    if (s->rank < s->size - 1)
      MPI_Send(item, 4, MPI_UNSIGNED, s->rank + 1, s->tag + 6, s->comm);
  }
}

/* One random collective of storm.c: what it is, its buffers, what it has to give.

   Data are blocks of elements between the rank and its partners; "names" tell the members of
   both groups of an intercommunicator apart. Values follow from the number of the collective,
   the two names and the index alone, so every rank knows what it has to get. Whole buffers
   are compared: nothing may change in gaps, in send buffers, in what a rank does not get. */
#ifndef STORM_COLLECTIVE_H
#define STORM_COLLECTIVE_H

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "storm_element.h"

/* A communicator. */
enum { kNeighbors = 64, kNoTopology = 0, kGraph, kGrid };
typedef struct {
  MPI_Comm comm;         /* null where the rank is not a member */
  int rank, size, peers; /* peers: the size of the group it talks with */
  int is_inter, group;
  int topology, sources[kNeighbors], source_count, targets[kNeighbors], target_count;
  unsigned number, calls;
} place;

static int name_of(const place* p, int is_local, int rank) {
  return p->is_inter ? (is_local ? p->group : 1 - p->group) * 1000 + rank : rank;
}
static int own_name(const place* p) { return name_of(p, 1, p->rank); }

/* The kinds: how many blocks go out and come in, who has them, whether they differ in size. */
enum { kNothing, kOne, kEach }; /* a block for nobody, for all, for each partner */
enum { kNoRoot, kToRoot, kFromRoot };
enum {
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kReduce,
  kAllreduce,
  kReduceScatterBlock,
  kReduceScatter,
  kScan,
  kExscan,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
  kKinds
};
static const struct {
  const char* name;
  int sends, receives, root, varies;
} kTraits[kKinds] = {
    {"barrier", kNothing, kNothing, kNoRoot, 0},
    {"bcast", kNothing, kOne, kFromRoot, 0},
    {"gather", kOne, kEach, kToRoot, 0},
    {"gatherv", kOne, kEach, kToRoot, 1},
    {"scatter", kEach, kOne, kFromRoot, 0},
    {"scatterv", kEach, kOne, kFromRoot, 1},
    {"allgather", kOne, kEach, kNoRoot, 0},
    {"allgatherv", kOne, kEach, kNoRoot, 1},
    {"alltoall", kEach, kEach, kNoRoot, 0},
    {"alltoallv", kEach, kEach, kNoRoot, 1},
    {"alltoallw", kEach, kEach, kNoRoot, 1},
    {"reduce", kOne, kOne, kToRoot, 0},
    {"allreduce", kOne, kOne, kNoRoot, 0},
    {"reduce_scatter_block", kEach, kOne, kNoRoot, 0},
    {"reduce_scatter", kEach, kOne, kNoRoot, 1},
    {"scan", kOne, kOne, kNoRoot, 0},
    {"exscan", kOne, kOne, kNoRoot, 0},
    {"neighbor_allgather", kOne, kEach, kNoRoot, 0},
    {"neighbor_allgatherv", kOne, kEach, kNoRoot, 1},
    {"neighbor_alltoall", kEach, kEach, kNoRoot, 0},
    {"neighbor_alltoallv", kEach, kEach, kNoRoot, 1},
    {"neighbor_alltoallw", kEach, kEach, kNoRoot, 1},
};

typedef struct {
  char* data;
  int layout, blocks;
  long elements;             /* of all blocks and the holes between them */
  int *counts, *displs;      /* of the blocks, in elements */
  int *called, *byte_displs; /* as the call says them */
  MPI_Aint* wide_displs;
  int count; /* of one block, as the call says it */
  MPI_Datatype type, *types;
} side;

typedef struct {
  place* where;
  unsigned number;
  int kind, n, root, is_in_place;
  int is_persistent, runs_left, is_started, is_complete;
  side send, receive;
  char *sent, *wanted; /* what the buffers have to be at the end */
  MPI_Op op;           /* of a reduction */
  element (*combine)(element, element);
} collective;

static int reduces(int kind) { return kind >= kReduce && kind <= kExscan; }
static int is_neighborly(int kind) { return kind >= kNeighborAllgather; }
static int is_root(const collective* o) {
  return o->where->is_inter ? o->root == MPI_ROOT : o->root == o->where->rank;
}
static int gets_a_result(const collective* o) {
  if (kTraits[o->kind].root == kNoRoot) return 1;
  if (kTraits[o->kind].root == kToRoot) return is_root(o);
  return o->where->is_inter ? o->root >= 0 : !(is_root(o) && o->is_in_place);
}

/* The process that block i is for, or from; negative: none. */
static int partner(const collective* o, int is_sent, int i) {
  const place* p = o->where;
  if (is_neighborly(o->kind)) return is_sent ? p->targets[i] : p->sources[i];
  return name_of(p, 0, kTraits[o->kind].receives == kEach || is_sent ? i : o->root);
}
static int partners(const collective* o, int is_sent) {
  const place* p = o->where;
  if (is_neighborly(o->kind)) return is_sent ? p->target_count : p->source_count;
  return reduces(o->kind) ? p->size : p->peers;
}

static int block_count(const collective* o, int from, int to) {
  if (!kTraits[o->kind].varies) return o->n;
  if (kTraits[o->kind].sends == kOne) to = 0;
  const int is_symmetric =
      o->is_in_place && kTraits[o->kind].root == kNoRoot && to < from;
  return (int)(hash(o->number, (unsigned)(is_symmetric ? to : from),
                    (unsigned)(is_symmetric ? from : to)) %
               (unsigned)(o->n + 1));
}

/* Element k of the block of two processes; between neighbours there may be several. */
static element value(const collective* o, int from, int to, int slot, long k) {
  if (kTraits[o->kind].sends != kEach || reduces(o->kind)) to = slot = 0;
  const unsigned base = hash(o->number, (unsigned)from, (unsigned)(to * 8 + slot));
  return (element){(base + (unsigned)k * 0x9e3779b9u) | 1u,
                   base ^ (unsigned)k * 0x85ebca6bu};
}

static void* filled(long bytes) {
  return memset(malloc((size_t)bytes + 16), 0xa5, (size_t)bytes + 16);
}

/* Lays out the blocks of one buffer; the ones that differ in size have holes between them. */
static void shape(side* s, const collective* o, int is_sent) {
  const int amount = is_sent ? kTraits[o->kind].sends : kTraits[o->kind].receives;
  const int me = own_name(o->where),
            has_holes = kTraits[o->kind].varies && !reduces(o->kind);
  s->blocks = amount == kEach ? partners(o, is_sent) : amount == kOne;
  s->counts = calloc((size_t)s->blocks + 1, sizeof *s->counts);
  s->displs = calloc((size_t)s->blocks + 1, sizeof *s->displs);
  long at = 0;
  for (int i = 0; i < s->blocks; ++i) {
    const int who = is_sent && amount == kOne ? 0 : partner(o, is_sent, i);
    int n = is_sent ? block_count(o, me, who) : block_count(o, who, me);
    if (o->kind == kReduceScatter) { /* one total for both groups */
      const int left = o->n - (int)at, is_last = i + 1 == s->blocks;
      n = is_last ? left
                  : (int)(hash(o->number, (unsigned)i, 5) % (unsigned)(left + 1));
      if (!is_sent) n = o->send.counts[o->where->rank];
    }
    s->counts[i] = n;
    s->displs[i] = (int)at;
    at += n + (has_holes ? (int)(hash(o->number, (unsigned)i, 9) % 2) : 0);
  }
  s->elements = at;
  s->count = kTraits[o->kind].varies && amount == kOne ? s->counts[0] : o->n;
}

/* The same in the terms of the call; "units" of the type make an element. */
static void describe(side* s, MPI_Datatype type, int units) {
  const size_t n = (size_t)s->blocks + 1;
  s->type = type;
  s->types = calloc(n, sizeof *s->types);
  s->called = calloc(n, sizeof *s->called);
  s->byte_displs = calloc(n, sizeof *s->byte_displs);
  s->wide_displs = calloc(n, sizeof *s->wide_displs);
  s->count *= units;
  for (int i = 0; i < s->blocks; ++i) {
    s->types[i] = type;
    s->called[i] = s->counts[i] * units;
    s->byte_displs[i] = s->displs[i] * kExtents[s->layout];
    s->wide_displs[i] = s->byte_displs[i];
  }
}
static void release(side* s) {
  free(s->data), free(s->counts), free(s->displs);
  free(s->types), free(s->called), free(s->byte_displs), free(s->wide_displs);
}

/* Random kind, size and root, alike at all members; layouts of the rank's own choice. */
static void draw_kind(collective* o, unsigned* common) {
  static const int sizes[] = {0, 1, 2, 3, 7, 50, 129, 600, 2100, 9000, 40000};
  const place* p = o->where;
  do o->kind = draw(common, p->topology == kNoTopology ? kNeighborAllgather : kKinds);
  while (p->is_inter && (o->kind == kScan || o->kind == kExscan));
  o->n = sizes[draw(common, 11)];
  const int all = p->is_inter ? p->size * p->peers : p->size;
  if (kTraits[o->kind].sends == kEach || kTraits[o->kind].receives == kEach)
    while ((long)o->n * all > 60000) o->n /= 4;
  if (o->kind == kReduceScatterBlock && p->is_inter) o->n = o->n / all * p->peers;
  const int may_be_in_place =
      !p->is_inter && o->kind > kBcast && !is_neighborly(o->kind);
  o->is_in_place = draw(common, 4) == 0 && may_be_in_place;
  const int root = draw(common, 1000), root_group = draw(common, 2);
  o->root = root % p->peers;
  if (p->is_inter && p->group == root_group)
    o->root = root % p->size == p->rank ? MPI_ROOT : MPI_PROC_NULL;
}

static void draw_types(collective* o, unsigned* common, unsigned* own) {
  const int is_even = !kTraits[o->kind].varies && o->n % 2 == 0,
            operation = draw(common, 4);
  o->send.layout = draw(own, kLayouts);
  o->receive.layout = draw(own, kLayouts);
  const int takes_pairs[2] = {is_even && draw(own, 3) == 0,
                              is_even && draw(own, 3) == 0};
  if (reduces(o->kind))
    o->send.layout = o->receive.layout = operation == 3 ? 0 : draw(common, 3);
  shape(&o->send, o, 1);
  shape(&o->receive, o, 0);
  if (reduces(o->kind)) {
    MPI_Op const operations[] = {composition, composition, sum, MPI_SUM};
    o->op = operations[operation];
    o->combine = operation < 2 ? composed : added;
    const MPI_Datatype type = operation == 3 ? MPI_UINT32_T : single[o->send.layout];
    describe(&o->send, type, operation == 3 ? 2 : 1);
    describe(&o->receive, type, operation == 3 ? 2 : 1);
    if (o->is_in_place) o->receive.elements = o->send.elements;
    return;
  }
  describe(&o->send, (takes_pairs[0] ? pairs : single)[o->send.layout], 1);
  describe(&o->receive, (takes_pairs[1] ? pairs : single)[o->receive.layout], 1);
  if (takes_pairs[0]) o->send.count /= 2;
  if (takes_pairs[1]) o->receive.count /= 2;
}

static long bytes_of(const side* s) { return s->elements * kExtents[s->layout]; }

static collective* draw_collective(place* where, unsigned* common, unsigned* own) {
  collective* o = calloc(1, sizeof *o);
  o->where = where;
  o->number = hash(where->number, ++where->calls, 1);
  o->op = MPI_OP_NULL;
  draw_kind(o, common);
  o->is_persistent = draw(common, 3) == 0;
  o->runs_left = o->is_persistent ? 1 + draw(common, 3) : 1;
  draw_types(o, common, own);
  o->send.data = filled(bytes_of(&o->send));
  o->sent = filled(bytes_of(&o->send));
  o->receive.data = filled(bytes_of(&o->receive));
  o->wanted = filled(bytes_of(&o->receive));
  return o;
}
static void free_collective(collective* o) {
  release(&o->send);
  release(&o->receive);
  free(o->sent), free(o->wanted);
  free(o);
}

/* Block i of a buffer. */
static void put_block(const collective* o, const side* s, char* data, int i, int from,
                      int to, int slot) {
  const long first = reduces(o->kind) ? s->displs[i] : 0;
  for (int k = 0; k < s->counts[i] && from >= 0 && to >= 0; ++k)
    store(data, s->layout, s->displs[i] + k, value(o, from, to, slot, first + k));
}
/* A grid of one or two in a row has the same neighbour on both sides. */
static int slot_of(const collective* o, int i) {
  return is_neighborly(o->kind) && o->where->topology == kGrid ? i : 0;
}

static void fill_send(collective* o) {
  const side* s = &o->send;
  if (kTraits[o->kind].root == kFromRoot && !is_root(o)) return;
  for (int i = 0; i < s->blocks; ++i) {
    const int to =
        kTraits[o->kind].sends == kOne || reduces(o->kind) ? 0 : partner(o, 1, i);
    put_block(o, s, s->data, i, own_name(o->where), to, slot_of(o, i ^ 1));
  }
}

/* What the receive buffer holds at first: the rank's own part. */
static void fill_receive(collective* o) {
  const side* s = &o->receive;
  const int me = own_name(o->where);
  if (o->kind == kBcast && is_root(o)) put_block(o, s, s->data, 0, me, 0, 0);
  if (!o->is_in_place || !gets_a_result(o)) return;
  if (reduces(o->kind))
    memcpy(s->data, o->send.data, (size_t)bytes_of(s));
  else if (kTraits[o->kind].sends == kOne)
    put_block(o, s, s->data, o->where->rank, me, 0, 0);
  else if (kTraits[o->kind].receives == kEach)
    for (int i = 0; i < s->blocks; ++i)
      put_block(o, s, s->data, i, me, partner(o, 0, i), 0);
}

static void want_reduction(collective* o) {
  const place* p = o->where;
  const int is_scattered = kTraits[o->kind].sends == kEach;
  const long first = is_scattered ? o->send.displs[p->rank] : 0;
  const int members = o->kind == kScan     ? p->rank + 1
                      : o->kind == kExscan ? p->rank
                                           : p->peers;
  for (int k = 0; k < o->receive.counts[0] && members > 0; ++k) {
    element e = value(o, name_of(p, 0, 0), 0, 0, first + k);
    for (int i = 1; i < members; ++i)
      e = o->combine(e, value(o, name_of(p, 0, i), 0, 0, first + k));
    store(o->wanted, o->receive.layout, k, e);
  }
}

/* Before each run. */
static void fill(collective* o) {
  const side* s = &o->receive;
  memset(s->data, 0xa5, (size_t)bytes_of(s));
  fill_send(o);
  fill_receive(o);
  memcpy(o->sent, o->send.data, (size_t)bytes_of(&o->send));
  memcpy(o->wanted, s->data, (size_t)bytes_of(s));
  if (!gets_a_result(o)) return;
  if (reduces(o->kind)) {
    want_reduction(o);
    return;
  }
  for (int i = 0; i < s->blocks; ++i)
    put_block(o, s, o->wanted, i, partner(o, 0, i), own_name(o->where), slot_of(o, i));
}

static void check_result(const collective* o) {
  const int is_right =
      memcmp(o->receive.data, o->wanted, (size_t)bytes_of(&o->receive)) == 0;
  const int is_kept = memcmp(o->send.data, o->sent, (size_t)bytes_of(&o->send)) == 0;
  if (!is_right || !is_kept)
    printf("%s of %d elements, root %d, communicator %u of %d%s%s%s\n",
           kTraits[o->kind].name, o->n, o->root, o->where->number, o->where->size,
           o->where->is_inter ? ", inter" : "", o->is_in_place ? ", in place" : "",
           o->is_persistent ? ", persistent" : "");
  CHECK(is_right);
  CHECK(is_kept);
}

#endif

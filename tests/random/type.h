/* Random datatypes with a model: which byte of a buffer is the n-th of the data. The model follows the
   type maps of MPI-4.1 chapter 5 and knows nothing of the library. All numbers come from a seed, so each
   rank can make each other's types. */
#ifndef RANDOM_TYPE_H
#define RANDOM_TYPE_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

/* ---- the model ---- */

typedef struct {
  long at;
  int bytes;
} element;

typedef struct {
  MPI_Datatype handle; /* MPI_DATATYPE_NULL: the model only */
  int is_own;          /* to be freed */
  int count;
  element* map;
  long lb, ub;
} type_model;

enum { kMostElements = 30000, kMostSpan = 1 << 20, kMostParts = 6 };

static long extent_of(const type_model* t) { return t->ub - t->lb; }
static long size_of(const type_model* t) {
  long bytes = 0;
  for (int i = 0; i < t->count; ++i) bytes += t->map[i].bytes;
  return bytes;
}
static long low_of(const type_model* t) {
  long low = t->map[0].at;
  for (int i = 1; i < t->count; ++i)
    if (t->map[i].at < low) low = t->map[i].at;
  return low;
}
static long high_of(const type_model* t) {
  long high = t->map[0].at + t->map[0].bytes;
  for (int i = 1; i < t->count; ++i)
    if (t->map[i].at + t->map[i].bytes > high) high = t->map[i].at + t->map[i].bytes;
  return high;
}

static int by_place(const void* a, const void* b) {
  const element *x = a, *y = b;
  return x->at < y->at ? -1 : x->at > y->at;
}
/* So many of them one after the other use no byte twice, and do not reach too far. */
static int is_fine(const type_model* t, long copies) {
  const long n = t->count * copies;
  if (n <= 0 || n > kMostElements) return 0;
  if (high_of(t) - low_of(t) + labs(extent_of(t)) * (copies - 1) > kMostSpan) return 0;
  element* all = malloc(sizeof(element) * (size_t)n);
  for (long i = 0; i < n; ++i) {
    all[i] = t->map[i % t->count];
    all[i].at += i / t->count * extent_of(t);
  }
  qsort(all, (size_t)n, sizeof *all, by_place);
  int is_right = 1;
  for (long i = 1; i < n && is_right; ++i)
    is_right = all[i - 1].at + all[i - 1].bytes <= all[i].at;
  free(all);
  return is_right;
}

static void drop(type_model* t) {
  if (t->is_own) MPI_Type_free(&t->handle);
  free(t->map);
  t->map = NULL;
}

/* What is made of copies of `old` at these displacements. */
static type_model copies_of(const type_model* old, long n, const long* at) {
  type_model t = {MPI_DATATYPE_NULL, 0, 0, NULL, 0, 0};
  if (n * old->count > 4 * kMostElements) n = 0; /* too long: not fine */
  t.map = malloc(sizeof(element) * (size_t)(n * old->count + 1));
  for (long i = 0; i < n; ++i) {
    for (int k = 0; k < old->count; ++k) {
      t.map[t.count] = old->map[k];
      t.map[t.count++].at += at[i];
    }
    if (i == 0 || at[i] + old->lb < t.lb) t.lb = at[i] + old->lb;
    if (i == 0 || at[i] + old->ub > t.ub) t.ub = at[i] + old->ub;
  }
  return t;
}

#include "constructors.h"

/* ---- what data consists of ---- */

/* A predefined type, or a few of them in a row; the same for both sides of a message. */
typedef struct {
  int count;
  MPI_Datatype basic[4];
  int bytes[4];
} unit;

static unit random_unit(source* s) {
  const MPI_Datatype basics[] = {MPI_CHAR,
                                 MPI_SHORT,
                                 MPI_INT,
                                 MPI_DOUBLE,
                                 MPI_C_FLOAT_COMPLEX,
                                 MPI_C_DOUBLE_COMPLEX,
                                 MPI_FLOAT,
                                 MPI_BYTE,
                                 MPI_INT64_T};
  const int bytes[] = {1, 2, 4, 8, 8, 16, 4, 1, 8};
  unit u;
  u.count = one_in(s, 3) ? (int)draw(s, 2, 4) : 1;
  for (int i = 0; i < u.count; ++i) {
    const long which = draw(s, 0, 8);
    u.basic[i] = basics[which];
    u.bytes[i] = bytes[which];
  }
  return u;
}

/* The unit as a type: itself, or a struct with gaps, in any order in memory. */
static type_model type_of_unit(const unit* u, source* s) {
  type_model t = {u->basic[0], 0, u->count, NULL, 0, u->bytes[0]};
  t.map = malloc(sizeof(element) * 4);
  int lengths[4] = {1, 1, 1, 1};
  MPI_Aint places[4];
  long at = draw(s, -3, 3) * 16;
  const int goes_down = one_in(s, 3);
  for (int i = 0; i < u->count; ++i) {
    if (goes_down) at -= 16;
    places[i] = u->count == 1 ? 0 : at;
    t.map[i].at = (long)places[i];
    t.map[i].bytes = u->bytes[i];
    if (!goes_down) at += u->bytes[i] + draw(s, 0, 2) * 8;
  }
  if (u->count == 1) return t;
  MPI_Datatype raw;
  MPI_Type_create_struct(u->count, lengths, places, (MPI_Datatype*)u->basic, &raw);
  t.lb = low_of(&t);
  t.ub = high_of(&t) + draw(s, 0, 2) * 8;
  MPI_Type_create_resized(raw, t.lb, t.ub - t.lb, &t.handle);
  MPI_Type_free(&raw);
  t.is_own = 1;
  return t;
}

/* What the library says of the type is what the model says. */
static int agrees(const type_model* t) {
  int size;
  MPI_Aint lb, extent, true_lb, true_extent;
  MPI_Type_size(t->handle, &size);
  MPI_Type_get_extent(t->handle, &lb, &extent);
  MPI_Type_get_true_extent(t->handle, &true_lb, &true_extent);
  if (size == size_of(t) && lb == t->lb && extent == extent_of(t) &&
      true_lb == low_of(t) && true_extent == high_of(t) - low_of(t))
    return 1;
  printf(
      "type: size %d, lb %ld, extent %ld, true %ld, %ld; should be %ld, %ld, %ld, %ld, "
      "%ld\n",
      size, (long)lb, (long)extent, (long)true_lb, (long)true_extent, size_of(t), t->lb,
      extent_of(t), low_of(t), high_of(t) - low_of(t));
  return 0;
}

/* A committed type of the unit, of any constructors, at most so many of them. */
static type_model random_type(const unit* u, int most, source* s) {
  type_model t = type_of_unit(u, s);
  for (long left = draw(s, 0, most); left > 0; --left) {
    type_model next = random_step(&t, s);
    if (next.handle == MPI_DATATYPE_NULL) continue;
    if (is_fine(&next, 1)) {
      drop(&t);
      t = next;
    } else {
      drop(&next);
    }
  }
  if (t.is_own) MPI_Type_commit(&t.handle);
  return t;
}

/* ---- buffers ---- */

typedef struct {
  type_model type;
  int count;
  long bytes;     /* of data */
  long low, room; /* of the memory: where it begins beside the base, how long it is */
  unsigned char* memory; /* the base is memory - low */
  long* place;           /* in memory, of each byte of the data */
} buffer;

enum { kMargin = 32 };

static void* base_of(const buffer* b) { return b->memory - b->low; }

static unsigned char pattern(unsigned long long key, long at) {
  source s = {key ^ (unsigned long long)at * 0x9e3779b97f4a7c15u};
  return (unsigned char)next_number(&s);
}

/* Takes over the type. */
static buffer make_buffer(type_model type, int count, unsigned long long key) {
  buffer b = {type, count, size_of(&type) * count, 0, 0, NULL, NULL};
  const long reach = extent_of(&type) * (count > 0 ? count - 1 : 0);
  b.low = low_of(&type) + (reach < 0 ? reach : 0) - kMargin;
  b.low &= ~63L; /* so that base and memory are aligned alike */
  b.room = high_of(&type) + (reach > 0 ? reach : 0) + kMargin - b.low;
  b.memory = malloc((size_t)b.room);
  b.place = malloc(sizeof(long) * (size_t)(b.bytes + 1));
  for (long i = 0; i < b.room; ++i) b.memory[i] = pattern(key, i);
  long n = 0;
  for (int c = 0; c < count; ++c)
    for (int k = 0; k < type.count; ++k)
      for (int i = 0; i < type.map[k].bytes; ++i)
        b.place[n++] = type.map[k].at + c * extent_of(&type) + i - b.low;
  return b;
}
static void drop_buffer(buffer* b) {
  drop(&b->type);
  free(b->memory);
  free(b->place);
}

/* The bytes of the data from `first` on are those of the other buffer as it was made with this key, and
   all others of the memory are as they were. `wanted`: filled with what should be there. */
static void expect_bytes(unsigned char* wanted, const buffer* to, long first,
                         const buffer* from, unsigned long long from_key, long n) {
  for (long i = 0; i < n; ++i)
    wanted[to->place[first + i]] = pattern(from_key, from->place[i]);
}
static unsigned char* as_made(const buffer* b, unsigned long long key) {
  unsigned char* wanted = malloc((size_t)b->room);
  for (long i = 0; i < b->room; ++i) wanted[i] = pattern(key, i);
  return wanted;
}
/* Frees `wanted`. */
static int is_as_wanted(const buffer* b, unsigned char* wanted) {
  const int is_right = memcmp(b->memory, wanted, (size_t)b->room) == 0;
  if (!is_right) {
    long bad = 0, first = -1;
    for (long i = 0; i < b->room; ++i)
      if (b->memory[i] != wanted[i]) {
        ++bad;
        if (first < 0) first = i;
      }
    printf("%ld of %ld bytes are wrong, the first at %ld\n", bad, b->room,
           first + b->low);
  }
  free(wanted);
  return is_right;
}

/* Types and counts of a message of at most `most` bytes or so, of which the second one may have room for
   more. */
static void random_pair(const unit* u, long most, source* s, type_model* a,
                        int* a_count, type_model* b, int* b_count) {
  for (;;) {
    *a = random_type(u, 4, s);
    *b = random_type(u, 4, s);
    const long x = a->count / u->count, y = b->count / u->count;
    long g = x, h = y;
    while (h != 0) {
      const long rest = g % h;
      g = h;
      h = rest;
    }
    const long round = size_of(a) * (y / g);
    const long times = round <= most ? draw(s, 1, most / round) : 0;
    *a_count = (int)(y / g * times);
    *b_count = (int)(x / g * times);
    if (times > 0 && is_fine(a, *a_count) && is_fine(b, *b_count)) return;
    drop(a);
    drop(b);
  }
}

#endif

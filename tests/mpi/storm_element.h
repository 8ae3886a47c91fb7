/* The random numbers of storm.c, its elements, types and operations. */
#ifndef STORM_ELEMENT_H
#define STORM_ELEMENT_H

#include <mpi.h>
#include <string.h>

static unsigned scramble(unsigned x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}
static unsigned hash(unsigned a, unsigned b, unsigned c) {
  return scramble(scramble(scramble(a) + b) + c);
}
static int draw(unsigned* state, int n) {
  *state = *state * 1664525u + 1013904223u;
  return (int)(scramble(*state) % (unsigned)n);
}

/* An element is the map x -> a x + b of the numbers modulo 2^32; in memory it has gaps or not. */
typedef struct {
  unsigned a, b;
} element;

enum { kLayouts = 3 };
static const int kExtents[kLayouts] = {8, 12, 16}, kSecond[kLayouts] = {4, 4, 8};
static MPI_Datatype single[kLayouts], pairs[kLayouts]; /* of one element, of two */
static MPI_Op composition, sum;                        /* the first does not commute */

static element load(const char* data, int layout, long i) {
  element e;
  memcpy(&e.a, data + i * kExtents[layout], 4);
  memcpy(&e.b, data + i * kExtents[layout] + kSecond[layout], 4);
  return e;
}
static void store(char* data, int layout, long i, element e) {
  memcpy(data + i * kExtents[layout], &e.a, 4);
  memcpy(data + i * kExtents[layout] + kSecond[layout], &e.b, 4);
}

static element composed(element x, element y) {
  return (element){x.a * y.a, x.a * y.b + x.b};
}
static element added(element x, element y) { return (element){x.a + y.a, x.b + y.b}; }

static void apply(element (*f)(element, element), char* in, char* inout, int n,
                  MPI_Datatype t) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(t, &lower, &extent);
  const int layout = (int)(extent / 4) - 2;
  for (int i = 0; i < n; ++i)
    store(inout, layout, i, f(load(in, layout, i), load(inout, layout, i)));
}
static void compose(void* in, void* inout, int* n, MPI_Datatype* type) {
  apply(composed, in, inout, *n, *type);
}
static void add(void* in, void* inout, int* n, MPI_Datatype* type) {
  apply(added, in, inout, *n, *type);
}

static void make_types_and_operations(void) {
  MPI_Datatype packed, spread;
  MPI_Type_contiguous(2, MPI_UINT32_T, &packed);
  MPI_Type_vector(2, 1, 2, MPI_UINT32_T, &spread);
  for (int i = 0; i < kLayouts; ++i) {
    MPI_Type_create_resized(i == 2 ? spread : packed, 0, kExtents[i], &single[i]);
    MPI_Type_contiguous(2, single[i], &pairs[i]);
    MPI_Type_commit(&single[i]);
    MPI_Type_commit(&pairs[i]);
  }
  MPI_Type_free(&packed);
  MPI_Type_free(&spread);
  MPI_Op_create(compose, 0, &composition);
  MPI_Op_create(add, 1, &sum);
}
static void free_types_and_operations(void) {
  for (int i = 0; i < kLayouts; ++i) {
    MPI_Type_free(&single[i]);
    MPI_Type_free(&pairs[i]);
  }
  MPI_Op_free(&composition);
  MPI_Op_free(&sum);
}

#endif

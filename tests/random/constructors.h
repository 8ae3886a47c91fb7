/* One random constructor of a datatype, and its model. Part of type.h. */
#ifndef RANDOM_CONSTRUCTORS_H
#define RANDOM_CONSTRUCTORS_H

/* A distance between blocks that need `width` bytes: mostly enough, in steps of `unit` if that is not 0. */
static long distance(source* s, long width, long unit) {
  long d = width + (one_in(s, 2) ? 0 : draw(s, 0, one_in(s, 8) ? 5000 : 40));
  if (unit != 0) d = (d + labs(unit) - 1) / labs(unit);
  return one_in(s, 4) ? -d : d;
}

static type_model strided(const type_model* old, source* s, int in_bytes) {
  const long e = extent_of(old);
  const int blocks = (int)draw(s, 1, one_in(s, 5) ? 300 : 8),
            length = (int)draw(s, 1, 5);
  const long width = labs(e) * length + (high_of(old) - low_of(old));
  const long step = distance(s, width, in_bytes ? 0 : e);
  long* at = malloc(sizeof(long) * (size_t)(blocks * length));
  for (int i = 0; i < blocks * length; ++i)
    at[i] = i / length * (in_bytes ? step : step * e) + i % length * e;
  type_model t = copies_of(old, blocks * length, at);
  free(at);
  if (in_bytes)
    MPI_Type_create_hvector(blocks, length, step, old->handle, &t.handle);
  else
    MPI_Type_vector(blocks, length, (int)step, old->handle, &t.handle);
  return t;
}

/* Blocks of any lengths in any order; `way`: indexed, hindexed, indexed_block, hindexed_block, struct. */
static type_model listed(const type_model* old, source* s, int way) {
  const long e = extent_of(old), span = high_of(old) - low_of(old);
  int lengths[40], steps[40];
  MPI_Aint places[40];
  MPI_Datatype parts[40];
  long at[40 * 6];
  int n = (int)draw(s, 1, one_in(s, 4) ? 40 : 5), copies = 0;
  const int in_bytes = way == 1 || way == 3 || way == 4,
            is_block = way == 2 || way == 3;
  const int length = (int)draw(s, 1, 3);
  long place = draw(s, -200, 200);
  if (!in_bytes && e == 0) return (type_model){MPI_DATATYPE_NULL, 0, 0, NULL, 0, 0};
  for (int i = 0; i < n; ++i) {
    lengths[i] = is_block ? length : (int)draw(s, i == 0, 4);
    const long width = labs(e) * lengths[i] + span;
    steps[i] = in_bytes ? 0 : (int)(place / e);
    places[i] = place;
    parts[i] = old->handle;
    const long from = in_bytes ? place : steps[i] * e;
    for (int k = 0; k < lengths[i]; ++k) at[copies++] = from + k * e;
    const long step = labs(distance(s, width, 0)) + labs(e);
    place += way == 1 && one_in(s, 3) ? -2 * step - 300 : step;
  }
  for (int i = n - 1; i > 0 && one_in(s, 2);
       --i) { /* two of equal length change places */
    if (lengths[i] != lengths[i - 1]) continue;
    const MPI_Aint p = places[i];
    places[i] = places[i - 1];
    places[i - 1] = p;
    const int q = steps[i];
    steps[i] = steps[i - 1];
    steps[i - 1] = q;
  }
  copies = 0;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < lengths[i]; ++k)
      at[copies++] = (in_bytes ? (long)places[i] : steps[i] * e) + k * e;
  type_model t = copies_of(old, copies, at);
  if (way == 0) MPI_Type_indexed(n, lengths, steps, old->handle, &t.handle);
  if (way == 1) MPI_Type_create_hindexed(n, lengths, places, old->handle, &t.handle);
  if (way == 2) MPI_Type_create_indexed_block(n, length, steps, old->handle, &t.handle);
  if (way == 3)
    MPI_Type_create_hindexed_block(n, length, places, old->handle, &t.handle);
  if (way == 4) {
    MPI_Datatype raw; /* its end may be padded */
    MPI_Type_create_struct(n, lengths, places, parts, &raw);
    MPI_Type_create_resized(raw, t.lb, t.ub - t.lb, &t.handle);
    MPI_Type_free(&raw);
  }
  return t;
}

/* The model of an array type: in each dimension the indices that it has, in the order of memory. */
static type_model of_indices(const type_model* old, int dims, const int* sizes,
                             const int* counts, int indices[][64], int order) {
  long n = 1, total = 1;
  for (int d = 0; d < dims; ++d) {
    n *= counts[d];
    total *= sizes[d];
  }
  long* at = malloc(sizeof(long) * (size_t)(n + 1));
  for (long i = 0; i < n; ++i) {
    long rest = i, place = 0, step = 1;
    for (int k = 0; k < dims; ++k) { /* from the fastest one */
      const int d = order == MPI_ORDER_C ? dims - 1 - k : k;
      place += indices[d][rest % counts[d]] * step;
      rest /= counts[d];
      step *= sizes[d];
    }
    at[i] = place * extent_of(old);
  }
  type_model t = copies_of(old, n, at);
  free(at);
  t.lb = 0;
  t.ub = total * extent_of(old);
  return t;
}

static type_model subarray(const type_model* old, source* s) {
  int sizes[3], parts[3], starts[3], indices[3][64];
  const int dims = (int)draw(s, 1, 3),
            order = one_in(s, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  for (int d = 0; d < dims; ++d) {
    sizes[d] = (int)draw(s, 1, dims == 1 ? 60 : 9);
    parts[d] = (int)draw(s, 1, sizes[d]);
    starts[d] = (int)draw(s, 0, sizes[d] - parts[d]);
    for (int i = 0; i < parts[d]; ++i) indices[d][i] = starts[d] + i;
  }
  type_model t = of_indices(old, dims, sizes, parts, indices, order);
  MPI_Type_create_subarray(dims, sizes, parts, starts, order, old->handle, &t.handle);
  return t;
}

static type_model darray(const type_model* old, source* s) {
  int sizes[3], parts[3], indices[3][64], distribs[3], args[3], grid[3];
  const int dims = (int)draw(s, 1, 3),
            order = one_in(s, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  int processes = 1, rank = 0;
  for (int d = 0; d < dims; ++d) {
    sizes[d] = (int)draw(s, 1, dims == 1 ? 60 : 9);
    const int how = (int)draw(s, 0, 2);
    grid[d] = how == 0 ? 1 : (int)draw(s, 1, 3);
    distribs[d] = how == 0   ? MPI_DISTRIBUTE_NONE
                  : how == 1 ? MPI_DISTRIBUTE_BLOCK
                             : MPI_DISTRIBUTE_CYCLIC;
    const int least = how == 1 ? (sizes[d] + grid[d] - 1) / grid[d] : 1;
    const int given = (int)draw(s, least, least + 3);
    args[d] = how == 0 || one_in(s, 2) ? MPI_DISTRIBUTE_DFLT_DARG : given;
    const int block = how == 0                              ? sizes[d]
                      : args[d] != MPI_DISTRIBUTE_DFLT_DARG ? given
                                                            : least;
    const int mine = (int)draw(s, 0, grid[d] - 1);
    parts[d] = 0;
    for (int i = 0; i < sizes[d]; ++i)
      if (i / block % grid[d] == mine) indices[d][parts[d]++] = i;
    rank = rank * grid[d] + mine;
    processes *= grid[d];
    if (parts[d] == 0) return (type_model){MPI_DATATYPE_NULL, 0, 0, NULL, 0, 0};
  }
  type_model t = of_indices(old, dims, sizes, parts, indices, order);
  MPI_Type_create_darray(processes, rank, dims, sizes, distribs, args, grid, order,
                         old->handle, &t.handle);
  return t;
}

static type_model resized(const type_model* old, source* s) {
  const long none = 0;
  type_model t = copies_of(old, 1, &none);
  const long span = high_of(old) - low_of(old);
  long extent = span + (one_in(s, 2) ? 0 : draw(s, 0, 64));
  if (one_in(s, 4)) extent = -extent;
  if (one_in(s, 4)) extent = old->map[0].bytes; /* columns of a matrix, perhaps */
  t.lb = draw(s, -64, 64);
  t.ub = t.lb + extent;
  MPI_Type_create_resized(old->handle, t.lb, extent, &t.handle);
  return t;
}

/* The handle is null if nothing came of it. */
static type_model random_step(const type_model* old, source* s) {
  const long none = 0;
  long at[8];
  type_model t;
  switch (draw(s, 0, 11)) {
    case 0: {
      const int n = (int)draw(s, 1, 8);
      for (int i = 0; i < n; ++i) at[i] = i * extent_of(old);
      t = copies_of(old, n, at);
      MPI_Type_contiguous(n, old->handle, &t.handle);
      break;
    }
    case 1:
      t = strided(old, s, extent_of(old) == 0);
      break;
    case 2:
      t = strided(old, s, 1);
      break;
    case 3:
      t = listed(old, s, 0);
      break;
    case 4:
      t = listed(old, s, 1);
      break;
    case 5:
      t = listed(old, s, 2);
      break;
    case 6:
      t = listed(old, s, 3);
      break;
    case 7:
      t = listed(old, s, 4);
      break;
    case 8:
      t = subarray(old, s);
      break;
    case 9:
      t = darray(old, s);
      break;
    case 10:
      t = resized(old, s);
      break;
    default:
      t = copies_of(old, 1, &none);
      t.lb = old->lb;
      t.ub = old->ub;
      MPI_Type_dup(old->handle, &t.handle);
  }
  if (t.handle != MPI_DATATYPE_NULL) t.is_own = 1;
  return t;
}

#endif

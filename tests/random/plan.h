/* What each member of a random collective gives and takes. Part of collectives.c. */

/* ---- communicators ---- */

enum { kEdges = 4 };
static int edge_to[kMostRanks][kEdges]; /* of the graph */
static int edges[kMostRanks];
static int grid_dims[2], is_periodic[2];

static void make_graph(void) {
  source s = seeded(seed, 77, 0);
  int sources[kMostRanks], n = 0;
  for (int r = 0; r < size; ++r) {
    edges[r] = 0;
    for (int d = 0; d < size && edges[r] < kEdges; ++d)
      if (one_in(&s, size > 6 ? 4 : 2)) edge_to[r][edges[r]++] = d;
    for (int i = edges[r] - 1; i > 0; --i) { /* in any order */
      const int k = (int)draw(&s, 0, i), swapped = edge_to[r][i];
      edge_to[r][i] = edge_to[r][k];
      edge_to[r][k] = swapped;
    }
  }
  for (int r = 0; r < size; ++r)
    for (int e = 0; e < edges[r]; ++e)
      if (edge_to[r][e] == rank) sources[n++] = r;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n, sources, MPI_UNWEIGHTED,
                                 edges[rank], edge_to[rank], MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
}

static void make_comms(void) {
  MPI_Comm half;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  source s = seeded(seed, 78, 0);
  low = size > 1 ? (int)draw(&s, 1, size - 1) : 0;
  inter = MPI_COMM_NULL;
  if (size > 1) {
    MPI_Comm_split(MPI_COMM_WORLD, rank < low, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < low ? low : 0, 9, &inter);
    MPI_Comm_free(&half);
  }
  grid_dims[0] = size % 3 == 0 ? 3 : size % 2 == 0 ? 2 : 1;
  grid_dims[1] = size / grid_dims[0];
  for (int d = 0; d < 2; ++d) is_periodic[d] = grid_dims[d] > 2 && one_in(&s, 2);
  MPI_Cart_create(MPI_COMM_WORLD, 2, grid_dims, is_periodic, 0, &grid);
  make_graph();
}
static void free_comms(void) {
  MPI_Comm_free(&world);
  if (inter != MPI_COMM_NULL) MPI_Comm_free(&inter);
  MPI_Comm_free(&grid);
  MPI_Comm_free(&graph);
}

/* ---- who takes what from whom ---- */

static void take(int r, int from, int block) {
  side* const in = &c.in[r];
  in->from[in->blocks] = from;
  in->block[in->blocks++] = block;
}

/* Neighbour of r in the grid: down or up in dimension d; -1: there is none. */
static int grid_neighbour(int r, int d, int step) {
  int at[2] = {r / grid_dims[1], r % grid_dims[1]};
  at[d] += step;
  if (at[d] < 0 || at[d] >= grid_dims[d]) {
    if (!is_periodic[d]) return -1;
    at[d] = (at[d] + grid_dims[d]) % grid_dims[d];
  }
  return at[0] * grid_dims[1] + at[1];
}

static void plan_neighbours(int is_gather) {
  if (c.comm == grid) {
    for (int r = 0; r < size; ++r) {
      c.out[r].blocks = is_gather ? 1 : 4;
      for (int i = 0; i < 4; ++i)
        take(r, grid_neighbour(r, i / 2, i % 2 == 0 ? -1 : 1), is_gather ? 0 : i ^ 1);
    }
    return;
  }
  for (int r = 0; r < size; ++r) {
    c.out[r].blocks = is_gather ? 1 : edges[r];
    for (int from = 0; from < size; ++from)
      for (int e = 0; e < edges[from]; ++e)
        if (edge_to[from][e] == r) take(r, from, is_gather ? 0 : e);
  }
}

static int is_other(int a, int b) { return !c.is_inter || (a < low) != (b < low); }
/* The number of r among those that it is one of. */
static int number_of(int r) { return c.is_inter && r >= low ? r - low : r; }

static void plan_blocks(void) {
  const enum op op = c.op;
  const int many = is_in(op, kAlltoall, kAlltoallw);
  if (op >= kNeighborAllgather) {
    plan_neighbours(op <= kNeighborAllgatherv);
    return;
  }
  for (int r = 0; r < size; ++r) {
    if (is_in(op, kScatter, kScatterv) || op == kBcast) {
      if (r == c.root)
        for (int to = 0; to < size; ++to)
          c.out[r].blocks += op != kBcast && is_other(r, to);
      if (r == c.root && op == kBcast) c.out[r].blocks = 1;
      if (r == c.root ? !c.is_inter && op != kBcast : is_other(r, c.root))
        take(r, c.root, op == kBcast ? 0 : number_of(r));
      continue;
    }
    if (is_in(op, kGather, kGatherv)) {
      c.out[r].blocks = is_other(r, c.root) && !(c.is_inter && r == c.root);
      for (int from = 0; from < size && r == c.root; ++from)
        if (is_other(r, from)) take(r, from, 0);
      continue;
    }
    for (int from = 0; from < size; ++from)
      if (is_other(r, from)) take(r, from, many ? number_of(r) : 0);
    c.out[r].blocks = many ? c.in[r].blocks : 1;
  }
}

static void make_plan(source* s) {
  memset(&c, 0, sizeof c);
  c.op = (enum op)draw(s, 0, kOps - 1);
  c.form = (int)draw(s, 0, 2);
  c.root = (int)draw(s, 0, size - 1);
  c.u = random_unit(s);
  const int bases[] = {1, 12, 12, 60, 720};
  c.base = bases[draw(s, 0, size > 8 ? 2 : 4)];
  c.comm = world;
  if (c.op >= kNeighborAllgather) c.comm = one_in(s, 2) ? grid : graph;
  if (c.op < kNeighborAllgather && inter != MPI_COMM_NULL && one_in(s, 3)) {
    c.is_inter = 1;
    c.comm = inter;
  }
  if (!c.is_inter && is_in(c.op, kGather, kAlltoallw)) c.is_in_place = one_in(s, 3);
  plan_blocks();
  const int even = (int)draw(s, 1, 3) * c.base;
  /* Between two groups each direction of an even one could have an amount of its own. */
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < c.out[r].blocks; ++i)
      c.out[r].units[i] = is_v(c.op) ? (int)draw(s, 0, 3) * c.base : even;
  if (c.is_in_place &&
      is_in(c.op, kAlltoallv, kAlltoallw)) /* what comes is as long as what goes */
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < r; ++i) c.out[r].units[i] = c.out[i].units[r];
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < c.in[r].blocks; ++i) {
      const int from = c.in[r].from[i];
      c.in[r].units[i] = from >= 0    ? c.out[from].units[c.in[r].block[i]]
                         : is_v(c.op) ? 0
                                      : even;
    }
}

/* ---- types and buffers ---- */

/* Where the blocks lie, and a type that fits them. */
static void furnish(side* p, source* s) {
  int order[kMostRanks], most = 0;
  for (int i = 0; i < p->blocks; ++i) {
    order[i] = i;
    if (p->units[i] > most) most = p->units[i];
  }
  const int gap = is_v(c.op) && one_in(s, 2) ? (int)draw(s, 1, 3) : 0;
  for (int i = p->blocks - 1; i > 0 && is_v(c.op); --i) {
    const int k = (int)draw(s, 0, i), swapped = order[i];
    order[i] = order[k];
    order[k] = swapped;
  }
  type_model type;
  int per_type, slot;
  for (int tries = 0;; ++tries) {
    type = random_type(&c.u, tries < 20 ? 3 : 0, s);
    per_type = type.count / c.u.count;
    slot = most / per_type + gap;
    if (c.base % per_type == 0 &&
        (tries > 30 || is_fine(&type, (long)slot * p->blocks + 1)))
      break;
    drop(&type);
  }
  p->key = next_number(s);
  p->all = make_buffer(type, slot * p->blocks + 1, p->key);
  for (int i = 0; i < p->blocks; ++i) {
    p->count[i] = p->units[i] / per_type;
    p->first[i] = order[i] * slot;
    p->bytes[i] = (int)(p->first[i] * extent_of(&type));
    p->types[i] = type.handle;
  }
}

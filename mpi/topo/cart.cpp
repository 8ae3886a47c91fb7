// Bodies of MPI-4.1 section 8.5 for Cartesian grids.

#include <fmt/format.h>

#include <algorithm>

#include "mpi/impl/topology.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/comm_make.h"
#include "mpi/objects/topology.h"
#include "mpi/topo/dims.h"

namespace mpc::mpi {

namespace impl {
namespace {

// The number of points of a grid; errors name the dimension.
Err grid_size(const Comm& comm, int ndims, std::span<const int> dims, int* out) {
  if (ndims < 0) return fail(MPI_ERR_DIMS, fmt::format("ndims {} is negative", ndims));
  int64_t size = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] <= 0)
      return fail(MPI_ERR_DIMS, fmt::format("dims[{}] is {}", i, dims[i]));
    size *= dims[i];
    if (size > comm.size())
      return fail(MPI_ERR_TOPOLOGY,
                  fmt::format("the grid has more points than {} has ranks ({})",
                              comm.display_name(), comm.size()));
  }
  *out = static_cast<int>(size);
  return kSuccess;
}

Err check_room(int given, size_t needed, const char* name) {
  if (given >= 0 && static_cast<size_t>(given) >= needed) return kSuccess;
  return fail(MPI_ERR_ARG,
              fmt::format("{} is {}, the grid has {} dimensions", name, given, needed));
}

}  // namespace

Err cart_create(Comm& comm, int ndims, std::span<const int> dims,
                std::span<const int> periods, bool /*reorder*/, MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  int points = 0;
  MPC_MPI_TRY(grid_size(comm, ndims, dims, &points));
  std::shared_ptr<ContextRoom> room;
  Comm* made = first_ranks(
      comm, points, MeetingKind::kTopology,
      [&](ContextRoom& r) {
        auto topology = std::make_shared<Topology>();
        topology->kind = MPI_CART;
        topology->dims.assign(dims.begin(), dims.end());
        for (const int period : periods) topology->periods.push_back(period != 0);
        r.shared = std::move(topology);
      },
      &room);
  if (made == nullptr) return kSuccess;
  made->topology = std::static_pointer_cast<const Topology>(room->shared);
  *out = made->handle();
  return kSuccess;
}

Err cart_map(Comm& comm, int ndims, std::span<const int> dims, std::span<const int>,
             int* newrank) {
  int points = 0;
  MPC_MPI_TRY(grid_size(comm, ndims, dims, &points));
  *newrank = comm.rank() < points ? comm.rank() : MPI_UNDEFINED;
  return kSuccess;
}

Err cartdim_get(Comm& comm, int* ndims) {
  const Topology* grid = nullptr;
  MPC_MPI_TRY(get_topology(comm, MPI_CART, &grid));
  *ndims = static_cast<int>(grid->dims.size());
  return kSuccess;
}

Err cart_get(Comm& comm, int maxdims, std::span<int> dims, std::span<int> periods,
             std::span<int> coords) {
  const Topology* grid = nullptr;
  MPC_MPI_TRY(get_topology(comm, MPI_CART, &grid));
  const size_t n = grid->dims.size();
  MPC_MPI_TRY(check_room(maxdims, n, "maxdims"));
  std::copy_n(grid->dims.begin(), n, dims.begin());
  std::copy_n(grid->periods.begin(), n, periods.begin());
  if (n > 0) cart_coords_of(*grid, comm.rank(), coords.data());
  return kSuccess;
}

Err cart_rank(Comm& comm, std::span<const int> coords, int* rank) {
  const Topology* grid = nullptr;
  MPC_MPI_TRY(get_topology(comm, MPI_CART, &grid));
  std::vector<int> inside(coords.begin(),
                          coords.begin() + static_cast<long>(grid->dims.size()));
  for (size_t i = 0; i < inside.size(); ++i) {
    const int extent = grid->dims[i];
    if (inside[i] >= 0 && inside[i] < extent) continue;
    if (grid->periods[i] == 0)
      return fail(MPI_ERR_ARG, fmt::format("coords[{}] is {}, outside of 0..{}", i,
                                           inside[i], extent - 1));
    inside[i] = (inside[i] % extent + extent) % extent;
  }
  *rank = cart_rank_of(*grid, inside.data());
  return kSuccess;
}

Err cart_coords(Comm& comm, int rank, int maxdims, std::span<int> coords) {
  const Topology* grid = nullptr;
  MPC_MPI_TRY(get_topology(comm, MPI_CART, &grid));
  MPC_MPI_TRY(check_room(maxdims, grid->dims.size(), "maxdims"));
  if (rank < 0 || rank >= comm.size())
    return fail(MPI_ERR_RANK,
                fmt::format("rank {} is not in 0..{}", rank, comm.size() - 1));
  if (!grid->dims.empty()) cart_coords_of(*grid, rank, coords.data());
  return kSuccess;
}

Err cart_shift(Comm& comm, int direction, int disp, int* source, int* destination) {
  const Topology* grid = nullptr;
  MPC_MPI_TRY(get_topology(comm, MPI_CART, &grid));
  if (direction < 0 || static_cast<size_t>(direction) >= grid->dims.size())
    return fail(MPI_ERR_ARG, fmt::format("direction {} is not in 0..{}", direction,
                                         static_cast<int>(grid->dims.size()) - 1));
  *source = cart_neighbour(*grid, comm.rank(), direction, -disp);
  *destination = cart_neighbour(*grid, comm.rank(), direction, disp);
  return kSuccess;
}

Err cart_sub(Comm& comm, std::span<const int> remain, MPI_Comm* out) {
  const Topology* grid = nullptr;
  MPC_MPI_TRY(get_topology(comm, MPI_CART, &grid));
  const size_t n = grid->dims.size();
  std::vector<int> coords(n);
  cart_coords_of(*grid, comm.rank(), coords.data());
  auto topology = std::make_shared<Topology>();
  topology->kind = MPI_CART;
  int color = 0, key = 0;
  for (size_t i = 0; i < n; ++i) {
    if (remain[i] != 0) {
      topology->dims.push_back(grid->dims[i]);
      topology->periods.push_back(grid->periods[i]);
      key = key * grid->dims[i] + coords[i];
    } else {
      color = color * grid->dims[i] + coords[i];
    }
  }
  Comm* made = nullptr;
  MPC_MPI_TRY(split_comm(comm, color, key, "MPI_Cart_sub", &made));
  made->topology = std::move(topology);
  *out = made->handle();
  return kSuccess;
}

Err dims_create(int nnodes, int ndims, std::span<int> dims) {
  if (ndims < 0) return fail(MPI_ERR_DIMS, fmt::format("ndims {} is negative", ndims));
  if (nnodes <= 0) return fail(MPI_ERR_ARG, fmt::format("nnodes is {}", nnodes));
  int64_t fixed = 1;
  std::vector<size_t> free_dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0)
      return fail(MPI_ERR_DIMS, fmt::format("dims[{}] is {}", i, dims[i]));
    if (dims[i] == 0)
      free_dims.push_back(i);
    else
      fixed *= dims[i];
    if (fixed > nnodes) break;
  }
  if (fixed > nnodes || nnodes % fixed != 0 ||
      (free_dims.empty() && ndims > 0 && fixed != nnodes))
    return fail(MPI_ERR_DIMS, fmt::format("{} nodes cannot be arranged with the given "
                                          "dimensions, whose product is {}",
                                          nnodes, fixed));
  if (free_dims.empty()) return kSuccess;
  const std::vector<int> factors = balanced_factors(static_cast<int>(nnodes / fixed),
                                                    static_cast<int>(free_dims.size()));
  for (size_t i = 0; i < free_dims.size(); ++i) dims[free_dims[i]] = factors[i];
  return kSuccess;
}

}  // namespace impl
}  // namespace mpc::mpi

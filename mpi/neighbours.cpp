// The neighbours of a rank in a topology, in the order of neighbourhood collectives' buffers
// (MPI-4.1 section 8.6).

#include <fmt/format.h>

#include "mpi/comm.h"
#include "mpi/topology.h"

namespace mpc::mpi {
namespace {

// For each dimension the neighbour below, then the one above.
void grid_neighbours(const Topology& topology, int rank, std::vector<int>* out) {
  const size_t dims = topology.dims.size();
  std::vector<int> coords(dims);
  cart_coords_of(topology, rank, coords.data());
  for (size_t d = 0; d < dims; ++d) {
    const int here = coords[d], extent = topology.dims[d];
    for (const int step : {-1, 1}) {
      const int there = here + step;
      const bool inside = there >= 0 && there < extent;
      if (!inside && topology.periods[d] == 0) {
        out->push_back(MPI_PROC_NULL);
        continue;
      }
      coords[d] = (there + extent) % extent;
      out->push_back(cart_rank_of(topology, coords.data()));
    }
    coords[d] = here;
  }
}

void graph_neighbours(const Topology& topology, int rank, std::vector<int>* out) {
  const auto r = static_cast<size_t>(rank);
  const int begin = rank == 0 ? 0 : topology.index[r - 1];
  out->assign(topology.edges.begin() + begin, topology.edges.begin() + topology.index[r]);
}

}  // namespace

Err neighbours_of(Comm& comm, Neighbours* out) {
  const Topology* topology = comm.topology.get();
  switch (topology == nullptr ? MPI_UNDEFINED : topology->kind) {
    case MPI_CART:
      grid_neighbours(*topology, comm.rank(), &out->sources);
      out->destinations = out->sources;
      return kSuccess;
    case MPI_GRAPH:
      graph_neighbours(*topology, comm.rank(), &out->sources);
      out->destinations = out->sources;
      return kSuccess;
    case MPI_DIST_GRAPH:
      out->sources = topology->sources;
      out->destinations = topology->destinations;
      return kSuccess;
    default:
      return fail(MPI_ERR_TOPOLOGY,
                  fmt::format("{} has no topology; neighbourhood collectives need one made by "
                              "MPI_Cart_create, MPI_Graph_create or MPI_Dist_graph_create*",
                              comm.display_name()));
  }
}

int cart_rank_of(const Topology& topology, const int* coords) noexcept {
  int rank = 0;
  for (size_t d = 0; d < topology.dims.size(); ++d) rank = rank * topology.dims[d] + coords[d];
  return rank;
}

void cart_coords_of(const Topology& topology, int rank, int* coords) noexcept {
  for (size_t d = topology.dims.size(); d-- > 0;) {
    coords[d] = rank % topology.dims[d];
    rank /= topology.dims[d];
  }
}

}  // namespace mpc::mpi

#include "mpi/objects/topology.h"

#include <fmt/format.h>

#include "mpi/objects/comm.h"

namespace mpc::mpi {

int cart_rank_of(const Topology& topology, const int* coords) noexcept {
  int rank = 0;
  for (size_t i = 0; i < topology.dims.size(); ++i)
    rank = rank * topology.dims[i] + coords[i];
  return rank;
}

void cart_coords_of(const Topology& topology, int rank, int* coords) noexcept {
  for (size_t i = topology.dims.size(); i-- > 0;) {
    coords[i] = rank % topology.dims[i];
    rank /= topology.dims[i];
  }
}

int cart_neighbour(const Topology& topology, int rank, int direction,
                   int distance) noexcept {
  const auto d = static_cast<size_t>(direction);
  int step = 1;  // in ranks, of one step in the direction
  for (size_t i = d + 1; i < topology.dims.size(); ++i) step *= topology.dims[i];
  const int64_t extent = topology.dims[d];
  const int64_t from = rank / step % extent;
  int64_t at = from + distance;
  if (at < 0 || at >= extent) {
    if (topology.periods[d] == 0) return MPI_PROC_NULL;
    at = (at % extent + extent) % extent;
  }
  return rank + static_cast<int>(at - from) * step;
}

Err get_topology(const Comm& comm, int kind, const Topology** out) {
  if (comm.topology && comm.topology->kind == kind) {
    *out = comm.topology.get();
    return kSuccess;
  }
  const char* what = kind == MPI_CART    ? "Cartesian topology"
                     : kind == MPI_GRAPH ? "graph topology"
                                         : "distributed graph topology";
  return fail(MPI_ERR_TOPOLOGY, fmt::format("{} has no {}", comm.display_name(), what));
}

std::span<const int> graph_neighbours_of(const Topology& graph, int rank) noexcept {
  const auto r = static_cast<size_t>(rank);
  const auto first = static_cast<size_t>(rank == 0 ? 0 : graph.index[r - 1]);
  return std::span(graph.edges)
      .subspan(first, static_cast<size_t>(graph.index[r]) - first);
}

Err neighbours_of(Comm& comm, Neighbours* out) {
  const Topology* topology = comm.topology.get();
  if (topology == nullptr)
    return fail(MPI_ERR_TOPOLOGY,
                fmt::format("{} has no topology", comm.display_name()));
  out->sources.clear();
  switch (topology->kind) {
    case MPI_CART:
      for (int i = 0; i < static_cast<int>(topology->dims.size()); ++i) {
        out->sources.push_back(cart_neighbour(*topology, comm.rank(), i, -1));
        out->sources.push_back(cart_neighbour(*topology, comm.rank(), i, +1));
      }
      out->destinations = out->sources;
      break;
    case MPI_GRAPH: {
      const std::span<const int> all = graph_neighbours_of(*topology, comm.rank());
      out->sources.assign(all.begin(), all.end());
      out->destinations = out->sources;
      break;
    }
    default:
      out->sources = topology->sources;
      out->destinations = topology->destinations;
  }
  return kSuccess;
}

}  // namespace mpc::mpi

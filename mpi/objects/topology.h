#pragma once
// Topology: a communicator's Cartesian grid, graph, or distributed graph.
//
// Role:      MPI-4.1 chapter 8; neighbours in buffer order for neighbourhood collectives.
// Users:     bodies of mpi/.
// Threads:   immutable; graph tables are shared by the ranks of the communicator.

#include <span>
#include <vector>

#include "mpi.h"
#include "mpi/objects/error.h"

namespace mpc::mpi {

class Comm;

struct Topology {
  int kind = MPI_UNDEFINED;  // MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH
  // MPI_CART
  std::vector<int> dims, periods;
  // MPI_GRAPH: the tables of the whole graph
  std::vector<int> index, edges;
  // MPI_DIST_GRAPH: the neighbours of this rank
  std::vector<int> sources, source_weights, destinations, destination_weights;
  bool is_weighted = false;
};

// The neighbours of the calling rank in the order of neighbourhood collectives' buffers;
// MPI_PROC_NULL beyond the edge of a grid. Errors: MPI_ERR_TOPOLOGY if there is no topology.
struct Neighbours {
  std::vector<int> sources, destinations;
};
Err neighbours_of(Comm& comm, Neighbours* out);

// Errors: MPI_ERR_TOPOLOGY if the communicator has no topology of that kind.
Err get_topology(const Comm& comm, int kind, const Topology** out);
// The neighbours of a rank of a graph (MPI_GRAPH), in the order of its edges.
std::span<const int> graph_neighbours_of(const Topology& graph, int rank) noexcept;
// The rank `distance` further in a direction of a grid, or MPI_PROC_NULL.
int cart_neighbour(const Topology& topology, int rank, int direction,
                   int distance) noexcept;

// Row-major rank of coordinates that are inside the grid, and back.
int cart_rank_of(const Topology& topology, const int* coords) noexcept;
void cart_coords_of(const Topology& topology, int rank, int* coords) noexcept;

}  // namespace mpc::mpi

// Bodies of MPI-4.1 section 8.5 for graphs and distributed graphs.

#include <fmt/format.h>

#include <algorithm>

#include "mpi/impl/topology.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/comm_make.h"
#include "mpi/objects/topology.h"
#include "mpi/topo/graph_room.h"

namespace mpc::mpi {
namespace impl {
namespace {

Err check_graph(const Comm& comm, int nnodes, std::span<const int> index,
                std::span<const int> edges) {
  if (nnodes < 0 || nnodes > comm.size())
    return fail(MPI_ERR_ARG,
                fmt::format("nnodes {} is not in 0..{}", nnodes, comm.size()));
  int last = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] < last)
      return fail(MPI_ERR_ARG, fmt::format("index[{}] is {}, less than the one before",
                                           i, index[i]));
    last = index[i];
  }
  for (size_t i = 0; i < edges.size(); ++i)
    if (edges[i] < 0 || edges[i] >= nnodes)
      return fail(MPI_ERR_ARG, fmt::format("edges[{}] is {}, not in 0..{}", i, edges[i],
                                           nnodes - 1));
  return kSuccess;
}

Err check_neighbours(const Comm& comm, std::span<const int> ranks, const char* name) {
  for (size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] < 0 || ranks[i] >= comm.size())
      return fail(MPI_ERR_RANK, fmt::format("{}[{}] is {}, not in 0..{}", name, i,
                                            ranks[i], comm.size() - 1));
  return kSuccess;
}

bool has_weights(const int* weights) noexcept {
  return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
}

void copy_first(std::span<const int> from, int room, std::span<int> to) {
  const size_t n = std::min(from.size(), static_cast<size_t>(std::max(room, 0)));
  std::copy_n(from.begin(), n, to.begin());
}

void copy_weights(const std::vector<int>& from, int room, int* to) {
  if (to == nullptr || !has_weights(to)) return;
  std::copy_n(from.begin(),
              std::min(from.size(), static_cast<size_t>(std::max(room, 0))), to);
}

Err make_dist_graph(Comm& comm, std::shared_ptr<Topology> topology, Info*,
                    MPI_Comm* out) {
  Comm* made = first_ranks(comm, comm.size(), MeetingKind::kTopology);
  made->topology = std::move(topology);
  *out = made->handle();
  return kSuccess;
}

}  // namespace

Err topo_test(Comm& comm, int* status) {
  *status = comm.topology ? comm.topology->kind : MPI_UNDEFINED;
  return kSuccess;
}

// --- graphs ---------------------------------------------------------------------------------

Err graph_create(Comm& comm, int nnodes, std::span<const int> index,
                 std::span<const int> edges, bool /*reorder*/, MPI_Comm* out) {
  MPC_MPI_TRY(check_graph(comm, nnodes, index, edges));
  std::shared_ptr<ContextRoom> room;
  Comm* made = first_ranks(
      comm, nnodes, MeetingKind::kTopology,
      [&](ContextRoom& r) {
        auto topology = std::make_shared<Topology>();
        topology->kind = MPI_GRAPH;
        topology->index.assign(index.begin(), index.end());
        topology->edges.assign(edges.begin(), edges.end());
        r.shared = std::move(topology);
      },
      &room);
  *out = MPI_COMM_NULL;
  if (made == nullptr) return kSuccess;
  made->topology = std::static_pointer_cast<const Topology>(room->shared);
  *out = made->handle();
  return kSuccess;
}

Err graph_map(Comm& comm, int nnodes, std::span<const int> index,
              std::span<const int> edges, int* newrank) {
  MPC_MPI_TRY(check_graph(comm, nnodes, index, edges));
  *newrank = comm.rank() < nnodes ? comm.rank() : MPI_UNDEFINED;
  return kSuccess;
}

Err graphdims_get(Comm& comm, int* nnodes, int* nedges) {
  const Topology* graph = nullptr;
  MPC_MPI_TRY(get_topology(comm, MPI_GRAPH, &graph));
  *nnodes = static_cast<int>(graph->index.size());
  *nedges = static_cast<int>(graph->edges.size());
  return kSuccess;
}

Err graph_get(Comm& comm, int maxindex, int maxedges, std::span<int> index,
              std::span<int> edges) {
  const Topology* graph = nullptr;
  MPC_MPI_TRY(get_topology(comm, MPI_GRAPH, &graph));
  copy_first(graph->index, maxindex, index);
  copy_first(graph->edges, maxedges, edges);
  return kSuccess;
}

Err graph_neighbors_count(Comm& comm, int rank, int* count) {
  const Topology* graph = nullptr;
  MPC_MPI_TRY(get_topology(comm, MPI_GRAPH, &graph));
  MPC_MPI_TRY(check_neighbours(comm, {&rank, 1}, "rank"));
  *count = static_cast<int>(graph_neighbours_of(*graph, rank).size());
  return kSuccess;
}

Err graph_neighbors(Comm& comm, int rank, int room, std::span<int> neighbours) {
  const Topology* graph = nullptr;
  MPC_MPI_TRY(get_topology(comm, MPI_GRAPH, &graph));
  MPC_MPI_TRY(check_neighbours(comm, {&rank, 1}, "rank"));
  copy_first(graph_neighbours_of(*graph, rank), room, neighbours);
  return kSuccess;
}

// --- distributed graphs ---------------------------------------------------------------------

Err dist_graph_create_adjacent(Comm& comm, int, std::span<const int> sources,
                               const int* source_weights, int,
                               std::span<const int> destinations,
                               const int* destination_weights, Info* info,
                               bool /*reorder*/, MPI_Comm* out) {
  MPC_MPI_TRY(check_neighbours(comm, sources, "sources"));
  MPC_MPI_TRY(check_neighbours(comm, destinations, "destinations"));
  auto topology = std::make_shared<Topology>();
  topology->kind = MPI_DIST_GRAPH;
  topology->sources.assign(sources.begin(), sources.end());
  topology->destinations.assign(destinations.begin(), destinations.end());
  topology->is_weighted = source_weights != MPI_UNWEIGHTED;
  if (has_weights(source_weights) && !sources.empty())
    topology->source_weights.assign(source_weights, source_weights + sources.size());
  if (has_weights(destination_weights) && !destinations.empty())
    topology->destination_weights.assign(destination_weights,
                                         destination_weights + destinations.size());
  return make_dist_graph(comm, std::move(topology), info, out);
}

Err dist_graph_create(Comm& comm, int, std::span<const int> sources,
                      std::span<const int> degrees, std::span<const int> destinations,
                      const int* weights, Info* info, bool /*reorder*/, MPI_Comm* out) {
  MPC_MPI_TRY(check_neighbours(comm, sources, "sources"));
  MPC_MPI_TRY(check_neighbours(comm, destinations, "destinations"));
  std::vector<GraphRoom::Given> mine;
  size_t edge = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    for (int k = 0; k < degrees[i]; ++k, ++edge)
      mine.push_back(
          {sources[i], destinations[edge], has_weights(weights) ? weights[edge] : 1});
  }
  const auto me = static_cast<size_t>(comm.rank());
  auto room = meet<GraphRoom>(
      comm.self(), meeting_key(MeetingKind::kTopology, comm), comm.members(),
      [&](GraphRoom& r) { r.visit(comm.size(), comm.rank(), std::move(mine)); },
      "MPI_Dist_graph_create");
  auto topology = std::make_shared<Topology>();
  topology->kind = MPI_DIST_GRAPH;
  topology->is_weighted = weights != MPI_UNWEIGHTED;
  for (const auto& half : room->in[me]) {
    topology->sources.push_back(half.peer);
    topology->source_weights.push_back(half.weight);
  }
  for (const auto& half : room->out[me]) {
    topology->destinations.push_back(half.peer);
    topology->destination_weights.push_back(half.weight);
  }
  return make_dist_graph(comm, std::move(topology), info, out);
}

Err dist_graph_neighbors_count(Comm& comm, int* indegree, int* outdegree,
                               int* weighted) {
  const Topology* graph = nullptr;
  MPC_MPI_TRY(get_topology(comm, MPI_DIST_GRAPH, &graph));
  *indegree = static_cast<int>(graph->sources.size());
  *outdegree = static_cast<int>(graph->destinations.size());
  *weighted = graph->is_weighted;
  return kSuccess;
}

Err dist_graph_neighbors(Comm& comm, int maxindegree, std::span<int> sources,
                         int* source_weights, int maxoutdegree,
                         std::span<int> destinations, int* destination_weights) {
  const Topology* graph = nullptr;
  MPC_MPI_TRY(get_topology(comm, MPI_DIST_GRAPH, &graph));
  copy_first(graph->sources, maxindegree, sources);
  copy_first(graph->destinations, maxoutdegree, destinations);
  if (graph->is_weighted) {
    copy_weights(graph->source_weights, maxindegree, source_weights);
    copy_weights(graph->destination_weights, maxoutdegree, destination_weights);
  }
  return kSuccess;
}

}  // namespace impl
}  // namespace mpc::mpi

#pragma once
// GraphRoom: the edges of a distributed graph, collected from all ranks.
//
// Role:      MPI_Dist_graph_create, where any rank may name any edge.
// Users:     mpi/topo/graph.cpp.
// Threads:   as rooms (mpi/objects/meeting.h).
// See also:  MPI-4.1 section 8.5.4.

#include <vector>

#include "mpi/objects/meeting.h"

namespace mpc::mpi {

struct GraphRoom final : Room {
  struct Half {
    int peer, weight;
    bool operator==(const Half&) const = default;
  };
  struct Given {
    int source, destination, weight;
  };
  std::vector<std::vector<Given>> given;   // by the rank that gave them
  std::vector<std::vector<Half>> in, out;  // by rank

  void visit(int size, int rank, std::vector<Given> edges);
  void pack(ByteWriter& writer) const override;
  void merge(ByteReader& reader) override;
  void conclude(Ids&) override;
};

}  // namespace mpc::mpi

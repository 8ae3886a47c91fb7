#include "mpi/topo/graph_room.h"

#include <span>
#include <utility>

#include "base/check.h"

namespace mpc::mpi {

void GraphRoom::visit(int size, int rank, std::vector<Given> edges) {
  given.resize(static_cast<size_t>(size));
  given[static_cast<size_t>(rank)] = std::move(edges);
}

void GraphRoom::pack(ByteWriter& writer) const {
  size_t ranks = 0;
  for (const auto& edges : given) ranks += edges.empty() ? 0 : 1;
  writer.put(ranks);
  for (size_t rank = 0; rank < given.size(); ++rank) {
    if (given[rank].empty()) continue;
    writer.put(rank);
    writer.put_all(std::span<const Given>(given[rank]));
  }
}

void GraphRoom::merge(ByteReader& reader) {
  for (auto ranks = reader.get<size_t>(); ranks > 0; --ranks) {
    const auto rank = reader.get<size_t>();
    CHECK(rank < given.size(), "a process gives edges of a rank that is not there");
    given[rank] = reader.get_all<Given>();
  }
}

void GraphRoom::conclude(Ids&) {
  in.resize(given.size());
  out.resize(given.size());
  for (const auto& edges : given) {
    for (const Given& e : edges) {
      out[static_cast<size_t>(e.source)].push_back({e.destination, e.weight});
      in[static_cast<size_t>(e.destination)].push_back({e.source, e.weight});
    }
  }
}

}  // namespace mpc::mpi

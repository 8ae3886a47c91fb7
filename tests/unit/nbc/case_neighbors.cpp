// Cases of neighbourhood collectives.
#include "tests/unit/nbc/case_maker.h"

namespace mpc::nbc::test {

void CaseMaker::neighbor() {
  const bool is_cartesian = coin();
  Neighbors all{
      c_.coll == Coll::kNeighborAllgather || c_.coll == Coll::kNeighborAlltoall,
      c_.coll == Coll::kNeighborAllgather || c_.coll == Coll::kNeighborAllgatherv,
      c_.coll == Coll::kNeighborAlltoallw,
      any_bytes(),
      {},
      {},
      {}};
  for (int i = 0; i < n_; ++i)
    all.of_rank.push_back(all.is_same ? all.same : any_bytes());
  for (RankCase& r : c_.ranks) r.shape.is_cartesian = is_cartesian;
  if (is_cartesian)
    add_grid(all);
  else
    add_graph(all);
  for (RankCase& r : c_.ranks) add_sides(all, r);
  find_senders(all);
}

int64_t CaseMaker::edge_bytes(const Neighbors& all, int from) {
  return all.is_gather ? all.of_rank[static_cast<size_t>(from)]
         : all.is_same ? all.same
                       : any_bytes();
}

// A periodic Cartesian grid, or one with ends, with dimensions of 1, 2 and more.
void CaseMaker::add_grid(Neighbors& all) {
  int dims[2] = {1, n_};
  for (int d = 2; d * d <= n_; ++d)
    if (n_ % d == 0) dims[0] = d, dims[1] = n_ / d;
  const bool is_periodic = coin();
  for (int r = 0; r < n_; ++r)
    for (int d = 0; d < 2; ++d)
      for (int sign = 0; sign < 2; ++sign) {
        const int stride = d == 0 ? dims[1] : 1;
        const int coordinate = r / stride % dims[d];
        const int next = coordinate + (sign == 0 ? -1 : 1);
        const bool is_out = next < 0 || next >= dims[d];
        const int peer = is_out && !is_periodic
                             ? -1
                             : r + ((next + dims[d]) % dims[d] - coordinate) * stride;
        auto& rank = c_.ranks[static_cast<size_t>(r)];
        rank.sources.push_back(peer);
        rank.destinations.push_back(peer);
        const int index = 2 * d + sign;
        if (peer >= 0)
          all.edges.push_back({r, index, peer, index ^ 1, edge_bytes(all, r)});
      }
}

// A random multigraph.
void CaseMaker::add_graph(Neighbors& all) {
  for (int e = below(3 * n_ + 1); e > 0; --e) {
    const int from = below(n_), to = below(n_);
    auto& out = c_.ranks[static_cast<size_t>(from)].destinations;
    auto& in = c_.ranks[static_cast<size_t>(to)].sources;
    all.edges.push_back({from, static_cast<int>(out.size()), to,
                         static_cast<int>(in.size()), edge_bytes(all, from)});
    out.push_back(to);
    in.push_back(from);
  }
}

// Its blocks; who wants what is noted as (rank, edge) until all outgoing sizes are known.
void CaseMaker::add_sides(Neighbors& all, RankCase& r) {
  const int me = r.shape.rank;
  std::vector<int64_t> out(r.destinations.size(), all.is_same ? all.same : 0);
  std::vector<int64_t> in(r.sources.size(), all.is_same ? all.same : 0);
  std::vector<const Edge*> from(r.sources.size());
  for (const Edge& e : all.edges) {
    if (e.from == me) out[static_cast<size_t>(e.out_index)] = e.bytes;
    if (e.to == me) {
      in[static_cast<size_t>(e.in_index)] = e.bytes;
      from[static_cast<size_t>(e.in_index)] = &e;
    }
  }
  if (all.is_gather) {
    r.input_bytes = all.of_rank[static_cast<size_t>(me)];
    r.send = {block(r.input_bytes, r.type_indices[0], 0)};
    r.shape.send_count = r.send[0].count;
    // An edge that the gather does not have in `in` does not exist: its sender's block.
    side(r, in, r.type_indices[1], true, all.is_same, false);
  } else {
    r.input_bytes = side(r, out, r.type_indices[0], false, all.is_same, all.is_w);
    side(r, in, r.type_indices[1], true, all.is_same, all.is_w);
  }
  all.outs.push_back(out);
  for (size_t i = 0; i < in.size(); ++i)
    for (int64_t k = 0; k < in[i]; ++k)
      r.want.push_back(
          from[i] == nullptr ? Want{} : Want{{from[i]->from, from[i]->out_index}, k});
}

void CaseMaker::find_senders(const Neighbors& all) {
  // From (rank, edge) to (rank, byte of its input).
  for (RankCase& r : c_.ranks)
    for (Want& want : r.want) {
      if (want.ranks.empty()) continue;
      const auto& out = all.outs[static_cast<size_t>(want.ranks[0])];
      if (!all.is_gather)
        for (int i = 0; i < want.ranks[1]; ++i)
          want.index += out[static_cast<size_t>(i)];
      want.ranks.pop_back();
    }
}

}  // namespace mpc::nbc::test

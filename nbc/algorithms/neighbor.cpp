// Neighbourhood collectives: to each destination, from each source.
#include <map>
#include <utility>

#include "nbc/algorithms/parts.h"

namespace mpc::nbc {

namespace {

// Tags of edges. In a graph the k-th edge to a rank meets the k-th edge from it. In a Cartesian
// topology neighbours come in pairs (negative, positive) per dimension, and data sent in one
// direction arrives from the other, although both may be the same rank.
class EdgeTags {
 public:
  EdgeTags(bool is_cartesian, bool is_incoming)
      : is_cartesian_(is_cartesian), is_incoming_(is_incoming) {}
  // If below kTagsPerCollective, the tag; otherwise the remainder is the tag.
  int next(int index, int peer) {
    if (is_cartesian_) return is_incoming_ ? index ^ 1 : index;
    return seen_[peer]++;
  }
  // If two ranks have so many edges that tags are used again, these edges keep their order.
  void keep_order(B& b, int peer, int tag, NodeId node) {
    NodeId& last = last_.try_emplace({peer, tag}, kNoNode).first->second;
    b.connect(last, node);
    last = node;
  }

 private:
  bool is_cartesian_, is_incoming_;
  std::map<int, int> seen_;
  std::map<std::pair<int, int>, NodeId> last_;
};

// An edge with data.
struct Edge {
  int peer, tag;
  BufferRef ref;
};

// In passes, so that edges whose tags are used again are
// created after all edges of the pass before.
template <class Make>
void make_pass(const std::vector<Edge>& edges, int pass, EdgeTags& tags, B& b,
               Make make) {
  for (const Edge& e : edges) {
    if (e.tag / kTagsPerCollective != pass) continue;
    const int tag = e.tag % kTagsPerCollective;
    tags.keep_order(b, e.peer, tag, make(e.peer, e.ref, tag));
  }
}

void neighbor_linear(B& b, const Shape& s) {
  const int destinations = static_cast<int>(s.destinations.size());
  EdgeTags in_tags(s.is_cartesian, true), out_tags(s.is_cartesian, false);
  std::vector<Edge> in, out;
  int passes = 1;
  for (size_t i = 0; i < s.sources.size(); ++i) {
    const int peer = s.sources[i], index = static_cast<int>(i);
    if (peer < 0) continue;
    const int tag = in_tags.next(index, peer);
    const BufferRef ref = recv_block(s, index, destinations);
    if (total_bytes(ref.count, recv_block_type(s, index)) > 0)
      in.push_back({peer, tag, ref});
    passes = std::max(passes, tag / kTagsPerCollective + 1);
  }
  for (size_t i = 0; i < s.destinations.size(); ++i) {
    const int peer = s.destinations[i], index = static_cast<int>(i);
    if (peer < 0) continue;
    const int tag = out_tags.next(index, peer);
    const BufferRef ref = send_block(s, index);
    if (total_bytes(ref.count, send_block_type(s, index)) > 0)
      out.push_back({peer, tag, ref});
    passes = std::max(passes, tag / kTagsPerCollective + 1);
  }
  for (int pass = 0; pass < passes; ++pass) {
    make_pass(in, pass, in_tags, b,
              [&](int peer, BufferRef to, int tag) { return b.recv(peer, to, tag); });
    make_pass(out, pass, out_tags, b, [&](int peer, BufferRef from, int tag) {
      return b.send(peer, from, tag);
    });
  }
}

constexpr Algorithm kNeighbor[] = {
    {Coll::kNeighborAllgather, "linear", kNoRestriction, "all edges at once",
     neighbor_linear},
    {Coll::kNeighborAllgatherv, "linear", kNoRestriction, "all edges at once",
     neighbor_linear},
    {Coll::kNeighborAlltoall, "linear", kNoRestriction, "all edges at once",
     neighbor_linear},
    {Coll::kNeighborAlltoallv, "linear", kNoRestriction, "all edges at once",
     neighbor_linear},
    {Coll::kNeighborAlltoallw, "linear", kNoRestriction, "all edges at once",
     neighbor_linear},
};

}  // namespace

std::span<const Algorithm> neighbor_algorithms() { return kNeighbor; }

}  // namespace mpc::nbc

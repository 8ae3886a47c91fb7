#pragma once
// Coll: the collectives, and one table with the properties of each.
//
// Role:      the word that models, algorithms and settings share; facts that do not depend on the
//            algorithm, so that no code lists collectives in a switch for them.
// Users:     nbc/algorithms, nbc/model, nbc/overlap, sim, mpi, tools/mpcinfo.
// Threads:   pure functions.
// See also:  nbc/algorithms/collectives.h.

#include <cstdint>
#include <optional>
#include <string_view>

namespace mpc::nbc {

enum class Coll : uint8_t {
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kReduce,
  kAllreduce,
  kReduceScatterBlock,
  kReduceScatter,
  kScan,
  kExscan,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
};
inline constexpr int kCollCount = 22;

// What a buffer of the call holds: the user's at a rank, or at the root of a rooted collective.
enum class Layout : uint8_t {
  kNone,     // there is no such buffer
  kWhole,    // one block: the same for everyone, or a reduction's vector
  kBlocks,   // a block for each rank, all of one size
  kCounted,  // a block for each rank with a count and a displacement: v forms
  kTyped,    // a block for each rank with a count, a displacement and a type: w forms
};

enum class RootRole : uint8_t { kNoRoot, kSends, kReceives };

struct CollTraits {
  Coll coll;
  const char* name;
  Layout send, recv;  // bcast: its one buffer is `recv`
  RootRole root;
  bool is_reduction;
  bool
      has_split_tree;  // it has algorithms over a tree whose levels can be split (Shape::split)
  bool is_neighborhood;

  bool is_rooted() const noexcept { return root != RootRole::kNoRoot; }
  // Ranks have blocks of their own, not all the same data.
  bool has_blocks() const noexcept {
    return send >= Layout::kBlocks || recv >= Layout::kBlocks;
  }
  // Blocks have individual sizes.
  bool is_irregular() const noexcept {
    return send >= Layout::kCounted || recv >= Layout::kCounted;
  }
  // An edge of a tree carries the blocks of all ranks below it: gather and scatter.
  bool gathers_on_the_way() const noexcept {
    return is_rooted() && has_blocks() && !is_irregular();
  }
};
const CollTraits& traits_of(Coll coll) noexcept;

const char* name_of(Coll coll) noexcept;  // "reduce_scatter_block"
std::optional<Coll> coll_of_name(std::string_view name) noexcept;

}  // namespace mpc::nbc

#pragma once
// Coll: the names of the collectives.
//
// Role:      what a schedule is of; the word that models, algorithms and settings share.
// Users:     nbc/algorithms, nbc/model, sim, mpi, tools/mpcinfo.
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
const char* name_of(Coll coll) noexcept;  // "reduce_scatter_block"
std::optional<Coll> coll_of_name(std::string_view name) noexcept;

}  // namespace mpc::nbc

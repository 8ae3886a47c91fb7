#include "nbc/schedule/coll.h"

namespace mpc::nbc {

namespace {

using enum Layout;
using enum RootRole;

// clang-format off
constexpr CollTraits kTraits[kCollCount] = {
    //                                                    send      recv      root       reduction, split tree, neighbours
    {Coll::kBarrier, "barrier",                           kNone,    kNone,    kNoRoot,   false, false, false},
    {Coll::kBcast, "bcast",                               kNone,    kWhole,   kSends,    false, true,  false},
    {Coll::kGather, "gather",                             kWhole,   kBlocks,  kReceives, false, true,  false},
    {Coll::kGatherv, "gatherv",                           kWhole,   kCounted, kReceives, false, true,  false},
    {Coll::kScatter, "scatter",                           kBlocks,  kWhole,   kSends,    false, true,  false},
    {Coll::kScatterv, "scatterv",                         kCounted, kWhole,   kSends,    false, true,  false},
    {Coll::kAllgather, "allgather",                       kWhole,   kBlocks,  kNoRoot,   false, false, false},
    {Coll::kAllgatherv, "allgatherv",                     kWhole,   kCounted, kNoRoot,   false, false, false},
    {Coll::kAlltoall, "alltoall",                         kBlocks,  kBlocks,  kNoRoot,   false, false, false},
    {Coll::kAlltoallv, "alltoallv",                       kCounted, kCounted, kNoRoot,   false, false, false},
    {Coll::kAlltoallw, "alltoallw",                       kTyped,   kTyped,   kNoRoot,   false, false, false},
    {Coll::kReduce, "reduce",                             kWhole,   kWhole,   kReceives, true,  true,  false},
    {Coll::kAllreduce, "allreduce",                       kWhole,   kWhole,   kNoRoot,   true,  true,  false},
    {Coll::kReduceScatterBlock, "reduce_scatter_block",   kWhole,   kWhole,   kNoRoot,   true,  false, false},
    {Coll::kReduceScatter, "reduce_scatter",              kWhole,   kWhole,   kNoRoot,   true,  false, false},
    {Coll::kScan, "scan",                                 kWhole,   kWhole,   kNoRoot,   true,  false, false},
    {Coll::kExscan, "exscan",                             kWhole,   kWhole,   kNoRoot,   true,  false, false},
    {Coll::kNeighborAllgather, "neighbor_allgather",      kWhole,   kBlocks,  kNoRoot,   false, false, true},
    {Coll::kNeighborAllgatherv, "neighbor_allgatherv",    kWhole,   kCounted, kNoRoot,   false, false, true},
    {Coll::kNeighborAlltoall, "neighbor_alltoall",        kBlocks,  kBlocks,  kNoRoot,   false, false, true},
    {Coll::kNeighborAlltoallv, "neighbor_alltoallv",      kCounted, kCounted, kNoRoot,   false, false, true},
    {Coll::kNeighborAlltoallw, "neighbor_alltoallw",      kTyped,   kTyped,   kNoRoot,   false, false, true},
};
// clang-format on

constexpr bool is_in_order() {
  for (int i = 0; i < kCollCount; ++i)
    if (static_cast<int>(kTraits[i].coll) != i) return false;
  return true;
}
static_assert(is_in_order());

}  // namespace

const CollTraits& traits_of(Coll coll) noexcept {
  return kTraits[static_cast<int>(coll)];
}

const char* name_of(Coll coll) noexcept { return traits_of(coll).name; }

std::optional<Coll> coll_of_name(std::string_view name) noexcept {
  for (const CollTraits& traits : kTraits)
    if (name == traits.name) return traits.coll;
  return std::nullopt;
}

}  // namespace mpc::nbc

#include "nbc/schedule/coll.h"

namespace mpc::nbc {

namespace {

constexpr const char* kNames[kCollCount] = {
    "barrier",
    "bcast",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "reduce",
    "allreduce",
    "reduce_scatter_block",
    "reduce_scatter",
    "scan",
    "exscan",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
};

}  // namespace

const char* name_of(Coll coll) noexcept { return kNames[static_cast<int>(coll)]; }

std::optional<Coll> coll_of_name(std::string_view name) noexcept {
  for (int i = 0; i < kCollCount; ++i)
    if (name == kNames[i]) return static_cast<Coll>(i);
  return std::nullopt;
}

}  // namespace mpc::nbc

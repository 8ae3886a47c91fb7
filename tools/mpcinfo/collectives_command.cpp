#include "tools/mpcinfo/collectives_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "mpi/coll/info.h"
#include "tools/mpcinfo/model_setting.h"
#include "tools/mpcinfo/operation.h"

namespace mpc::tools {

int collectives_command(const CollectivesOptions& options) {
  constexpr int kMostRanks = 100000;  // as mpcrun's
  if (options.ranks > kMostRanks)
    return complain({Errc::kArg, fmt::format("-n {}: a job has at most {}",
                                             options.ranks, kMostRanks)});
  std::vector<int64_t> sizes;
  for (size_t at = 0; at <= options.sizes.size();) {
    const size_t comma = std::min(options.sizes.find(',', at), options.sizes.size());
    auto bytes = parse_bytes(options.sizes.substr(at, comma - at));
    if (!bytes) return complain(bytes.error());
    sizes.push_back(*bytes);
    at = comma + 1;
  }
  const MpcCollectivesQuery query{options.machine.c_str(),
                                  options.collective.c_str(),
                                  options.ranks,
                                  options.comm_cores,
                                  sizes.data(),
                                  sizes.size(),
                                  options.is_csv};
  return mpc_info_collectives(&query);
}

}  // namespace mpc::tools

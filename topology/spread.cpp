#include "topology/spread.h"

#include <cstdint>

namespace mpc::topo {

std::vector<int> spread(int total, int count) {
  std::vector<int> picked;
  const auto before = [&](int number) {
    return static_cast<int64_t>(number) * count / total;
  };
  for (int number = 0; number < total; ++number)
    if (before(number + 1) > before(number)) picked.push_back(number);
  return picked;
}

}  // namespace mpc::topo

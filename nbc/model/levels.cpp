#include "nbc/model/levels.h"

namespace mpc::nbc {

int tree_height(int ranks) noexcept {
  return ranks <= 1 ? 0 : 32 - __builtin_clz(static_cast<unsigned>(ranks - 1));
}

int edges_at_level(int ranks, int level) noexcept {
  const int height = tree_height(ranks);
  if (level < 0 || level >= height) return 0;
  // Ranks r = k * 2 * reach with r + reach < ranks.
  const int reach = 1 << (height - level - 1);
  return (ranks - reach + 2 * reach - 1) / (2 * reach);
}

int folded_steps(int ranks, int split, int cores) noexcept {
  int steps = 0;
  for (int level = 0; level < tree_height(ranks) - split; ++level)
    steps += (edges_at_level(ranks, level) + cores - 1) / cores;
  return steps;
}

}  // namespace mpc::nbc

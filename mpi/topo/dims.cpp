#include "mpi/topo/dims.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace mpc::mpi {
namespace {

// Depth-first over the divisors in non-increasing order, with two bounds: no factor may be
// smaller than the largest one minus the best difference so far, and the rest must be able to
// reach the remaining product.
class Search {
 public:
  Search(int nodes, int count) : count_(count), now_(static_cast<size_t>(count)) {
    for (int64_t d = 1; d * d <= nodes; ++d) {
      if (nodes % d != 0) continue;
      divisors_.push_back(static_cast<int>(d));
      if (d != nodes / d) divisors_.push_back(static_cast<int>(nodes / d));
    }
    std::sort(divisors_.begin(), divisors_.end());
  }

  std::vector<int> run(int nodes) {
    // The smallest possible largest factor first: good solutions come early.
    for (const int largest : divisors_) {
      if (!reaches(largest, count_, nodes)) continue;
      now_[0] = largest;
      extend(1, nodes / largest);
    }
    return best_;
  }

 private:
  // factor^count >= product
  static bool reaches(int64_t factor, int count, int64_t product) {
    int64_t power = 1;
    for (int i = 0; i < count && power < product; ++i) power *= factor;
    return power >= product;
  }
  static bool exceeds(int64_t factor, int count, int64_t product) {
    int64_t power = 1;
    for (int i = 0; i < count && power <= product; ++i) power *= factor;
    return power > product;
  }

  void extend(int depth, int rest) {
    if (depth == count_) {
      if (rest == 1) consider();
      return;
    }
    const int left = count_ - depth;
    const int lowest = best_.empty() ? 1 : std::max(1, now_[0] - best_spread_);
    if (exceeds(lowest, left, rest)) return;
    const int previous = now_[static_cast<size_t>(depth - 1)];
    auto it =
        std::upper_bound(divisors_.begin(), divisors_.end(), std::min(previous, rest));
    while (it != divisors_.begin()) {
      const int factor = *--it;
      if (factor < lowest || !reaches(factor, left, rest)) break;
      if (rest % factor != 0) continue;
      now_[static_cast<size_t>(depth)] = factor;
      extend(depth + 1, rest / factor);
    }
  }

  void consider() {
    const int spread = now_.front() - now_.back();
    int64_t sum = 0;
    for (const int f : now_) sum += f;
    if (!best_.empty() && std::tuple(spread, best_.front(), sum, best_) >=
                              std::tuple(best_spread_, now_.front(), best_sum_, now_))
      return;
    best_ = now_;
    best_spread_ = spread;
    best_sum_ = sum;
  }

  int count_;
  std::vector<int> divisors_, now_, best_;
  int best_spread_ = 0;
  int64_t best_sum_ = 0;
};

}  // namespace

std::vector<int> balanced_factors(int nodes, int count) {
  return Search(nodes, count).run(nodes);
}

}  // namespace mpc::mpi

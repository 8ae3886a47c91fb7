// The table of all algorithms, and build(), which uses it.
#include <algorithm>
#include <vector>

#include "base/settings.h"
#include "nbc/algorithms/parts.h"
#include "nbc/algorithms/select.h"
#include "nbc/schedule/rounds.h"

namespace mpc::nbc {

namespace {

enum Style { kGraph, kRounds };
constexpr const char* kStyles[] = {"graph", "rounds"};
EnumSetting style_setting{
    "nbc.style", kGraph, kStyles, 2,
    "Form of schedules: graphs, or rounds as LibNBC has them, for "
    "comparison (collectives between two groups stay graphs)."};

struct Table {
  std::vector<Algorithm> all;
  std::span<const Algorithm> of[kCollCount];
};

const Table& table() {
  static const Table built = [] {
    Table t;
    for (auto list :
         {barrier_algorithms(), bcast_algorithms(), gather_algorithms(),
          scatter_algorithms(), allgather_algorithms(), alltoall_algorithms(),
          reduce_algorithms(), reduce_scatter_algorithms(), scan_algorithms(),
          neighbor_algorithms()})
      t.all.insert(t.all.end(), list.begin(), list.end());
    for (size_t first = 0; first < t.all.size();) {
      size_t end = first;
      while (end < t.all.size() && t.all[end].coll == t.all[first].coll) ++end;
      t.of[static_cast<int>(t.all[first].coll)] = {t.all.data() + first, end - first};
      first = end;
    }
    return t;
  }();
  return built;
}

// True if every rank can tell that no rank has anything to do. (The v and w forms check each
// block separately.)
bool moves_nothing(const Shape& s) {
  if (s.coll == Coll::kBarrier) return s.size == 1;
  if (s.coll == Coll::kBcast && s.size == 1) return true;
  if (s.coll == Coll::kReduceScatter) {
    return std::all_of(s.recv_counts.begin(), s.recv_counts.end(), [&](Count count) {
      return total_bytes(count, s.recv_type) <= 0;
    });
  }
  const CollTraits& traits = traits_of(s.coll);
  return !traits.is_irregular() && !traits.is_neighborhood && block_bytes(s) == 0;
}

}  // namespace

std::span<const Algorithm> algorithms() noexcept { return table().all; }

std::span<const Algorithm> algorithms(Coll coll) noexcept {
  return table().of[static_cast<int>(coll)];
}

const Algorithm* find_algorithm(Coll coll, std::string_view name) noexcept {
  for (const Algorithm& algorithm : algorithms(coll))
    if (algorithm.name == name) return &algorithm;
  return nullptr;
}

bool is_applicable(const Algorithm& algorithm, const Shape& shape) noexcept {
  if (algorithm.coll != shape.coll) return false;
  const uint8_t demands = algorithm.restrictions;
  if ((demands & kCommutativeOnly) && !shape.is_commutative) return false;
  if ((demands & kPowerOfTwoOnly) && (shape.size & (shape.size - 1)) != 0) return false;
  // With homes, groups that are no rows of ranks are left out of the tree.
  if ((demands & kContiguousPlaces) && !shape.is_commutative &&
      shape.homes == nullptr && !are_contiguous(shape.place_of_rank))
    return false;
  return true;
}

Result<std::shared_ptr<const Schedule>> build(const Shape& shape) {
  return build(shape, select(shape));
}

Result<std::shared_ptr<const Schedule>> build(const Shape& shape,
                                              const Algorithm& algorithm) {
  ScheduleBuilder builder;
  if (moves_nothing(shape)) return builder.finish();
  // A rank that is alone has only the local part, which the
  // first algorithm of each collective does.
  const Algorithm& chosen = shape.size == 1 ? algorithms(shape.coll)[0] : algorithm;
  chosen.build(builder, shape);
  auto graph = builder.finish();
  if (!graph || style_setting.get() == kGraph) return graph;
  return to_rounds(**graph);
}

}  // namespace mpc::nbc

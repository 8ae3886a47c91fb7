#include "nbc/algorithms/tree.h"

#include <algorithm>

namespace mpc::nbc {

namespace {

int knomial_height(int k, int size) {
  int height = 0;
  for (int64_t reach = 1; reach < size; reach *= k) ++height;
  return height;
}

// k-nomial tree over 0..size-1 with root 0.
Tree knomial(int k, int v, int size) {
  const int height = knomial_height(k, size);
  Tree tree;
  tree.height = height;
  int position = 0;
  int64_t step = 1;
  for (; step < size; step *= k, ++position) {
    const int64_t digit = v / step % k;
    if (digit != 0) {
      tree.parent = static_cast<int>(v - digit * step);
      tree.level = height - 1 - position;
      break;
    }
    for (int64_t d = 1; d < k && v + d * step < size; ++d) {
      const int child = static_cast<int>(v + d * step);
      tree.children.push_back(
          {child, height - 1 - position, child,
           static_cast<int>(std::min<int64_t>(step, size - child))});
    }
  }
  tree.span = static_cast<int>(std::min<int64_t>(step, size - v));
  if (v == 0) tree.span = size;
  return tree;
}

Tree flat(int v, int size) {
  Tree tree;
  tree.span = v == 0 ? size : 1;
  tree.height = size > 1 ? 1 : 0;
  if (v != 0) {
    tree.parent = 0;
    tree.level = 0;
    return tree;
  }
  for (int child = 1; child < size; ++child)
    tree.children.push_back({child, 0, child, 1});
  return tree;
}

Tree chain(int v, int size) {
  Tree tree;
  tree.span = size - v;
  tree.height = size - 1;
  if (v > 0) {
    tree.parent = v - 1;
    tree.level = v - 1;
  }
  if (v + 1 < size) tree.children.push_back({v + 1, v, v + 1, size - v - 1});
  return tree;
}

// The leaders of the places form a binomial tree, and the members of each place another tree below
// it. All numbers are relative to the root, whose place comes first and whose leader it is.
Tree places(int v, int size, int root, std::span<const int> place_of_rank,
            bool is_flat) {
  auto place = [&](int relative) { return place_of_rank[(relative + root) % size]; };
  // The members of v's place and the first member of each place, in relative order.
  std::vector<int> leaders, members;
  std::vector<int> seen;
  std::vector<int> sizes;
  for (int u = 0; u < size; ++u) {
    const auto at = std::find(seen.begin(), seen.end(), place(u));
    if (at == seen.end()) {
      seen.push_back(place(u));
      leaders.push_back(u);
      sizes.push_back(1);
    } else {
      ++sizes[at - seen.begin()];
    }
    if (place(u) == place(v)) members.push_back(u);
  }
  const int place_count = static_cast<int>(leaders.size());
  const int upper_height = knomial_height(2, place_count);
  auto height_inside = [&](int count) {
    return is_flat ? (count > 1 ? 1 : 0) : knomial_height(2, count);
  };
  const int most = *std::max_element(sizes.begin(), sizes.end());
  const int height = upper_height + height_inside(most);
  const int me =
      static_cast<int>(std::find(members.begin(), members.end(), v) - members.begin());
  const int member_count = static_cast<int>(members.size());
  Tree tree = is_flat ? flat(me, member_count) : knomial(2, me, member_count);
  const int shift = height - tree.height;  // the last level is the same in all places
  tree.height = height;
  if (tree.parent >= 0) {
    tree.parent = members[tree.parent];
    tree.level += shift;
  }
  for (TreeChild& child : tree.children) {
    child.rank = members[child.rank];
    child.first = child.rank;
    child.level += shift;
  }
  if (me != 0) return tree;
  const int group =
      static_cast<int>(std::find(leaders.begin(), leaders.end(), v) - leaders.begin());
  const Tree upper = knomial(2, group, place_count);
  if (upper.parent >= 0) {
    tree.parent = leaders[upper.parent];
    tree.level = upper.level;
  }
  for (const TreeChild& child : upper.children) {
    int count = 0;
    for (int g = child.first; g < child.first + child.count; ++g) count += sizes[g];
    tree.children.push_back(
        {leaders[child.rank], child.level, leaders[child.rank], count});
    tree.span += count;
  }
  return tree;
}

}  // namespace

bool are_contiguous(std::span<const int> place_of_rank) {
  std::vector<int> seen;
  for (size_t r = 0; r < place_of_rank.size(); ++r) {
    if (r > 0 && place_of_rank[r] == place_of_rank[r - 1]) continue;
    if (std::find(seen.begin(), seen.end(), place_of_rank[r]) != seen.end())
      return false;
    seen.push_back(place_of_rank[r]);
  }
  return true;
}

TreeKind fit_tree(TreeKind kind, const Shape& shape, int64_t bytes) {
  // Measured by bench/micro/collectives: flat wins below.
  constexpr int64_t kFlatBytes = 4096;
  const bool is_flat =
      kind == TreeKind::kPlaces && bytes <= kFlatBytes && !shape.is_nonblocking;
  return is_flat ? TreeKind::kPlacesFlat : kind;
}

Tree make_tree(TreeKind kind, int rank, int size, int root,
               std::span<const int> place_of_rank, int arity) {
  const int v = (rank - root + size) % size;
  Tree tree;
  switch (kind) {
    case TreeKind::kFlat:
      tree = flat(v, size);
      break;
    case TreeKind::kChain:
      tree = chain(v, size);
      break;
    case TreeKind::kBinomial:
      tree = knomial(2, v, size);
      break;
    case TreeKind::kKnomial:
      tree = knomial(arity, v, size);
      break;
    case TreeKind::kPlaces:
    case TreeKind::kPlacesFlat:
      tree = place_of_rank.empty()
                 ? knomial(2, v, size)
                 : places(v, size, root, place_of_rank, kind == TreeKind::kPlacesFlat);
      break;
  }
  if (tree.parent >= 0) tree.parent = (tree.parent + root) % size;
  for (TreeChild& child : tree.children) child.rank = (child.rank + root) % size;
  return tree;
}

}  // namespace mpc::nbc

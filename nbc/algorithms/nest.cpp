#include "nbc/algorithms/nest.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace mpc::nbc {

namespace {

using Partition = std::vector<int>;

int groups_of(std::span<const int> partition) {
  return partition.empty() ? 0
                           : *std::max_element(partition.begin(), partition.end()) + 1;
}

// Ranks are in one group if both numbers agree; groups are numbered in order of appearance.
Partition refine(std::span<const int> outer, std::span<const int> inner) {
  std::map<std::pair<int, int>, int> numbers;
  Partition result;
  result.reserve(inner.size());
  for (size_t r = 0; r < inner.size(); ++r) {
    const auto next = static_cast<int>(numbers.size());
    const auto key = std::pair(outer[r], inner[r]);
    result.push_back(numbers.try_emplace(key, next).first->second);
  }
  return result;
}

// For groups numbered in order of appearance: is each of them a row of consecutive ranks?
bool has_rows(const Partition& partition) {
  return std::is_sorted(partition.begin(), partition.end());
}

// A nest of those partitions that divide something further.
std::unique_ptr<const Nest> nest_of(int size,
                                    std::span<const Partition* const> partitions) {
  std::vector<Partition> kept;
  int groups = 1;
  for (const Partition* partition : partitions) {
    const int more = groups_of(*partition);
    if (more <= groups || more >= size) continue;
    groups = more;
    kept.push_back(*partition);
  }
  return std::make_unique<const Nest>(size, kept);
}

}  // namespace

Nest::Layer Nest::layer_of(std::span<const int> parent_of_item, int parents,
                           std::span<const int> item_of_rank) {
  Layer layer;
  const size_t count = parent_of_item.size();
  layer.parent.assign(parent_of_item.begin(), parent_of_item.end());
  layer.first.assign(static_cast<size_t>(parents) + 1, 0);
  for (const int parent : layer.parent) ++layer.first[static_cast<size_t>(parent) + 1];
  layer.most = *std::max_element(layer.first.begin(), layer.first.end());
  std::partial_sum(layer.first.begin(), layer.first.end(), layer.first.begin());
  std::vector<int> next = layer.first;
  layer.items.resize(count);
  layer.index.resize(count);
  for (size_t item = 0; item < count; ++item) {
    const auto parent = static_cast<size_t>(layer.parent[item]);
    layer.index[item] = next[parent] - layer.first[parent];
    layer.items[static_cast<size_t>(next[parent]++)] = static_cast<int>(item);
  }
  layer.lowest.resize(count);
  layer.ranks.assign(count, 0);
  for (size_t r = item_of_rank.size(); r-- > 0;) {
    const auto item = static_cast<size_t>(item_of_rank[r]);
    layer.lowest[item] = static_cast<int>(r);
    ++layer.ranks[item];
  }
  return layer;
}

Nest::Nest(int size, std::span<const std::vector<int>> partitions) {
  std::vector<int> ranks(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  const Partition one(static_cast<size_t>(size), 0);
  const Partition* outer = &one;
  for (size_t i = 0; i <= partitions.size(); ++i) {
    const Partition& inner = i < partitions.size() ? partitions[i] : ranks;
    std::vector<int> parent(static_cast<size_t>(groups_of(inner)));
    for (size_t r = 0; r < inner.size(); ++r)
      parent[static_cast<size_t>(inner[r])] = (*outer)[r];
    layers_.push_back(layer_of(parent, groups_of(*outer), inner));
    outer = &inner;
  }
}

int Nest::height_of(const Layer& layer, bool is_flat) {
  if (is_flat) return layer.most > 1 ? 1 : 0;
  int height = 0;
  for (int64_t reach = 1; reach < layer.most; reach *= 2) ++height;
  return height;
}

std::vector<int> Nest::items_of(int rank) const {
  std::vector<int> items(layers_.size());
  int item = rank;
  for (size_t i = layers_.size(); i-- > 0;) {
    items[i] = item;
    item = layers_[i].parent[static_cast<size_t>(item)];
  }
  return items;
}

int Nest::leader(size_t layer, int item, std::span<const int> root_items) const {
  return item == root_items[layer] ? root_items.back()
                                   : layers_[layer].lowest[static_cast<size_t>(item)];
}

int Nest::start_of(size_t layer, int parent, std::span<const int> root_items) const {
  const auto root_item = static_cast<size_t>(root_items[layer]);
  return layers_[layer].parent[root_item] == parent ? layers_[layer].index[root_item]
                                                    : 0;
}

Tree Nest::tree(int rank, int root, NestForm form) const {
  return tree_below(0, rank, root, form);
}

Tree Nest::tree_inside(int rank, NestForm form) const {
  if (layers_.size() == 1) return tree_below(0, rank, 0, form);
  const auto group = static_cast<size_t>(items_of(rank)[0]);
  return tree_below(1, rank, layers_[0].lowest[group], form);
}

// The layers from `top` on.
Tree Nest::tree_below(size_t top, int rank, int root, NestForm form) const {
  const std::vector<int> root_items = items_of(root);
  Tree tree;
  for (size_t i = top; i < layers_.size(); ++i)
    tree.height += height_of(layers_[i], is_flat(i, form));
  int end = tree.height;  // the end of the layer's levels
  int item = rank;
  tree.span = 1;
  for (size_t i = layers_.size(); i-- > top;) {
    const Layer& layer = layers_[i];
    const int parent = layer.parent[static_cast<size_t>(item)];
    const int first = layer.first[static_cast<size_t>(parent)];
    const int count = layer.first[static_cast<size_t>(parent) + 1] - first;
    const int start = start_of(i, parent, root_items);
    const auto at = [&](int v) {
      const int place = first + (start + v) % count;
      return layer.items[static_cast<size_t>(place)];
    };
    const int v = (layer.index[static_cast<size_t>(item)] - start + count) % count;
    const TreeKind kind = is_flat(i, form) ? TreeKind::kFlat : TreeKind::kBinomial;
    const Tree inside = make_tree(kind, v, count, 0, {});
    const int shift = end - inside.height;
    for (const TreeChild& child : inside.children) {
      int ranks = 0;
      for (int u = child.first; u < child.first + child.count; ++u)
        ranks += layer.ranks[static_cast<size_t>(at(u))];
      tree.children.push_back({leader(i, at(child.rank), root_items),
                               child.level + shift, tree.span, ranks});
      tree.span += ranks;
    }
    if (inside.parent >= 0) {
      tree.parent = leader(i, at(inside.parent), root_items);
      tree.level = inside.level + shift;
      break;
    }
    end -= height_of(layer, is_flat(i, form));
    item = parent;
  }
  return tree;
}

void Nest::add_order(size_t i, int parent, std::span<const int> root_items,
                     std::vector<int>& order) const {
  const Layer& layer = layers_[i];
  const int first = layer.first[static_cast<size_t>(parent)];
  const int count = layer.first[static_cast<size_t>(parent) + 1] - first;
  const int start = start_of(i, parent, root_items);
  for (int v = 0; v < count; ++v) {
    const int place = first + (start + v) % count;
    const int item = layer.items[static_cast<size_t>(place)];
    if (i + 1 == layers_.size())
      order.push_back(item);
    else
      add_order(i + 1, item, root_items, order);
  }
}

std::vector<int> Nest::order(int root) const {
  std::vector<int> order;
  order.reserve(layers_.back().items.size());
  add_order(0, 0, items_of(root), order);
  return order;
}

Regions::Regions(std::span<const int> region_of_rank)
    : of_(region_of_rank.begin(), region_of_rank.end()) {
  first_.assign(static_cast<size_t>(groups_of(of_)) + 1, 0);
  for (const int region : of_) {
    index_.push_back(first_[static_cast<size_t>(region) + 1]++);
    most_ = std::max(most_, index_.back() + 1);
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  members_.resize(of_.size());
  for (size_t r = 0; r < of_.size(); ++r) {
    const int place = first_[static_cast<size_t>(of_[r])] + index_[r];
    members_[static_cast<size_t>(place)] = static_cast<int>(r);
  }
}

std::span<const int> Regions::members(int region) const {
  const auto at = static_cast<size_t>(region);
  return std::span(members_).subspan(static_cast<size_t>(first_[at]),
                                     static_cast<size_t>(first_[at + 1] - first_[at]));
}

Homes::Homes(std::span<const int> host, std::span<const int> process,
             std::span<const int> worker) {
  const auto size = static_cast<int>(process.size());
  const Partition hosts = refine(host, host), processes = refine(hosts, process);
  const Partition workers = refine(processes, worker);
  const Partition* const everything[] = {&hosts, &processes, &workers};
  std::vector<const Partition*> rows;
  for (const Partition* partition : everything)
    if (has_rows(*partition)) rows.push_back(partition);
  all_ = nest_of(size, everything);
  in_order_ = nest_of(size, rows);
  outside_ = nest_of(size, std::span(everything).first(2));
  regions_ = std::make_unique<const Regions>(groups_of(hosts) > 1 ? hosts : processes);
  for (const Partition* partition : {&processes, &hosts}) {  // the outermost one last
    const int groups = groups_of(*partition);
    if (has_rows(*partition) && groups > 1 && groups < size)
      rows_ = std::make_unique<const Regions>(*partition);
  }
  std::vector<int> members(static_cast<size_t>(groups_of(processes)));
  for (const int number : processes)
    most_in_process_ =
        std::max(most_in_process_, ++members[static_cast<size_t>(number)]);
  has_groups_ = most_in_process_ > 1 || outside_->layers() > 1;
}

}  // namespace mpc::nbc

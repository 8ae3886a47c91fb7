#include "runtime/datatype/type_bytes.h"

#include <cstring>
#include <utility>

#include "runtime/datatype/type_builder.h"

namespace mpc::dt {
namespace {

struct Head {
  Count size, lb, extent, true_lb, true_extent;
  Count alignment;
};

// A Layout without the arrays that it points to.
struct Node {
  Shape shape;
  uint32_t depth;
  Count offset, bytes, count, block, stride;
};

class Writer {
 public:
  template <class T>
  void put(const T* values, Count n) {
    const auto* const first = reinterpret_cast<const std::byte*>(values);
    bytes_.insert(bytes_.end(), first, first + static_cast<size_t>(n) * sizeof(T));
  }
  void put(const Layout& l) {
    Node node;
    std::memset(&node, 0, sizeof node);  // its padding, too
    node.shape = l.shape;
    node.depth = l.depth;
    node.offset = l.offset;
    node.bytes = l.bytes;
    node.count = l.count;
    node.block = l.block;
    node.stride = l.stride;
    put(&node, 1);
    switch (l.shape) {
      case Shape::kIndexed:
        return put(l.offsets, l.count);
      case Shape::kBlocks:
        return put(l.blocks, l.count);
      case Shape::kLoop:
        return put(*l.children);
      case Shape::kList:
        for (Count i = 0; i < l.count; ++i) put(l.children[i]);
        return;
      default:
        return;
    }
  }
  std::vector<std::byte> take() noexcept { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, LayoutArena& arena) noexcept
      : bytes_(bytes), arena_(arena) {}

  template <class T>
  bool get(T* values, Count n) noexcept {
    if (n < 0 || static_cast<size_t>(n) > bytes_.size() / sizeof(T)) return false;
    const size_t all = static_cast<size_t>(n) * sizeof(T);
    if (all != 0) std::memcpy(static_cast<void*>(values), bytes_.data(), all);
    bytes_ = bytes_.subspan(all);
    return true;
  }
  bool get(Layout* out) {
    Node node;
    if (!get(&node, 1) || node.shape > Shape::kList) return false;
    out->shape = node.shape;
    out->depth = node.depth;
    out->offset = node.offset;
    out->bytes = node.bytes;
    out->count = node.count;
    out->block = node.block;
    out->stride = node.stride;
    switch (node.shape) {
      case Shape::kIndexed:
        return get_list(node.count, &out->offsets);
      case Shape::kBlocks:
        return get_list(node.count, &out->blocks) && add_prefix(out);
      case Shape::kLoop: {
        Layout child;
        if (!get(&child)) return false;
        out->children = arena_.keep(child);
        return true;
      }
      case Shape::kList:
        return get_children(out) && add_prefix(out);
      default:
        return true;
    }
  }
  bool is_at_end() const noexcept { return bytes_.empty(); }

 private:
  bool is_possible(Count n, size_t each) const noexcept {
    return n > 0 && static_cast<size_t>(n) <= bytes_.size() / each;
  }
  template <class T>
  bool get_list(Count n, const T** out) {
    if (!is_possible(n, sizeof(T))) return false;
    std::vector<T> list(static_cast<size_t>(n));
    if (!get(list.data(), n)) return false;
    *out = arena_.keep(std::move(list));
    return true;
  }
  bool get_children(Layout* out) {
    if (!is_possible(out->count, sizeof(Node))) return false;
    std::vector<Layout> children(static_cast<size_t>(out->count));
    for (Layout& child : children)
      if (!get(&child)) return false;
    out->children = arena_.keep(std::move(children));
    return true;
  }
  // Adds the data before each entry, which follow from the entries.
  bool add_prefix(Layout* out) {
    std::vector<Count> prefix(static_cast<size_t>(out->count) + 1);
    for (Count i = 0; i < out->count; ++i) {
      const Count bytes =
          out->shape == Shape::kList ? out->children[i].bytes : out->blocks[i].bytes;
      const auto at = static_cast<size_t>(i);
      prefix[at + 1] = prefix[at] + bytes;
    }
    out->prefix = arena_.keep(std::move(prefix));
    return true;
  }

  std::span<const std::byte> bytes_;
  LayoutArena& arena_;
};

}  // namespace

std::vector<std::byte> to_bytes(const Datatype& type) {
  const Head head{type.size(),    type.lb(),          type.extent(),
                  type.true_lb(), type.true_extent(), type.alignment()};
  Writer out;
  out.put(&head, 1);
  out.put(type.layout());
  return out.take();
}

TypeRef from_bytes(std::span<const std::byte> bytes) {
  TypeBuilder builder(abi::kCombinerNamed, B::kClassic);
  Reader in(bytes, builder.layouts());
  Head head;
  Layout layout;
  if (!in.get(&head, 1) || !in.get(&layout) || !in.is_at_end()) return {};
  Bounds bounds;
  bounds.lb = head.lb;
  bounds.ub = Wide{head.lb} + head.extent;
  bounds.true_lb = head.true_lb;
  bounds.true_ub = Wide{head.true_lb} + head.true_extent;
  bounds.alignment = head.alignment;
  auto type = builder.finish(layout, Signature{}, SignatureHash{}, bounds, head.size);
  return type.ok() ? std::move(*type) : TypeRef{};
}

}  // namespace mpc::dt

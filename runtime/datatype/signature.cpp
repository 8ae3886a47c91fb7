#include "runtime/datatype/signature.h"

namespace mpc::dt {

Signature make_repeat(SignatureArena& arena, Count count, const Signature& child) {
  if (count <= 0 || child.elements == 0) return {};
  Signature all = child;
  all.elements *= count;
  all.bytes *= count;
  if (count == 1) return all;
  if (child.kind == SignatureKind::kBasic || child.kind == SignatureKind::kRepeat) {
    all.count *= count;
    return all;
  }
  all.kind = SignatureKind::kRepeat;
  all.count = count;
  all.children = arena.keep({child});
  return all;
}

void SequenceBuilder::add(const Signature& part) {
  if (part.elements == 0) return;
  if (part.kind == SignatureKind::kSequence) {
    for (Count i = 0; i < part.count; ++i) add(part.children[i]);
    return;
  }
  if (!parts_.empty()) {
    Signature& last = parts_.back();
    const bool same_basic = last.kind == SignatureKind::kBasic &&
                            part.kind == SignatureKind::kBasic &&
                            last.code == part.code;
    const bool same_child = last.kind == SignatureKind::kRepeat &&
                            part.kind == SignatureKind::kRepeat &&
                            last.children == part.children;
    if (same_basic || same_child) {
      last.count += part.count;
      last.elements += part.elements;
      last.bytes += part.bytes;
      return;
    }
  }
  parts_.push_back(part);
}

Signature SequenceBuilder::finish() {
  if (parts_.empty()) return {};
  if (parts_.size() == 1) return parts_.front();
  Signature all;
  all.kind = SignatureKind::kSequence;
  all.count = static_cast<Count>(parts_.size());
  for (const Signature& part : parts_) {
    all.elements += part.elements;
    all.bytes += part.bytes;
  }
  all.children = arena_.keep(std::move(parts_));
  return all;
}

SignatureCursor::SignatureCursor(const Signature& root, Count repeat) noexcept {
  outer_.kind = SignatureKind::kRepeat;
  outer_.count = root.elements == 0 ? 0 : repeat;
  outer_.children = &root;
  if (root.kind == SignatureKind::kBasic) {  // one run, however often it repeats
    outer_ = root;
    outer_.count *= repeat;
    outer_.elements *= repeat;
    outer_.bytes *= repeat;
  }
  if (outer_.count > 0) stack_.push_back({&outer_, 0});
}

bool SignatureCursor::next(Run& run) {
  while (!stack_.empty()) {
    Frame& top = stack_.back();
    const Signature& node = *top.node;
    if (node.kind == SignatureKind::kBasic) {
      run = {node.code, node.element_bytes(), node.count};
      stack_.pop_back();
      return true;
    }
    if (top.index == node.count) {
      stack_.pop_back();
      continue;
    }
    const Count index = top.index++;
    const bool repeats = node.kind == SignatureKind::kRepeat;
    stack_.push_back({&node.children[repeats ? 0 : index], 0});
  }
  return false;
}

}  // namespace mpc::dt

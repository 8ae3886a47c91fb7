#include "runtime/datatype/datatype.h"

#include "runtime/datatype/details.h"

namespace mpc::dt {
namespace {

Count partial_elements(const Signature& root, Count bytes) {
  Count elements = 0;
  const Signature* node = &root;
  while (bytes > 0) {
    if (node->kind == SignatureKind::kBasic) {
      const Count size = node->element_bytes();
      return bytes % size == 0 ? elements + bytes / size : -1;
    }
    const Signature* child = node->children;
    if (node->kind == SignatureKind::kRepeat) {
      elements += bytes / child->bytes * child->elements;
      bytes %= child->bytes;
    } else {
      for (; bytes >= child->bytes; ++child) {  // terminates: bytes < node->bytes
        elements += child->elements;
        bytes -= child->bytes;
        if (bytes == 0) break;
      }
    }
    node = child;
  }
  return elements;
}

}  // namespace

// --- ownership ---

void Datatype::retain() const noexcept {
  if (is_predefined()) return;
  references_.fetch_add(1, std::memory_order_relaxed);  // the caller holds one already
}

void Datatype::release() const noexcept {
  if (is_predefined()) return;
  // Release: our reads are done; acquire (last one only): all other reads are done.
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (const Datatype* part : details_->contents.types) part->release();
  delete details_;
  delete this;
}

const Contents& Datatype::contents() const noexcept {
  static const Contents* const named = new Contents;  // lives as long as the process
  return details_ != nullptr ? details_->contents : *named;
}

// --- counting ---

Count count_in(const Datatype& type, size_t bytes) noexcept {
  const auto size = static_cast<size_t>(type.size());
  if (size == 0) return bytes == 0 ? 0 : -1;
  return bytes % size == 0 ? static_cast<Count>(bytes / size) : -1;
}

Count elements_in(const Datatype& type, size_t bytes) noexcept {
  if (type.size() == 0) return bytes == 0 ? 0 : -1;
  const auto n = static_cast<Count>(bytes);
  const Count rest = partial_elements(type.signature(), n % type.size());
  return rest < 0 ? -1 : n / type.size() * type.elements() + rest;
}

Count bytes_of_elements(const Datatype& type, Count elements) noexcept {
  if (type.elements() == 0) return 0;
  Count bytes = elements / type.elements() * type.size();
  elements %= type.elements();
  const Signature* node = &type.signature();
  while (elements > 0) {
    if (node->kind == SignatureKind::kBasic)
      return bytes + elements * node->element_bytes();
    const Signature* child = node->children;
    if (node->kind == SignatureKind::kRepeat) {
      bytes += elements / child->elements * child->bytes;
      elements %= child->elements;
    } else {
      for (; elements >= child->elements; ++child) {
        bytes += child->bytes;
        elements -= child->elements;
        if (elements == 0) break;
      }
    }
    node = child;
  }
  return bytes;
}

bool same_signature(const Datatype& a, Count a_count, const Datatype& b,
                    Count b_count) noexcept {
  return hash_repeat(a.signature_hash(), a_count) ==
         hash_repeat(b.signature_hash(), b_count);
}

}  // namespace mpc::dt

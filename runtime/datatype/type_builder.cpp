#include "runtime/datatype/type_builder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace mpc::dt {
namespace {

bool fits(Wide value) {
  return value >= std::numeric_limits<Count>::min() &&
         value <= std::numeric_limits<Count>::max();
}

// Adds one more position for a bound; `better(a, b)` is the bound of the two.
template <class Better>
void grow_bound(bool& any, bool& is_marked, Wide& bound, bool marker, Wide position,
                Better better) noexcept {
  if (is_marked && !marker) return;
  const bool first = !any || (marker && !is_marked);
  bound = first ? position : better(bound, position);
  any = true;
  is_marked = marker;
}

Wide smaller(Wide a, Wide b) noexcept { return std::min(a, b); }
Wide larger(Wide a, Wide b) noexcept { return std::max(a, b); }

}  // namespace

void Bounds::add(const Datatype& type, Wide at, Wide count, Wide stride) noexcept {
  if (count <= 0) return;
  const Wide reach = far_at_most((count - 1) * stride);
  at = far_at_most(at);
  const Wide low = at + std::min<Wide>(0, reach), high = at + std::max<Wide>(0, reach);
  // MPI_UB has no lb, nor has a type that consists of nothing else; the same for MPI_LB.
  const bool marks_lb = type.has_lb_marker(), marks_ub = type.has_ub_marker();
  if (marks_lb || !marks_ub || type.size() > 0)
    grow_bound(any_lb, lb_is_marked, lb, marks_lb, low + type.lb(), smaller);
  if (marks_ub || !marks_lb || type.size() > 0)
    grow_bound(any_ub, ub_is_marked, ub, marks_ub, high + type.ub(), larger);
  alignment = std::max(alignment, type.alignment());
  if (type.size() == 0) return;
  const Wide data_low = low + type.true_lb();
  const Wide data_high = high + type.true_lb() + type.true_extent();
  true_lb = any_data ? std::min(true_lb, data_low) : data_low;
  true_ub = any_data ? std::max(true_ub, data_high) : data_high;
  any_data = true;
}

void Bounds::mark(Wide new_lb, Wide new_ub) noexcept {
  lb = new_lb;
  ub = new_ub;
  any_lb = any_ub = lb_is_marked = ub_is_marked = true;
}

TypeBuilder::TypeBuilder(int combiner, Binding binding) : details_(new Details) {
  details_->contents.combiner = combiner;
  details_->contents.large = binding == Binding::kLarge;
}

TypeBuilder::~TypeBuilder() {
  if (details_ == nullptr) return;
  for (const Datatype* part : details_->contents.types) part->release();
  delete details_;
}

void TypeBuilder::history(Count value) {
  Contents& c = details_->contents;
  if (c.large)
    c.large_counts.push_back(value);
  else
    c.integers.push_back(static_cast<int>(value));
}

void TypeBuilder::history(CountArray values) {
  for (size_t i = 0; i < values.size(); ++i) history(values[i]);
}

void TypeBuilder::history_address(Count value) {
  Contents& c = details_->contents;
  (c.large ? c.large_counts : c.addresses).push_back(value);
}

void TypeBuilder::history_addresses(CountArray values) {
  for (size_t i = 0; i < values.size(); ++i) history_address(values[i]);
}

void TypeBuilder::history_type(const Datatype& type) {
  type.retain();
  details_->contents.types.push_back(&type);
}

Result<TypeRef> TypeBuilder::finish(const Layout& layout, const Signature& signature,
                                    SignatureHash hash, const Bounds& b, Wide size) {
  if (!fits(size) || !fits(b.lb) || !fits(b.ub) || !fits(b.ub - b.lb) ||
      !fits(b.true_lb) || !fits(b.true_ub - b.true_lb))
    return {Errc::kCount,
            "the size or a bound of the datatype does not fit in 63 bits"};
  auto* type = new Datatype;
  type->size_ = static_cast<Count>(size);
  type->lb_ = static_cast<Count>(b.lb);
  type->extent_ = static_cast<Count>(b.ub - b.lb);
  type->true_lb_ = static_cast<Count>(b.true_lb);
  type->true_extent_ = static_cast<Count>(b.true_ub - b.true_lb);
  type->has_lb_marker_ = b.lb_is_marked;
  type->has_ub_marker_ = b.ub_is_marked;
  type->alignment_ = b.alignment;
  type->layout_ = layout;
  type->signature_ = signature;
  type->hash_ = hash;
  type->contiguous_ = type->lb_ == 0 && type->extent_ == type->size_ &&
                      (type->size_ == 0 || (layout.is_block() && layout.offset == 0));
  type->details_ = std::exchange(details_, nullptr);
  return TypeRef::adopt(type);
}

const Datatype* TypeBuilder::finish_permanent(const Datatype& same_as) {
  Bounds bounds;
  bounds.add(same_as, 0, 1, 0);
  auto type = finish(same_as.layout(), same_as.signature(), same_as.signature_hash(),
                     bounds, same_as.size());
  CHECK(type.ok(), "a predefined type has bounds that fit");
  auto* permanent = const_cast<Datatype*>(type.value().get());
  permanent->permanent_ = true;
  permanent->commit();
  return type.value().detach();
}

}  // namespace mpc::dt

#pragma once
// TypeBuilder: collects bounds, layout, signature and history, and creates a Datatype from them.
//
// Role:      the interface between the constructors and the immutable Datatype.
// Users:     runtime/datatype only.
// Threads:   a builder belongs to its caller until finish().
// See also:  datatype.h, details.h, constructors.cpp.

#include "runtime/datatype/datatype.h"
#include "runtime/datatype/details.h"

namespace mpc::dt {

__extension__ typedef __int128 Wide;  // bounds are computed in 128 bits, then checked

// Beyond any bound, and small enough that sums and differences of such values fit.
inline constexpr Wide kFar = Wide{1} << 120;
constexpr Wide far_at_most(Wide value) noexcept {
  return value > kFar ? kFar : value < -kFar ? -kFar : value;
}
// A product that does not fit in 128 bits is far as well.
inline Wide far_product(Wide a, Wide b) noexcept {
  Wide product;
  if (__builtin_mul_overflow(a, b, &product)) return (a < 0) == (b < 0) ? kFar : -kFar;
  return far_at_most(product);
}

// The four bounds of a type map under construction; grows part by part. As soon as one
// part has a marker, only markers count for that bound (MPI-4.1 section 5.1.6). A bound
// that no part determines is 0.
struct Bounds {
  bool any_lb = false, any_ub = false, any_data = false;
  bool lb_is_marked = false, ub_is_marked = false;
  Wide lb = 0, ub = 0, true_lb = 0, true_ub = 0;
  Count alignment = 1;

  // Adds `count` copies of `type`, `stride` bytes apart, the first one at `at`. Requires: the
  // product of count and stride fits.
  void add(const Datatype& type, Wide at, Wide count, Wide stride) noexcept;
  // Sets lb and ub by markers, regardless of what was added.
  void mark(Wide new_lb, Wide new_ub) noexcept;
};

class TypeBuilder {
 public:
  explicit TypeBuilder(int combiner, Binding binding);
  ~TypeBuilder();
  TypeBuilder(const TypeBuilder&) = delete;
  TypeBuilder& operator=(const TypeBuilder&) = delete;

  LayoutArena& layouts() noexcept { return details_->layouts; }
  SignatureArena& signatures() noexcept { return details_->signatures; }

  // Adds to the history, in the standard's order. The binding decides where a count is stored.
  void history(Count count_argument);
  void history(CountArray count_arguments);
  void history_integer(int value) { details_->contents.integers.push_back(value); }
  void history_address(Count value);
  void history_addresses(CountArray values);
  void history_type(const Datatype& type);

  // Creates the Datatype. Errors: kCount if a bound or the size does not fit.
  Result<TypeRef> finish(const Layout& layout, const Signature& signature,
                         SignatureHash hash, const Bounds& bounds, Wide size);

  // The same for a type that is never freed; it is committed.
  const Datatype* finish_permanent(const Datatype& same_as);

  // Null for basic types.
  static Details* details_of(const Datatype& type) noexcept { return type.details_; }

 private:
  Details* details_;
};

}  // namespace mpc::dt

// The datatype constructors of MPI-4.1 section 5.1.2 to 5.1.7, except arrays
// (arrays.cpp).
//
// Each one records its arguments, computes the bounds in 128 bits and builds layout and
// signature. Layout arithmetic needs no checks of its own: it stays within the true
// bounds.

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string>

#include "runtime/datatype/type_builder.h"

namespace mpc::dt {
namespace {

Error negative(const char* name, Count value, Errc code = Errc::kCount) {
  return {code, fmt::format("{} is {}, must not be negative", name, value)};
}

Error negative_at(const char* name, size_t i, Count value) {
  return {Errc::kArg,
          fmt::format("{}[{}] is {}, must not be negative", name, i, value)};
}

Error different_lengths() {
  return {Errc::kArg, "the arrays of block lengths and displacements differ in length"};
}

bool too_large(Wide value) { return value > std::numeric_limits<Count>::max(); }

Error size_overflow() {
  return {Errc::kCount, "the size of the datatype does not fit in 63 bits"};
}

Error bound_overflow() {
  return {Errc::kCount, "a bound of the datatype does not fit in 63 bits"};
}

// Layouts, which store bounds of 63 bits, must not be built from these.
bool are_far(const Bounds& bounds) {
  return bounds.any_data && (too_large(bounds.true_ub) || too_large(-bounds.true_lb) ||
                             too_large(bounds.true_ub - bounds.true_lb));
}

// `outer` blocks of `block_length` old elements, `stride` bytes apart.
Result<TypeRef> strided(TypeBuilder& builder, Count count, Count block_length,
                        Wide stride, const Datatype& old) {
  Bounds bounds;
  if (count > 0 && block_length > 0) {
    bounds.add(old, 0, block_length, old.extent());
    bounds.add(old, far_product(Wide{count} - 1, stride), block_length, old.extent());
  }
  const Wide elements = Wide{count} * block_length;
  if (too_large(elements) || too_large(elements * old.size())) return size_overflow();
  if (are_far(bounds)) return bound_overflow();
  const auto n = static_cast<Count>(elements);
  Layout block;  // of no blocks, however long they would be
  if (n > 0)
    block = make_loop(builder.layouts(), block_length, old.extent(), old.layout());
  return builder.finish(
      make_loop(builder.layouts(), count, static_cast<Count>(stride), block),
      make_repeat(builder.signatures(), n, old.signature()),
      hash_repeat(old.signature_hash(), n), bounds, elements * old.size());
}

// Blocks of one old type at byte displacements; `length(i)` and `place(i)` describe
// block i.
template <class Length, class Place>
Result<TypeRef> scattered(TypeBuilder& builder, size_t count, Length length,
                          Place place, const Datatype& old) {
  Bounds bounds;
  Wide elements = 0;
  for (size_t i = 0; i < count; ++i) {
    bounds.add(old, place(i), length(i), old.extent());
    elements += length(i);
  }
  if (too_large(elements) || too_large(elements * old.size())) return size_overflow();
  if (are_far(bounds)) return bound_overflow();
  const bool dense = old.is_contiguous();
  ListBuilder list(builder.layouts());
  Count last_length = 0;
  Layout block;
  for (size_t i = 0; i < count; ++i) {
    if (dense) {
      list.add_block(static_cast<Count>(place(i)), length(i) * old.size());
      continue;
    }
    if (length(i) != last_length) {
      last_length = length(i);
      block = make_loop(builder.layouts(), last_length, old.extent(), old.layout());
    }
    if (last_length > 0 && block.bytes > 0)
      list.add(static_cast<Count>(place(i)), block);
  }
  const auto n = static_cast<Count>(elements);
  return builder.finish(
      list.finish(), make_repeat(builder.signatures(), n, old.signature()),
      hash_repeat(old.signature_hash(), n), bounds, elements * old.size());
}

std::optional<Error> check_lengths(CountArray lengths) {
  for (size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] < 0) return negative_at("block length", i, lengths[i]);
  return std::nullopt;
}

}  // namespace

Result<TypeRef> make_contiguous(Count count, const Datatype& old, Binding binding) {
  if (count < 0) return negative("count", count);
  TypeBuilder builder(abi::kCombinerContiguous, binding);
  builder.history(count);
  builder.history_type(old);
  return strided(builder, 1, count, 0, old);
}

Result<TypeRef> make_vector(Count count, Count block_length, Count stride,
                            const Datatype& old, Binding binding) {
  if (count < 0) return negative("count", count);
  if (block_length < 0) return negative("block length", block_length, Errc::kArg);
  TypeBuilder builder(abi::kCombinerVector, binding);
  builder.history(count);
  builder.history(block_length);
  builder.history(stride);
  builder.history_type(old);
  return strided(builder, count, block_length, Wide{stride} * old.extent(), old);
}

Result<TypeRef> make_hvector(Count count, Count block_length, Count stride_bytes,
                             const Datatype& old, Binding binding) {
  if (count < 0) return negative("count", count);
  if (block_length < 0) return negative("block length", block_length, Errc::kArg);
  TypeBuilder builder(abi::kCombinerHvector, binding);
  builder.history(count);
  builder.history(block_length);
  builder.history_address(stride_bytes);
  builder.history_type(old);
  return strided(builder, count, block_length, stride_bytes, old);
}

Result<TypeRef> make_indexed(CountArray block_lengths, CountArray displacements,
                             const Datatype& old, Binding binding) {
  if (block_lengths.size() != displacements.size()) return different_lengths();
  if (auto error = check_lengths(block_lengths)) return *error;
  TypeBuilder builder(abi::kCombinerIndexed, binding);
  builder.history(static_cast<Count>(block_lengths.size()));
  builder.history(block_lengths);
  builder.history(displacements);
  builder.history_type(old);
  return scattered(
      builder, block_lengths.size(), [&](size_t i) { return block_lengths[i]; },
      [&](size_t i) { return Wide{displacements[i]} * old.extent(); }, old);
}

Result<TypeRef> make_hindexed(CountArray block_lengths, CountArray displacements,
                              const Datatype& old, Binding binding) {
  if (block_lengths.size() != displacements.size()) return different_lengths();
  if (auto error = check_lengths(block_lengths)) return *error;
  TypeBuilder builder(abi::kCombinerHindexed, binding);
  builder.history(static_cast<Count>(block_lengths.size()));
  builder.history(block_lengths);
  builder.history_addresses(displacements);
  builder.history_type(old);
  return scattered(
      builder, block_lengths.size(), [&](size_t i) { return block_lengths[i]; },
      [&](size_t i) { return Wide{displacements[i]}; }, old);
}

Result<TypeRef> make_indexed_block(Count block_length, CountArray displacements,
                                   const Datatype& old, Binding binding) {
  if (block_length < 0) return negative("block length", block_length, Errc::kArg);
  TypeBuilder builder(abi::kCombinerIndexedBlock, binding);
  builder.history(static_cast<Count>(displacements.size()));
  builder.history(block_length);
  builder.history(displacements);
  builder.history_type(old);
  return scattered(
      builder, displacements.size(), [&](size_t) { return block_length; },
      [&](size_t i) { return Wide{displacements[i]} * old.extent(); }, old);
}

Result<TypeRef> make_hindexed_block(Count block_length, CountArray displacements,
                                    const Datatype& old, Binding binding) {
  if (block_length < 0) return negative("block length", block_length, Errc::kArg);
  TypeBuilder builder(abi::kCombinerHindexedBlock, binding);
  builder.history(static_cast<Count>(displacements.size()));
  builder.history(block_length);
  builder.history_addresses(displacements);
  builder.history_type(old);
  return scattered(
      builder, displacements.size(), [&](size_t) { return block_length; },
      [&](size_t i) { return Wide{displacements[i]}; }, old);
}

Result<TypeRef> make_struct(CountArray block_lengths, CountArray displacements,
                            std::span<const Datatype* const> types, Binding binding) {
  if (block_lengths.size() != displacements.size() ||
      types.size() != block_lengths.size())
    return different_lengths();
  if (auto error = check_lengths(block_lengths)) return *error;
  TypeBuilder builder(abi::kCombinerStruct, binding);
  builder.history(static_cast<Count>(types.size()));
  builder.history(block_lengths);
  builder.history_addresses(displacements);
  Bounds bounds;
  Wide size = 0, elements = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == nullptr)
      return {Errc::kType, fmt::format("types[{}] is not a datatype", i)};
    builder.history_type(*types[i]);
    bounds.add(*types[i], displacements[i], block_lengths[i], types[i]->extent());
    size += Wide{block_lengths[i]} * types[i]->size();
    elements += Wide{block_lengths[i]} * types[i]->elements();
    if (too_large(size) || too_large(elements)) return size_overflow();
  }
  if (are_far(bounds)) return bound_overflow();
  // Padded as a C compiler pads a struct: the epsilon of MPI-4.1 section 5.1.6, except where a
  // marker says where the struct ends. A struct of one part keeps that part's bounds.
  const Wide over = (bounds.ub - bounds.lb) % bounds.alignment;
  if (types.size() > 1 && over > 0 && !bounds.ub_is_marked) {
    bounds.ub += bounds.alignment - over;
  }
  ListBuilder list(builder.layouts());
  SequenceBuilder sequence(builder.signatures());
  SignatureHash hash;
  for (size_t i = 0; i < types.size(); ++i) {
    const Datatype& old = *types[i];
    const Count n = block_lengths[i];
    if (n == 0 || old.size() == 0) continue;
    list.add(displacements[i],
             make_loop(builder.layouts(), n, old.extent(), old.layout()));
    sequence.add(make_repeat(builder.signatures(), n, old.signature()));
    hash = hash_append(hash, hash_repeat(old.signature_hash(), n));
  }
  return builder.finish(list.finish(), sequence.finish(), hash, bounds, size);
}

Result<TypeRef> make_resized(const Datatype& old, Count lb, Count extent,
                             Binding binding) {
  TypeBuilder builder(abi::kCombinerResized, binding);
  builder.history_address(lb);
  builder.history_address(extent);
  builder.history_type(old);
  Bounds bounds;
  bounds.add(old, 0, 1, 0);
  bounds.mark(lb, Wide{lb} + extent);
  return builder.finish(old.layout(), old.signature(), old.signature_hash(), bounds,
                        old.size());
}

Result<TypeRef> make_dup(const Datatype& old) {
  TypeBuilder builder(abi::kCombinerDup, Binding::kClassic);
  builder.history_type(old);
  Bounds bounds;
  bounds.add(old, 0, 1, 0);
  auto copy = builder.finish(old.layout(), old.signature(), old.signature_hash(),
                             bounds, old.size());
  if (copy.ok() && old.is_committed()) copy.value()->commit();
  return copy;
}

}  // namespace mpc::dt

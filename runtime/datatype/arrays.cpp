// Subarrays and distributed arrays (MPI-4.1 section 5.1.3 and 5.1.4).
//
// Both are built from the fastest dimension outwards. A Part is the result of the steps
// so far: a layout together with the lowest and the highest byte that its data touch.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/datatype/type_builder.h"

namespace mpc::dt {
namespace {

struct Part {
  Layout layout;
  Wide low = 0, high = 0;  // of the data; equal if there are none
  Wide elements = 0;       // old elements in it
};

Part of(const Datatype& old) {
  return {old.layout(), old.true_lb(), Wide{old.true_lb()} + old.true_extent(), 1};
}

bool fits(Wide value) {
  return value >= std::numeric_limits<Count>::min() &&
         value <= std::numeric_limits<Count>::max();
}

// `count` parts, `stride` bytes apart, moved by `offset`.
Part repeat(LayoutArena& arena, const Part& part, Count count, Wide stride,
            Wide offset) {
  if (count <= 0 || part.elements == 0) return {};
  const Wide reach = (count - 1) * stride;
  const Wide low = part.low + offset + std::min<Wide>(0, reach);
  const Wide high = part.high + offset + std::max<Wide>(0, reach);
  const Wide elements = part.elements * count;
  const Wide bytes = Wide{part.layout.bytes} * count;  // elements may overlap
  if (!fits(low) || !fits(high) || !fits(high - low) || !fits(bytes))
    return {{}, -kFar, kFar, elements};  // finish() refuses this
  Part all{make_loop(arena, count, static_cast<Count>(stride), part.layout), low, high,
           elements};
  all.layout.offset += static_cast<Count>(offset);
  return all;
}

Part join(LayoutArena& arena, const Part& first, const Part& second) {
  if (first.elements == 0) return second;
  if (second.elements == 0) return first;
  ListBuilder list(arena);
  list.add(0, first.layout);
  list.add(0, second.layout);
  return {list.finish(), std::min(first.low, second.low),
          std::max(first.high, second.high), first.elements + second.elements};
}

// Dimensions from the fastest to the slowest: the last one first in C order.
size_t dimension(size_t step, size_t dims, int order) {
  return order == abi::kOrderC ? dims - 1 - step : step;
}

Error bad_order(int order) {
  return {Errc::kArg,
          fmt::format("order is {}, neither MPI_ORDER_C nor MPI_ORDER_FORTRAN", order)};
}

// The array of all dimensions occupies [0, total elements * extent).
Result<TypeRef> finish(TypeBuilder& builder, const Part& part, Wide array_elements,
                       const Datatype& old) {
  const Wide extent = array_elements * old.extent(), size = part.elements * old.size();
  if (!fits(extent) || !fits(size) || !fits(part.elements))
    return {Errc::kCount, "the array does not fit in 63 bits"};
  Bounds bounds;
  bounds.mark(0, extent);  // MPI-4.1 sections 5.1.3 and 5.1.4
  bounds.alignment = old.alignment();
  if (size > 0) {
    bounds.true_lb = part.low;
    bounds.true_ub = part.high;
  }
  const auto n = static_cast<Count>(part.elements);
  return builder.finish(part.layout,
                        make_repeat(builder.signatures(), n, old.signature()),
                        hash_repeat(old.signature_hash(), n), bounds, size);
}

// One dimension of a distributed array: `size` old elements dealt out to `processes`.
struct Distribution {
  Count size;
  int distrib, darg, processes, coordinate;
};

Result<> check(const Distribution& d, size_t i) {
  if (d.size < 1 || d.processes < 1)
    return {Errc::kArg,
            fmt::format("gsizes[{0}] is {1} and psizes[{0}] is {2}, must be "
                        "positive",
                        i, d.size, d.processes)};
  const bool is_default = d.darg == abi::kDistributeDfltDarg;
  switch (d.distrib) {
    case abi::kDistributeNone:
      if (d.processes != 1)
        return {Errc::kArg,
                fmt::format("dimension {} is not distributed, but psizes is {}", i,
                            d.processes)};
      return {};
    case abi::kDistributeBlock:
      if (!is_default && Wide{d.darg} * d.processes < d.size)
        return {Errc::kArg, fmt::format("blocks of {} for {} processes do not cover {} "
                                        "elements of dimension {}",
                                        d.darg, d.processes, d.size, i)};
      [[fallthrough]];
    case abi::kDistributeCyclic:
      if (!is_default && d.darg < 1)
        return {Errc::kArg,
                fmt::format("dargs[{}] is {}, must be positive", i, d.darg)};
      return {};
    default:
      return {Errc::kArg,
              fmt::format("distribs[{}] is {}, no distribution", i, d.distrib)};
  }
}

// The elements of the process at `d.coordinate`; one element is `part`, the next one
// lies `stride` bytes further.
Part distribute(LayoutArena& arena, const Part& part, const Distribution& d,
                Wide stride) {
  const bool is_default = d.darg == abi::kDistributeDfltDarg;
  Count block = d.size;  // kDistributeNone
  if (d.distrib == abi::kDistributeBlock)
    block = is_default ? (d.size - 1) / d.processes + 1 : d.darg;
  else if (d.distrib == abi::kDistributeCyclic)
    block = is_default ? 1 : d.darg;
  // In one round every process gets a block; the last round may be cut short.
  const Wide round = Wide{block} * d.processes, first = Wide{block} * d.coordinate;
  const Wide rounds = d.size / round, rest_at = rounds * round + first;
  Part whole;
  if (rounds > 0)  // otherwise a round may be longer than any array
    whole = repeat(arena, repeat(arena, part, block, stride, 0),
                   static_cast<Count>(rounds), round * stride, first * stride);
  const Wide rest = std::min<Wide>(block, d.size - rest_at);
  if (rest <= 0) return whole;
  return join(arena, whole,
              repeat(arena, part, static_cast<Count>(rest), stride, rest_at * stride));
}

}  // namespace

Result<TypeRef> make_subarray(CountArray sizes, CountArray subsizes, CountArray starts,
                              int order, const Datatype& old, Binding binding) {
  const size_t dims = sizes.size();
  if (dims == 0 || subsizes.size() != dims || starts.size() != dims)
    return {Errc::kArg, fmt::format("a subarray of {} dimensions", dims)};
  if (order != abi::kOrderC && order != abi::kOrderFortran) return bad_order(order);
  Wide total = 1;
  for (size_t i = 0; i < dims; ++i) {
    if (sizes[i] < 1 || subsizes[i] < 1 || starts[i] < 0 || subsizes[i] > sizes[i] ||
        starts[i] > sizes[i] - subsizes[i])
      return {Errc::kArg,
              fmt::format("dimension {}: {} elements from {} on of an array of {}", i,
                          subsizes[i], starts[i], sizes[i])};
    total *= sizes[i];
    if (!fits(total)) return {Errc::kCount, "the array does not fit in 63 bits"};
  }
  if (!fits(total * old.extent()))
    return {Errc::kCount, "the array does not fit in 63 bits"};
  TypeBuilder builder(abi::kCombinerSubarray, binding);
  builder.history_integer(static_cast<int>(dims));
  builder.history(sizes);
  builder.history(subsizes);
  builder.history(starts);
  builder.history_integer(order);
  builder.history_type(old);
  Part part = of(old);
  Wide stride = old.extent();
  for (size_t step = 0; step < dims; ++step) {
    const size_t i = dimension(step, dims, order);
    part = repeat(builder.layouts(), part, subsizes[i], stride, starts[i] * stride);
    stride *= sizes[i];
  }
  return finish(builder, part, total, old);
}

Result<TypeRef> make_darray(int size, int rank, CountArray gsizes,
                            std::span<const int> distribs, std::span<const int> dargs,
                            std::span<const int> psizes, int order, const Datatype& old,
                            Binding binding) {
  const size_t dims = gsizes.size();
  if (dims == 0 || distribs.size() != dims || dargs.size() != dims ||
      psizes.size() != dims)
    return {Errc::kArg, fmt::format("a distributed array of {} dimensions", dims)};
  if (order != abi::kOrderC && order != abi::kOrderFortran) return bad_order(order);
  if (size < 1 || rank < 0 || rank >= size)
    return {Errc::kArg, fmt::format("rank {} of {}", rank, size)};
  std::vector<Distribution> all(dims);
  Wide total = 1, processes = 1;
  int rest = rank;
  for (size_t i = dims; i-- > 0;) {  // the process grid is always in C order
    if (psizes[i] < 1)
      return {Errc::kArg, fmt::format("psizes[{}] is {}", i, psizes[i])};
    all[i] = {gsizes[i], distribs[i], dargs[i], psizes[i], rest % psizes[i]};
    rest /= psizes[i];
    MPC_TRY(check(all[i], i));
    processes *= psizes[i];
    total *= gsizes[i];
    if (!fits(total) || !fits(processes))
      return {Errc::kCount, "the array does not fit in 63 bits"};
  }
  if (processes != size)
    return {Errc::kArg, fmt::format("the product of psizes is not size ({})", size)};
  if (!fits(total * old.extent()))
    return {Errc::kCount, "the array does not fit in 63 bits"};
  TypeBuilder builder(abi::kCombinerDarray, binding);
  builder.history_integer(size);
  builder.history_integer(rank);
  builder.history_integer(static_cast<int>(dims));
  builder.history(gsizes);
  for (auto values : {distribs, dargs, psizes})
    for (int value : values) builder.history_integer(value);
  builder.history_integer(order);
  builder.history_type(old);
  Part part = of(old);
  Wide stride = old.extent();
  for (size_t step = 0; step < dims; ++step) {
    const size_t i = dimension(step, dims, order);
    part = distribute(builder.layouts(), part, all[i], stride);
    stride *= gsizes[i];
  }
  return finish(builder, part, total, old);
}

}  // namespace mpc::dt

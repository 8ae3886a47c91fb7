#include "tests/unit/datatype/random_types.h"

#include <set>

namespace mpc::dt {
namespace {

TypeRef checked(Result<TypeRef> result) {
  CHECK(result.ok(), result.error().message.c_str());
  return std::move(result).value();
}

// Row-major walk over all index tuples below `sizes`, fastest dimension per `order`.
template <class Visit>
void walk(const std::vector<int>& sizes, int order, Visit visit) {
  const size_t dims = sizes.size();
  std::vector<int> index(dims, 0);
  for (;;) {
    visit(index);
    size_t step = 0;
    for (; step < dims; ++step) {
      const size_t i = order == abi::kOrderC ? dims - 1 - step : step;
      if (++index[i] < sizes[i]) break;
      index[i] = 0;
    }
    if (step == dims) return;
  }
}

Count linear(const std::vector<int>& index, const std::vector<int>& sizes, int order) {
  Count at = 0;
  for (size_t step = 0; step < sizes.size(); ++step) {
    const size_t i = order == abi::kOrderC ? step : sizes.size() - 1 - step;
    at = at * sizes[i] + index[i];
  }
  return at;
}

}  // namespace

RandomType RandomTypes::leaf() {
  static constexpr uint32_t kCodes[] = {
      abi::kChar, abi::kShort,      abi::kInt,       abi::kFloat, abi::kDouble,
      abi::kLong, abi::kLongDouble, abi::kDoubleInt, abi::kByte,  abi::kCDoubleComplex,
      abi::k2Int, abi::kShortInt,   abi::kInteger2,  abi::kWchar, abi::kLogical};
  const uint32_t code = kCodes[pick(0, std::size(kCodes) - 1)];
  return {TypeRef(predefined(code)), Model::basic(code)};
}

RandomType RandomTypes::contiguous(const RandomType& old) {
  const Count n = pick(0, 5);
  return {checked(make_contiguous(n, *old.type, binding())),
          Model::join({{n, 0, &old.model}})};
}

RandomType RandomTypes::vector(const RandomType& old, bool in_bytes) {
  const Count n = pick(0, 5), length = pick(0, 4), stride = pick(-6, 9);
  const Count bytes = in_bytes ? stride * pick(1, 9) : stride * old.model.extent();
  std::vector<Model::Placed> parts;
  for (Count i = 0; i < n; ++i) parts.push_back({length, i * bytes, &old.model});
  return {checked(in_bytes ? make_hvector(n, length, bytes, *old.type, binding())
                           : make_vector(n, length, stride, *old.type, binding())),
          Model::join(parts)};
}

RandomType RandomTypes::indexed(const RandomType& old, bool in_bytes, bool one_length) {
  const Count n = pick(0, 20), length = pick(0, 3);
  std::vector<int> lengths;
  std::vector<Count> places;
  std::vector<Model::Placed> parts;
  const bool ascending = pick(0, 1) == 0;
  Count next = pick(-5, 5);
  for (Count i = 0; i < n; ++i) {
    lengths.push_back(static_cast<int>(one_length ? length : pick(0, 3)));
    places.push_back(ascending ? next : pick(-40, 40));
    next +=
        lengths.back() * (in_bytes ? old.model.extent() : 1) + pick(0, 1) * pick(0, 3);
    const Count at = in_bytes ? places.back() : places.back() * old.model.extent();
    parts.push_back({lengths.back(), at, &old.model});
  }
  Result<TypeRef> type =
      one_length ? (in_bytes ? make_hindexed_block(length, places, *old.type, binding())
                             : make_indexed_block(length, places, *old.type, binding()))
                 : (in_bytes ? make_hindexed(lengths, places, *old.type, binding())
                             : make_indexed(lengths, places, *old.type, binding()));
  return {checked(std::move(type)), Model::join(parts)};
}

RandomType RandomTypes::structure(std::vector<RandomType> olds) {
  std::vector<int> lengths;
  std::vector<Count> places;
  std::vector<const Datatype*> types;
  std::vector<Model::Placed> parts;
  Count next = pick(-8, 8);
  for (const RandomType& old : olds) {
    lengths.push_back(static_cast<int>(pick(0, 3)));
    places.push_back(next - std::min(old.model.true_lb(), old.model.lb));
    types.push_back(old.type.get());
    parts.push_back({lengths.back(), places.back(), &old.model});
    next = places.back() + std::max(old.model.true_ub(), old.model.ub) +
           std::max<Count>(0, lengths.back() - 1) * std::abs(old.model.extent()) +
           pick(0, 1) * pick(0, 9);
  }
  Model model = Model::join(parts);
  if (olds.size() > 1) model.pad_as_struct();
  return {checked(make_struct(lengths, places, types, binding())), std::move(model)};
}

RandomType RandomTypes::resized(const RandomType& old) {
  const Count lb = pick(-9, 9), extent = pick(-3, 3) == 0 ? -pick(0, 20) : pick(0, 60);
  Model model = old.model;
  model.mark(lb, lb + extent);
  return {checked(make_resized(*old.type, lb, extent, binding())), std::move(model)};
}

RandomType RandomTypes::subarray(const RandomType& old) {
  const auto dims = static_cast<size_t>(pick(1, 3));
  const int order = pick(0, 1) == 0 ? abi::kOrderC : abi::kOrderFortran;
  std::vector<int> sizes, subsizes, starts;
  for (size_t i = 0; i < dims; ++i) {
    sizes.push_back(static_cast<int>(pick(1, 5)));
    subsizes.push_back(static_cast<int>(pick(1, sizes[i])));
    starts.push_back(static_cast<int>(pick(0, sizes[i] - subsizes[i])));
  }
  std::vector<Model::Placed> parts;
  walk(subsizes, order, [&](std::vector<int> index) {
    for (size_t i = 0; i < dims; ++i) index[i] += starts[i];
    parts.push_back({1, linear(index, sizes, order) * old.model.extent(), &old.model});
  });
  Model model = Model::join(parts);
  Count extent = old.model.extent();
  for (int size : sizes) extent *= size;
  model.mark(0, extent);
  return {checked(make_subarray(sizes, subsizes, starts, order, *old.type, binding())),
          std::move(model)};
}

RandomType RandomTypes::darray(const RandomType& old) {
  const auto dims = static_cast<size_t>(pick(1, 3));
  const int order = pick(0, 1) == 0 ? abi::kOrderC : abi::kOrderFortran;
  std::vector<int> gsizes, distribs, dargs, psizes;
  int processes = 1;
  for (size_t i = 0; i < dims; ++i) {
    gsizes.push_back(static_cast<int>(pick(1, 7)));
    distribs.push_back(
        static_cast<int>(pick(abi::kDistributeNone, abi::kDistributeCyclic)));
    psizes.push_back(
        distribs[i] == abi::kDistributeNone ? 1 : static_cast<int>(pick(1, 3)));
    const int least = (gsizes[i] + psizes[i] - 1) / psizes[i];
    const int darg = distribs[i] == abi::kDistributeBlock
                         ? least + static_cast<int>(pick(0, 2))
                         : static_cast<int>(pick(1, 3));
    dargs.push_back(pick(0, 2) == 0 ? int{abi::kDistributeDfltDarg} : darg);
    processes *= psizes[i];
  }
  const auto rank = static_cast<int>(pick(0, processes - 1));
  std::vector<int> coordinates(dims);
  for (int rest = rank, i = static_cast<int>(dims) - 1; i >= 0; --i) {
    coordinates[i] = rest % psizes[i];
    rest /= psizes[i];
  }
  std::vector<Model::Placed> parts;
  walk(gsizes, order, [&](const std::vector<int>& index) {
    for (size_t i = 0; i < dims; ++i) {
      const bool dflt = dargs[i] == abi::kDistributeDfltDarg;
      int owner = 0;
      if (distribs[i] == abi::kDistributeBlock)
        owner = index[i] / (dflt ? (gsizes[i] + psizes[i] - 1) / psizes[i] : dargs[i]);
      else if (distribs[i] == abi::kDistributeCyclic)
        owner = index[i] / (dflt ? 1 : dargs[i]) % psizes[i];
      if (owner != coordinates[i]) return;
    }
    parts.push_back({1, linear(index, gsizes, order) * old.model.extent(), &old.model});
  });
  Model model = Model::join(parts);
  model.alignment = old.model.alignment;
  Count extent = old.model.extent();
  for (int size : gsizes) extent *= size;
  model.mark(0, extent);
  return {checked(make_darray(processes, rank, gsizes, distribs, dargs, psizes, order,
                              *old.type, binding())),
          std::move(model)};
}

RandomType RandomTypes::make(int depth, Count max_elements) {
  if (depth == 0) return leaf();
  for (;;) {
    RandomType old = make(depth - 1, max_elements);
    RandomType made;
    switch (pick(0, 10)) {
      case 0:
        made = contiguous(old);
        break;
      case 1:
        made = vector(old, false);
        break;
      case 2:
        made = vector(old, true);
        break;
      case 3:
        made = indexed(old, false, false);
        break;
      case 4:
        made = indexed(old, true, false);
        break;
      case 5:
        made = indexed(old, false, true);
        break;
      case 6:
        made = indexed(old, true, true);
        break;
      case 7: {
        std::vector<RandomType> parts{old};
        for (Count more = pick(0, 3); more > 0; --more)
          parts.push_back(make(static_cast<int>(pick(0, depth - 1)), max_elements));
        made = structure(std::move(parts));
        break;
      }
      case 8:
        made = resized(old);
        break;
      case 9:
        made = subarray(old);
        break;
      default:
        made = darray(old);
        break;
    }
    if (static_cast<Count>(made.model.map.size()) <= max_elements &&
        std::abs(made.model.ub) < 100000 && std::abs(made.model.lb) < 100000)
      return made;
  }
}

bool RandomTypes::is_disjoint(const Model& model, Count count) {
  const std::vector<Count> bytes = model.bytes(count);
  return std::set<Count>(bytes.begin(), bytes.end()).size() == bytes.size();
}

RandomType RandomTypes::same_signature(const Model& model, Count count) {
  // A struct of all basic elements at shuffled places, in runs of random length.
  const std::vector<uint32_t> codes = model.signature(count);
  std::vector<int> lengths;
  std::vector<const Datatype*> types;
  for (size_t i = 0; i < codes.size();) {
    size_t n = 1;
    while (i + n < codes.size() && codes[i + n] == codes[i] && pick(0, 3) != 0) ++n;
    lengths.push_back(static_cast<int>(n));
    types.push_back(predefined(codes[i]));
    i += n;
  }
  std::vector<size_t> order(types.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (pick(0, 1) == 0)
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1],
                order[static_cast<size_t>(pick(0, static_cast<Count>(i) - 1))]);
  std::vector<Count> places(types.size());
  Count next = 0;
  for (size_t i : order) {
    places[i] = next;
    next += lengths[i] * types[i]->extent() + pick(0, 1) * pick(0, 5);
  }
  std::vector<Model> basics;
  basics.reserve(types.size());
  std::vector<Model::Placed> parts;
  for (size_t i = 0; i < types.size(); ++i) {
    basics.push_back(Model::basic(types[i]->abi_code()));
    parts.push_back({lengths[i], places[i], &basics.back()});
  }
  Model all = Model::join(parts);
  if (types.size() > 1) all.pad_as_struct();
  return {checked(make_struct(lengths, places, types)), std::move(all)};
}

}  // namespace mpc::dt

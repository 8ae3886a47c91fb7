// Types by Fortran kind parameters, and pairs by their parts. Slow path: a lock and a
// list.

#include <map>
#include <mutex>
#include <tuple>

#include "runtime/datatype/type_builder.h"

namespace mpc::dt {
namespace {

// The kinds that gfortran has on this platform (selected_real_kind, selected_int_kind).
struct RealKind {
  int precision, range;
  uint32_t real, complex;
};
constexpr RealKind kReals[] = {
    {6, 37, abi::kReal4, abi::kComplex8},
    {15, 307, abi::kReal8, abi::kComplex16},
    {18, 4931, abi::kLongDouble, abi::kCLongDoubleComplex},  // real(10)
    {33, 4931, abi::kReal16, abi::kComplex32},
};
struct IntegerKind {
  int range;
  uint32_t code;
};
constexpr IntegerKind kIntegers[] = {{2, abi::kInteger1},
                                     {4, abi::kInteger2},
                                     {9, abi::kInteger4},
                                     {18, abi::kInteger8},
                                     {38, abi::kInteger16}};

// Types already created, by combiner and arguments. Lives as long as the process.
const Datatype* permanent(int combiner, int first, int second, uint32_t code) {
  using Key = std::tuple<int, int, int>;
  static std::mutex* const mutex = new std::mutex;
  static auto* const known = new std::map<Key, const Datatype*>;
  const std::lock_guard lock(*mutex);
  const Datatype*& type = (*known)[{combiner, first, second}];
  if (type == nullptr) {
    TypeBuilder builder(combiner, Binding::kClassic);
    builder.history_integer(first);
    if (combiner != abi::kCombinerF90Integer) builder.history_integer(second);
    type = builder.finish_permanent(*predefined(code));
  }
  return type;
}

bool is_digits(int value) { return value >= 0 || value == kAny; }

// One of both may be left out (MPI-4.1 section 19.1.9).
const RealKind* real_kind(int precision, int range) {
  if ((precision == kAny && range == kAny) || !is_digits(precision) ||
      !is_digits(range))
    return nullptr;
  for (const RealKind& kind : kReals)
    if ((precision == kAny || precision <= kind.precision) &&
        (range == kAny || range <= kind.range))
      return &kind;
  return nullptr;
}

}  // namespace

const Datatype* f90_real(int precision, int range) {
  const RealKind* kind = real_kind(precision, range);
  if (kind == nullptr) return nullptr;
  return permanent(abi::kCombinerF90Real, precision, range, kind->real);
}

const Datatype* f90_complex(int precision, int range) {
  const RealKind* kind = real_kind(precision, range);
  if (kind == nullptr) return nullptr;
  return permanent(abi::kCombinerF90Complex, precision, range, kind->complex);
}

const Datatype* f90_integer(int range) {
  if (range < 0) return nullptr;
  for (const IntegerKind& kind : kIntegers)
    if (range <= kind.range)
      return permanent(abi::kCombinerF90Integer, range, 0, kind.code);
  return nullptr;
}

const Datatype* value_index_pair(const Datatype& value,
                                 const Datatype& index) noexcept {
  constexpr struct {
    uint32_t value, index, pair;
  } kPairs[] = {
      {abi::kFloat, abi::kInt, abi::kFloatInt},
      {abi::kDouble, abi::kInt, abi::kDoubleInt},
      {abi::kLong, abi::kInt, abi::kLongInt},
      {abi::kInt, abi::kInt, abi::k2Int},
      {abi::kShort, abi::kInt, abi::kShortInt},
      {abi::kLongDouble, abi::kInt, abi::kLongDoubleInt},
      {abi::kReal, abi::kReal, abi::k2Real},
      {abi::kDoublePrecision, abi::kDoublePrecision, abi::k2DoublePrecision},
      {abi::kInteger, abi::kInteger, abi::k2Integer},
  };
  if (value.abi_code() == 0 || index.abi_code() == 0) return nullptr;
  for (const auto& p : kPairs)
    if (p.value == value.abi_code() && p.index == index.abi_code())
      return predefined(p.pair);
  return nullptr;
}

}  // namespace mpc::dt

// The predefined datatypes: one constant table for the process, x86-64 and gfortran's
// defaults.

#include <array>
#include <complex>
#include <cstddef>
#include <utility>

#include "runtime/datatype/predefined.h"

namespace mpc::dt {
namespace {

struct Spec {
  uint32_t code;
  Count size, alignment;
};

template <class T>
constexpr Spec of(uint32_t code) {
  return {code, sizeof(T), alignof(T)};
}
constexpr Spec fixed(uint32_t code, Count alignment = 0) {
  const Count size = Count{1} << ((code >> 3) & 7);
  return {code, size, alignment == 0 ? size : alignment};
}

constexpr Spec kBasics[] = {
    of<intptr_t>(abi::kAint),
    of<int64_t>(abi::kCount),
    of<int64_t>(abi::kOffset),
    of<char>(abi::kPacked),
    of<short>(abi::kShort),
    of<int>(abi::kInt),
    of<long>(abi::kLong),
    of<long long>(abi::kLongLong),
    of<unsigned short>(abi::kUnsignedShort),
    of<unsigned>(abi::kUnsigned),
    of<unsigned long>(abi::kUnsignedLong),
    of<unsigned long long>(abi::kUnsignedLongLong),
    of<float>(abi::kFloat),
    of<std::complex<float>>(abi::kCFloatComplex),
    of<std::complex<float>>(abi::kCxxFloatComplex),
    of<double>(abi::kDouble),
    of<std::complex<double>>(abi::kCDoubleComplex),
    of<std::complex<double>>(abi::kCxxDoubleComplex),
    of<int>(abi::kLogical),
    of<int>(abi::kInteger),
    of<float>(abi::kReal),
    of<std::complex<float>>(abi::kComplex),
    of<double>(abi::kDoublePrecision),
    of<std::complex<double>>(abi::kDoubleComplex),
    of<char>(abi::kCharacter),
    of<long double>(abi::kLongDouble),
    of<std::complex<long double>>(abi::kCLongDoubleComplex),
    of<std::complex<long double>>(abi::kCxxLongDoubleComplex),
    of<bool>(abi::kCBool),
    of<bool>(abi::kCxxBool),
    of<wchar_t>(abi::kWchar),
    fixed(abi::kInt8T),
    fixed(abi::kUint8T),
    fixed(abi::kChar),
    fixed(abi::kSignedChar),
    fixed(abi::kUnsignedChar),
    fixed(abi::kByte),
    fixed(abi::kInt16T),
    fixed(abi::kUint16T),
    fixed(abi::kInt32T),
    fixed(abi::kUint32T),
    fixed(abi::kInt64T),
    fixed(abi::kUint64T),
    fixed(abi::kLogical1),
    fixed(abi::kInteger1),
    fixed(abi::kLogical2),
    fixed(abi::kInteger2),
    fixed(abi::kReal2),
    fixed(abi::kLogical4),
    fixed(abi::kInteger4),
    fixed(abi::kReal4),
    fixed(abi::kComplex4, 2),
    fixed(abi::kLogical8),
    fixed(abi::kInteger8),
    fixed(abi::kReal8),
    fixed(abi::kComplex8, 4),
    fixed(abi::kLogical16),
    fixed(abi::kInteger16),
    fixed(abi::kReal16),
    fixed(abi::kComplex16, 8),
    fixed(abi::kComplex32, 16),
};

constexpr uint32_t kMarkers[] = {abi::kLb, abi::kUb};

// A pair as C lays out struct { First; Second; }, or as Fortran an array of two.
struct PairSpec {
  uint32_t code, first, second;
  Count first_bytes, second_bytes, second_offset, extent, alignment;
};

template <class First, class Second>
constexpr PairSpec pair(uint32_t code, uint32_t first, uint32_t second) {
  struct Both {
    First a;
    Second b;
  };
  return {code,          first,          second,
          sizeof(First), sizeof(Second), offsetof(Both, b),
          sizeof(Both),  alignof(Both)};
}

constexpr PairSpec kPairs[] = {
    pair<float, int>(abi::kFloatInt, abi::kFloat, abi::kInt),
    pair<double, int>(abi::kDoubleInt, abi::kDouble, abi::kInt),
    pair<long, int>(abi::kLongInt, abi::kLong, abi::kInt),
    pair<int, int>(abi::k2Int, abi::kInt, abi::kInt),
    pair<short, int>(abi::kShortInt, abi::kShort, abi::kInt),
    pair<long double, int>(abi::kLongDoubleInt, abi::kLongDouble, abi::kInt),
    pair<float, float>(abi::k2Real, abi::kReal, abi::kReal),
    pair<double, double>(abi::k2DoublePrecision, abi::kDoublePrecision,
                         abi::kDoublePrecision),
    pair<int, int>(abi::k2Integer, abi::kInteger, abi::kInteger),
};

constexpr size_t kBasicCount = std::size(kBasics), kPairCount = std::size(kPairs);
constexpr size_t kMarkerCount = std::size(kMarkers);

// Arrays that the pairs' layouts and signatures point to.
struct PairParts {
  Block blocks[2];
  Count prefix[3];
  Signature elements[2];
};
constexpr PairParts parts_of(const PairSpec& p) {
  return {{{0, p.first_bytes}, {p.second_offset, p.second_bytes}},
          {0, p.first_bytes, p.first_bytes + p.second_bytes},
          {Signature::basic(p.first, p.first_bytes),
           Signature::basic(p.second, p.second_bytes)}};
}
template <size_t... I>
constexpr std::array<PairParts, sizeof...(I)> all_parts(std::index_sequence<I...>) {
  return {parts_of(kPairs[I])...};
}
constexpr std::array<PairParts, kPairCount> kParts =
    all_parts(std::make_index_sequence<kPairCount>());

}  // namespace

struct PredefinedTable {
  template <size_t... I, size_t... J>
  constexpr PredefinedTable(std::index_sequence<I...>, std::index_sequence<J...>)
      : types{basic(kBasics[I])..., pair(kPairs[J], kParts[J])..., marker(kMarkers[0]),
              marker(kMarkers[1])} {}

  static constexpr Datatype basic(const Spec& s) {
    return Datatype(s.code, s.size, s.size, s.alignment, Layout::run(0, s.size, 1, 0),
                    Signature::basic(s.code, s.size), hash_basic(s.code));
  }
  static constexpr Datatype marker(uint32_t code) {
    return Datatype(code, 0, 0, 1, Layout{}, Signature{}, SignatureHash{});
  }
  static constexpr Datatype pair(const PairSpec& p, const PairParts& parts) {
    return Datatype(p.code, p.extent, p.second_offset + p.second_bytes, p.alignment,
                    pair_layout(p, parts), pair_signature(p, parts),
                    hash_append(hash_basic(p.first), hash_basic(p.second)));
  }
  static constexpr Layout pair_layout(const PairSpec& p, const PairParts& parts) {
    if (p.second_offset == p.first_bytes)
      return Layout::run(0, p.first_bytes + p.second_bytes, 1, 0);
    Layout layout;
    layout.shape = Shape::kBlocks;
    layout.bytes = parts.prefix[2];
    layout.count = 2;
    layout.blocks = parts.blocks;
    layout.prefix = parts.prefix;
    return layout;
  }
  static constexpr Signature pair_signature(const PairSpec& p, const PairParts& parts) {
    if (p.first == p.second) return Signature::basic(p.first, p.first_bytes, 2);
    return {SignatureKind::kSequence, 0, 2, 2, parts.prefix[2], parts.elements};
  }
  Datatype types[kBasicCount + kPairCount + kMarkerCount];
};

namespace {
constinit PredefinedTable table{std::make_index_sequence<kBasicCount>{},
                                std::make_index_sequence<kPairCount>{}};

constexpr std::array<const Datatype*, detail::kCodes> by_code() {
  std::array<const Datatype*, detail::kCodes> found{};
  size_t at = 0;
  const auto place = [&](uint32_t code) {
    found[code - abi::kFirstType] = &table.types[at++];
  };
  for (const Spec& spec : kBasics) place(spec.code);
  for (const PairSpec& pair : kPairs) place(pair.code);
  for (const uint32_t code : kMarkers) place(code);
  return found;
}
}  // namespace

constinit const std::array<const Datatype*, detail::kCodes> detail::kByCode = by_code();

const Datatype* predefined(uint32_t abi_code) noexcept {
  return predefined_at(abi_code);
}

}  // namespace mpc::dt

#pragma once
// Reduction kernels and the table of them; compiled once per instruction set.
//
// Role:      included by reduce_baseline.cpp and reduce_v3.cpp only; everything is in
//            an unnamed namespace, so that no function of one instruction set replaces
//            another's.
// Users:     those two files.
// Threads:   pure.
// See also:  reduce.h.

#include <cstddef>
#include <cstdint>

#include "runtime/datatype/abi.h"
#include "runtime/datatype/reduce_function.h"
#include "runtime/datatype/reduce_table.h"

#if defined(__clang__)
#define MPC_NO_LOOP_DEPENDENCE _Pragma("clang loop vectorize(assume_safety)")
#else
#define MPC_NO_LOOP_DEPENDENCE _Pragma("GCC ivdep")
#endif

namespace mpc::dt {
namespace {

__extension__ typedef __int128 Int128;
__extension__ typedef __float128 Float128;

// Wraps instead of overflowing; narrow types are widened by the language to `int`
// otherwise.
template <class T>
struct Wrapping {
  using Type = T;
};
template <>
struct Wrapping<int8_t> {
  using Type = uint32_t;
};
template <>
struct Wrapping<int16_t> {
  using Type = uint32_t;
};
template <>
struct Wrapping<uint8_t> {
  using Type = uint32_t;
};
template <>
struct Wrapping<uint16_t> {
  using Type = uint32_t;
};
template <>
struct Wrapping<int32_t> {
  using Type = uint32_t;
};
template <>
struct Wrapping<int64_t> {
  using Type = uint64_t;
};
template <>
struct Wrapping<Int128> {
  __extension__ using Type = unsigned __int128;
};

template <class T>
struct Sum {
  using W = typename Wrapping<T>::Type;
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  }
};
template <class T>
struct Prod {
  using W = typename Wrapping<T>::Type;
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  }
};
template <class T>
struct Min {
  static T apply(T a, T b) { return a < b ? a : b; }
};
template <class T>
struct Max {
  static T apply(T a, T b) { return a > b ? a : b; }
};
template <class T>
struct Band {
  static T apply(T a, T b) { return static_cast<T>(a & b); }
};
template <class T>
struct Bor {
  static T apply(T a, T b) { return static_cast<T>(a | b); }
};
template <class T>
struct Bxor {
  static T apply(T a, T b) { return static_cast<T>(a ^ b); }
};
template <class T>
struct Land {
  static T apply(T a, T b) { return static_cast<T>((a != 0) & (b != 0)); }
};
template <class T>
struct Lor {
  static T apply(T a, T b) { return static_cast<T>((a != 0) | (b != 0)); }
};
template <class T>
struct Lxor {
  static T apply(T a, T b) { return static_cast<T>((a != 0) != (b != 0)); }
};

// A T at any address, which may alias anything.
template <class T>
struct Loose {
  typedef T Type __attribute__((aligned(1), may_alias));
};

// Element-wise kernel. `kPer` scalars per element: a complex sum is a sum of 2 n
// scalars. No loop dependence: `out` is one of the operands or overlaps neither
// (contract in reduce.h).
template <template <class> class Op, class T, int kPer = 1>
struct Each {
  static void run3(const void* left, const void* right, void* out, Count n) {
    using L = typename Loose<T>::Type;
    const auto* a = static_cast<const L*>(left);
    const auto* b = static_cast<const L*>(right);
    auto* c = static_cast<L*>(out);
    const Count scalars = n * kPer;
    MPC_NO_LOOP_DEPENDENCE
    for (Count i = 0; i < scalars; ++i) c[i] = Op<T>::apply(a[i], b[i]);
  }
};

template <class T>
struct ComplexProd {
  static void run3(const void* left, const void* right, void* out, Count n) {
    using L = typename Loose<T>::Type;
    const auto* a = static_cast<const L*>(left);
    const auto* b = static_cast<const L*>(right);
    auto* c = static_cast<L*>(out);
    MPC_NO_LOOP_DEPENDENCE
    for (Count i = 0; i < n; ++i) {
      const T re = a[2 * i], im = a[2 * i + 1], x = b[2 * i], y = b[2 * i + 1];
      c[2 * i] = re * x - im * y;
      c[2 * i + 1] = re * y + im * x;
    }
  }
};

// The value and the index of a pair, as C lays out struct { V value; I index; }.
template <class V, class I>
struct Pair {
  V value;
  I index;
};

struct Less {
  template <class V>
  static bool better(V a, V b) {
    return a < b;
  }
};
struct Greater {
  template <class V>
  static bool better(V a, V b) {
    return a > b;
  }
};

template <class Order, class V, class I>
struct Loc {
  static void run3(const void* left, const void* right, void* out, Count n) {
    using LV = typename Loose<V>::Type;
    using LI = typename Loose<I>::Type;
    using P = Pair<V, I>;
    constexpr size_t kStep = sizeof(P), kIndex = offsetof(P, index);
    const auto* a = static_cast<const char*>(left);
    const auto* b = static_cast<const char*>(right);
    auto* c = static_cast<char*>(out);
    for (Count i = 0; i < n; ++i, a += kStep, b += kStep, c += kStep) {
      const V x = *reinterpret_cast<const LV*>(a), y = *reinterpret_cast<const LV*>(b);
      const I j = *reinterpret_cast<const LI*>(a + kIndex);
      const I k = *reinterpret_cast<const LI*>(b + kIndex);
      const bool first = Order::better(x, y) || (!Order::better(y, x) && j < k);
      *reinterpret_cast<LV*>(c) = first ? x : y;
      *reinterpret_cast<LI*>(c + kIndex) = first ? j : k;
    }
  }
};

template <size_t kExtent>
struct Replace {
  static void run3(const void* left, const void*, void* out, Count n) {
    __builtin_memmove(out, left, static_cast<size_t>(n) * kExtent);
  }
};
template <size_t kExtent>
struct NoOp {
  static void run3(const void*, const void* right, void* out, Count n) {
    if (out != right) __builtin_memmove(out, right, static_cast<size_t>(n) * kExtent);
  }
};

template <class Kernel>
void run2(const void* in, void* inout, Count n) {
  Kernel::run3(in, inout, inout, n);
}

class TableMaker {
 public:
  template <class Kernel>
  constexpr void set(uint32_t op, uint32_t code) {
    table.two[op_slot(op)][code - abi::kFirstType] = &run2<Kernel>;
    table.three[op_slot(op)][code - abi::kFirstType] = &Kernel::run3;
  }
  template <size_t kExtent>
  constexpr void rma(uint32_t code) {
    set<Replace<kExtent>>(abi::kReplace, code);
    set<NoOp<kExtent>>(abi::kNoOp, code);
  }
  template <class T>
  constexpr void order(uint32_t code) {
    set<Each<Min, T>>(abi::kMin, code);
    set<Each<Max, T>>(abi::kMax, code);
  }
  template <class T>
  constexpr void arithmetic(uint32_t code) {
    set<Each<Sum, T>>(abi::kSum, code);
    set<Each<Prod, T>>(abi::kProd, code);
  }
  template <class T>
  constexpr void bits(uint32_t code) {
    set<Each<Band, T>>(abi::kBand, code);
    set<Each<Bor, T>>(abi::kBor, code);
    set<Each<Bxor, T>>(abi::kBxor, code);
  }
  template <class T>
  constexpr void logic(uint32_t code) {
    set<Each<Land, T>>(abi::kLand, code);
    set<Each<Lor, T>>(abi::kLor, code);
    set<Each<Lxor, T>>(abi::kLxor, code);
  }
  // The classes of MPI-4.1 section 6.9.2.
  template <class T>
  constexpr void integer(uint32_t code) {
    order<T>(code);
    arithmetic<T>(code);
    bits<T>(code);
    logic<T>(code);
    rma<sizeof(T)>(code);
  }
  template <class T>
  constexpr void floating(uint32_t code) {
    order<T>(code);
    arithmetic<T>(code);
    logic<T>(code);  // see make_table()
    rma<sizeof(T)>(code);
  }
  template <class T>
  constexpr void complex(uint32_t code) {
    set<Each<Sum, T, 2>>(abi::kSum, code);
    set<ComplexProd<T>>(abi::kProd, code);
    rma<2 * sizeof(T)>(code);
  }
  template <class T>
  constexpr void logical(uint32_t code) {
    logic<T>(code);
    rma<sizeof(T)>(code);
  }
  template <class V, class I>
  constexpr void pair(uint32_t code) {
    set<Loc<Less, V, I>>(abi::kMinloc, code);
    set<Loc<Greater, V, I>>(abi::kMaxloc, code);
    rma<sizeof(Pair<V, I>)>(code);
  }

  ReduceTable table;
};

// NOLINTNEXTLINE(readability-function-size): a table, a line for each type
constexpr ReduceTable make_table() {
  TableMaker m;
  using namespace abi;
  // MPI-4.1 does not list MPI_CHAR, nor logical operations on floating types; programs use
  // them, and other implementations accept them.
  for (uint32_t c : {kInt8T, kSignedChar, kChar, kInteger1}) m.integer<int8_t>(c);
  for (uint32_t c : {kUint8T, kUnsignedChar}) m.integer<uint8_t>(c);
  for (uint32_t c : {kInt16T, kShort, kInteger2}) m.integer<int16_t>(c);
  for (uint32_t c : {kUint16T, kUnsignedShort}) m.integer<uint16_t>(c);
  for (uint32_t c : {kInt32T, kInt, kInteger, kInteger4}) m.integer<int32_t>(c);
  for (uint32_t c : {kUint32T, kUnsigned}) m.integer<uint32_t>(c);
  for (uint32_t c : {kInt64T, kLong, kLongLong, kInteger8, kAint, kCount, kOffset})
    m.integer<int64_t>(c);
  for (uint32_t c : {kUint64T, kUnsignedLong, kUnsignedLongLong})
    m.integer<uint64_t>(c);
  m.integer<Int128>(kInteger16);
#ifdef __FLT16_MANT_DIG__
  m.floating<_Float16>(kReal2);
  m.complex<_Float16>(kComplex4);
#else  // clang 14: can be moved, but not used in expressions
  m.rma<2>(kReal2);
  m.rma<4>(kComplex4);
#endif
  for (uint32_t c : {kFloat, kReal, kReal4}) m.floating<float>(c);
  for (uint32_t c : {kDouble, kDoublePrecision, kReal8}) m.floating<double>(c);
  m.floating<long double>(kLongDouble);
  m.floating<Float128>(kReal16);
  for (uint32_t c : {kCFloatComplex, kCxxFloatComplex, kComplex, kComplex8})
    m.complex<float>(c);
  for (uint32_t c : {kCDoubleComplex, kCxxDoubleComplex, kDoubleComplex, kComplex16})
    m.complex<double>(c);
  for (uint32_t c : {kCLongDoubleComplex, kCxxLongDoubleComplex})
    m.complex<long double>(c);
  m.complex<Float128>(kComplex32);
  for (uint32_t c : {kCBool, kCxxBool, kLogical1}) m.logical<uint8_t>(c);
  m.logical<int16_t>(kLogical2);
  for (uint32_t c : {kLogical, kLogical4}) m.logical<int32_t>(c);
  m.logical<int64_t>(kLogical8);
  m.logical<Int128>(kLogical16);
  m.bits<uint8_t>(kByte);
  for (uint32_t c : {kByte, kCharacter}) m.rma<1>(c);
  m.rma<sizeof(wchar_t)>(kWchar);
  m.pair<float, int>(kFloatInt);
  m.pair<double, int>(kDoubleInt);
  m.pair<long, int>(kLongInt);
  for (uint32_t c : {k2Int, k2Integer}) m.pair<int, int>(c);
  m.pair<short, int>(kShortInt);
  m.pair<long double, int>(kLongDoubleInt);
  m.pair<float, float>(k2Real);
  m.pair<double, double>(k2DoublePrecision);
  return m.table;
}

}  // namespace
}  // namespace mpc::dt

// The bytes of external32, as MPI-4.1 section 14.5.2 lays them down, and the types that
// have no constructor: Fortran kinds and pairs.

#include <gtest/gtest.h>

#include <cwchar>
#include <limits>
#include <vector>

#include "runtime/datatype/external32.h"

namespace mpc::dt {
namespace {

const Datatype& type(uint32_t code) { return *predefined(code); }

using Bytes = std::vector<unsigned char>;

template <class T>
Bytes packed(uint32_t code, std::vector<T> values) {
  Bytes out(static_cast<size_t>(external32_size(type(code), 1).value()) *
            (values.size() * sizeof(T) / static_cast<size_t>(type(code).size())));
  const auto n = static_cast<Count>(values.size() * sizeof(T)) / type(code).size();
  auto result = external32_pack(values.data(), type(code), n, out.data(), out.size());
  EXPECT_TRUE(result.ok());
  return out;
}

TEST(External32, IsBigEndian) {
  EXPECT_EQ(packed<short>(abi::kShort, {0x0102}), (Bytes{1, 2}));
  EXPECT_EQ(packed<int>(abi::kInt, {0x01020304, -2}),
            (Bytes{1, 2, 3, 4, 0xff, 0xff, 0xff, 0xfe}));
  EXPECT_EQ(packed<int64_t>(abi::kAint, {0x0102030405060708}),
            (Bytes{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(packed<double>(abi::kDouble, {-2.0}), (Bytes{0xc0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(packed<char>(abi::kByte, {1, 2, 3}), (Bytes{1, 2, 3}));
}

TEST(External32, SwapsThePartsOfAComplexNumberOneByOne) {
  EXPECT_EQ(packed<float>(abi::kCFloatComplex, {1.0f, -1.0f}),
            (Bytes{0x3f, 0x80, 0, 0, 0xbf, 0x80, 0, 0}));
}

TEST(External32, ShortensLongAndWideCharacters) {
  EXPECT_EQ(packed<long>(abi::kLong, {-2}), (Bytes{0xff, 0xff, 0xff, 0xfe}));
  EXPECT_EQ(packed<unsigned long>(abi::kUnsignedLong, {0xfffffffe}),
            (Bytes{0xff, 0xff, 0xff, 0xfe}));
  EXPECT_EQ(packed<wchar_t>(abi::kWchar, {L'\x20ac'}), (Bytes{0x20, 0xac}));
  const unsigned char minus_two[] = {0xff, 0xff, 0xff, 0xfe};
  long value = 0;
  EXPECT_EQ(external32_unpack(&value, type(abi::kLong), 1, minus_two, 4).value(), 4u);
  EXPECT_EQ(value, -2);
}

TEST(External32, RefusesValuesThatDoNotFit) {
  const long big = 1L << 40;
  char out[4];
  EXPECT_EQ(external32_pack(&big, type(abi::kLong), 1, out, 4).error().code,
            Errc::kOther);
  const wchar_t far = 0x1f600;
  EXPECT_EQ(external32_pack(&far, type(abi::kWchar), 1, out, 4).error().code,
            Errc::kOther);
}

TEST(External32, HoldsLongDoubleAsBinary128) {
  // 1.0: sign 0, exponent 0x3fff, fraction 0.
  Bytes one(16);
  one[0] = 0x3f;
  one[1] = 0xff;
  EXPECT_EQ(packed<long double>(abi::kLongDouble, {1.0L}), one);
  using Limits = std::numeric_limits<long double>;
  for (long double value : {Limits::max(), Limits::min(), Limits::denorm_min(),
                            Limits::infinity(), -0.1L, 0.0L}) {
    char wire[16];
    long double back = 7;
    ASSERT_TRUE(external32_pack(&value, type(abi::kLongDouble), 1, wire, 16).ok());
    ASSERT_TRUE(external32_unpack(&back, type(abi::kLongDouble), 1, wire, 16).ok());
    EXPECT_EQ(back, value);
  }
}

TEST(External32, SaysHowManyBytesAreMissing) {
  const int values[2] = {};
  char out[8];
  EXPECT_EQ(external32_pack(values, type(abi::kInt), 2, out, 7).error().code,
            Errc::kTruncate);
  int back[2];
  EXPECT_EQ(external32_unpack(back, type(abi::kInt), 2, out, 7).error().code,
            Errc::kTruncate);
  EXPECT_EQ(external32_size(type(abi::kInt), INT64_MAX).error().code, Errc::kCount);
}

TEST(FortranKinds, PickTheSmallestThatFits) {
  EXPECT_EQ(f90_real(6, 37)->size(), 4);
  EXPECT_EQ(f90_real(7, kAny)->size(), 8);
  EXPECT_EQ(f90_real(kAny, 308)->uniform_code(), abi::kLongDouble);
  EXPECT_EQ(f90_real(33, 10)->uniform_code(), abi::kReal16);
  EXPECT_EQ(f90_real(34, 10), nullptr);
  EXPECT_EQ(f90_complex(15, 307)->uniform_code(), abi::kComplex16);
  EXPECT_EQ(f90_integer(2)->size(), 1);
  EXPECT_EQ(f90_integer(9)->size(), 4);
  EXPECT_EQ(f90_integer(10)->size(), 8);
  EXPECT_EQ(f90_integer(39), nullptr);
}

TEST(FortranKinds, AreOneTypePerArgumentsAndRememberThem) {
  const Datatype* real = f90_real(10, 100);
  EXPECT_EQ(real, f90_real(10, 100));
  EXPECT_NE(real, f90_real(11, 100));
  EXPECT_TRUE(real->is_predefined());
  EXPECT_TRUE(real->is_committed());
  EXPECT_EQ(real->contents().combiner, abi::kCombinerF90Real);
  EXPECT_EQ(real->contents().integers, (std::vector<int>{10, 100}));
  EXPECT_EQ(f90_integer(5)->contents().integers, std::vector<int>{5});
  real->release();  // predefined types are not counted
  EXPECT_EQ(real->size(), 8);
}

TEST(ValueIndexPair, IsTheOneOfMpi) {
  EXPECT_EQ(value_index_pair(type(abi::kDouble), type(abi::kInt)),
            predefined(abi::kDoubleInt));
  EXPECT_EQ(value_index_pair(type(abi::kInt), type(abi::kDouble)), nullptr);
  EXPECT_EQ(value_index_pair(*make_dup(type(abi::kInt)).value(), type(abi::kInt)),
            nullptr);
}

}  // namespace
}  // namespace mpc::dt

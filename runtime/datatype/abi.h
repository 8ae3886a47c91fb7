#pragma once
// The MPI-5.0 ABI's integer codes for predefined types, operations, combiners and arrays.
//
// Role:      the only knowledge of MPI's constants below mpi/; values, no lookups.
// Users:     runtime/datatype; layers above may use the names too.
// Threads:   constants.
// See also:  MPI-5.0 chapter 20 (ABI). mpi/ asserts that mpi.h says the same.

#include <cstdint>

namespace mpc::dt::abi {

// Datatypes whose size the platform chooses.
enum Type : uint32_t {
  kTypeNull = 0x200,
  kAint = 0x201, kCount = 0x202, kOffset = 0x203, kPacked = 0x207,
  kShort = 0x208, kInt = 0x209, kLong = 0x20a, kLongLong = 0x20b,
  kUnsignedShort = 0x20c, kUnsigned = 0x20d, kUnsignedLong = 0x20e,
  kUnsignedLongLong = 0x20f,
  kFloat = 0x210, kCFloatComplex = 0x212, kCxxFloatComplex = 0x213,
  kDouble = 0x214, kCDoubleComplex = 0x216, kCxxDoubleComplex = 0x217,
  kLogical = 0x218, kInteger = 0x219, kReal = 0x21a, kComplex = 0x21b,
  kDoublePrecision = 0x21c, kDoubleComplex = 0x21d, kCharacter = 0x21e,
  kLongDouble = 0x220, kCLongDoubleComplex = 0x224, kCxxLongDoubleComplex = 0x225,
  kFloatInt = 0x228, kDoubleInt = 0x229, kLongInt = 0x22a, k2Int = 0x22b,
  kShortInt = 0x22c, kLongDoubleInt = 0x22d,
  k2Real = 0x230, k2DoublePrecision = 0x231, k2Integer = 0x232,
  kCBool = 0x238, kCxxBool = 0x239, kWchar = 0x23c,
  // MPI_LB and MPI_UB were removed in MPI-3.0 and the ABI has none, but old programs
  // build structs with them. Codes that the ABI leaves free.
  kLbMarker = 0x23e, kUbMarker = 0x23f,
  // Datatypes of fixed size: 1 << ((code >> 3) & 7) bytes.
  kInt8 = 0x240, kUint8 = 0x241, kChar = 0x243, kSignedChar = 0x244,
  kUnsignedChar = 0x245, kByte = 0x247,
  kInt16 = 0x248, kUint16 = 0x249, kInt32 = 0x250, kUint32 = 0x251,
  kInt64 = 0x258, kUint64 = 0x259,
  kLogical1 = 0x2c0, kInteger1 = 0x2c1,
  kLogical2 = 0x2c8, kInteger2 = 0x2c9, kReal2 = 0x2ca,
  kLogical4 = 0x2d0, kInteger4 = 0x2d1, kReal4 = 0x2d2, kComplex4 = 0x2d3,
  kLogical8 = 0x2d8, kInteger8 = 0x2d9, kReal8 = 0x2da, kComplex8 = 0x2db,
  kLogical16 = 0x2e0, kInteger16 = 0x2e1, kReal16 = 0x2e2, kComplex16 = 0x2e3,
  kComplex32 = 0x2eb,
};
inline constexpr uint32_t kFirstType = 0x200, kLastType = 0x2ff;

enum Op : uint32_t {
  kOpNull = 0x20, kSum = 0x21, kMin = 0x22, kMax = 0x23, kProd = 0x24,
  kBand = 0x28, kBor = 0x29, kBxor = 0x2a,
  kLand = 0x30, kLor = 0x31, kLxor = 0x32,
  kMinloc = 0x38, kMaxloc = 0x39,
  kReplace = 0x3c, kNoOp = 0x3d,
};

enum Combiner : int {
  kCombinerNamed = 101, kCombinerDup = 102, kCombinerContiguous = 103,
  kCombinerVector = 104, kCombinerHvector = 105, kCombinerIndexed = 106,
  kCombinerHindexed = 107, kCombinerIndexedBlock = 108, kCombinerHindexedBlock = 109,
  kCombinerStruct = 110, kCombinerSubarray = 111, kCombinerDarray = 112,
  kCombinerF90Integer = 113, kCombinerF90Real = 114, kCombinerF90Complex = 115,
  kCombinerResized = 116, kCombinerValueIndex = 117,
};

enum Array : int {
  kOrderC = 12, kOrderFortran = 15,
  kDistributeNone = 16, kDistributeBlock = 17, kDistributeCyclic = 18,
  kDistributeDefaultArgument = 19,
};

}  // namespace mpc::dt::abi

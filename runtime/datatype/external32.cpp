#include "runtime/datatype/external32.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace mpc::dt {
namespace {

static_assert(std::endian::native == std::endian::little, "the swaps below assume it");

__extension__ typedef __float128 Float128;

// The external form of one basic type: `units` numbers of `native` bytes become `external` bytes
// each.
enum class Kind : uint8_t { kSwap, kLong, kUnsignedLong, kWchar, kLongDouble };
struct Form {
  Kind kind;
  uint8_t units, native, external;
  Count external_bytes() const { return Count{units} * external; }
  Count native_bytes() const { return Count{units} * native; }
};

Form form_of(uint32_t code) {
  switch (code) {
    case abi::kLong:
      return {Kind::kLong, 1, sizeof(long), 4};
    case abi::kUnsignedLong:
      return {Kind::kUnsignedLong, 1, sizeof(long), 4};
    case abi::kWchar:
      return {Kind::kWchar, 1, sizeof(wchar_t), 2};
    case abi::kLongDouble:
      return {Kind::kLongDouble, 1, sizeof(long double), 16};
    case abi::kCLongDoubleComplex:
    case abi::kCxxLongDoubleComplex:
      return {Kind::kLongDouble, 2, sizeof(long double), 16};
    default:
      break;
  }
  const auto size = static_cast<uint8_t>(predefined(code)->size());
  switch (code) {
    case abi::kCFloatComplex:
    case abi::kCxxFloatComplex:
    case abi::kCDoubleComplex:
    case abi::kCxxDoubleComplex:
    case abi::kComplex:
    case abi::kDoubleComplex:
    case abi::kComplex4:
    case abi::kComplex8:
    case abi::kComplex16:
    case abi::kComplex32: {
      const auto half = static_cast<uint8_t>(size / 2);
      return {Kind::kSwap, 2, half, half};
    }
    default:
      return {Kind::kSwap, 1, size, size};
  }
}

void swap_bytes(char* to, const char* from, size_t bytes) {
  std::reverse_copy(from, from + bytes, to);
}

template <class Word, Word (*swap)(Word)>
void swap_words(char* to, const char* from, Count n) {
  for (Count i = 0; i < n; ++i) {
    Word word;
    std::memcpy(&word, from + i * static_cast<Count>(sizeof word), sizeof word);
    word = swap(word);
    std::memcpy(to + i * static_cast<Count>(sizeof word), &word, sizeof word);
  }
}
uint16_t swap16(uint16_t x) { return __builtin_bswap16(x); }
uint32_t swap32(uint32_t x) { return __builtin_bswap32(x); }
uint64_t swap64(uint64_t x) { return __builtin_bswap64(x); }

void swap_units(char* to, const char* from, size_t bytes, Count n) {
  switch (bytes) {
    case 1:
      std::memcpy(to, from, static_cast<size_t>(n));
      return;
    case 2:
      return swap_words<uint16_t, swap16>(to, from, n);
    case 4:
      return swap_words<uint32_t, swap32>(to, from, n);
    case 8:
      return swap_words<uint64_t, swap64>(to, from, n);
    default:
      for (Count i = 0; i < n; ++i, to += bytes, from += bytes)
        swap_bytes(to, from, bytes);
  }
}

template <class T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void store(char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// Narrow is the external32 form of a Native.
template <class Native, class Narrow>
bool narrow(char* to, const char* from, Count n) {
  for (Count i = 0; i < n; ++i, to += sizeof(Narrow), from += sizeof(Native)) {
    const auto value = load<Native>(from);
    const auto kept = static_cast<Narrow>(value);
    if (static_cast<Native>(kept) != value) return false;
    char bytes[sizeof(Narrow)];
    store(bytes, kept);
    swap_bytes(to, bytes, sizeof bytes);
  }
  return true;
}
template <class Native, class Narrow>
void widen(char* to, const char* from, Count n) {
  for (Count i = 0; i < n; ++i, to += sizeof(Native), from += sizeof(Narrow)) {
    char bytes[sizeof(Narrow)];
    swap_bytes(bytes, from, sizeof bytes);
    store(to, static_cast<Native>(load<Narrow>(bytes)));
  }
}

// Converts `n` units; false if a value does not fit.
bool to_external(const Form& form, char* to, const char* from, Count n) {
  switch (form.kind) {
    case Kind::kSwap:
      swap_units(to, from, form.native, n);
      return true;
    case Kind::kLong:
      return narrow<long, int32_t>(to, from, n);
    case Kind::kUnsignedLong:
      return narrow<unsigned long, uint32_t>(to, from, n);
    case Kind::kWchar:
      return narrow<uint32_t, uint16_t>(to, from, n);
    case Kind::kLongDouble:
      for (Count i = 0; i < n; ++i, to += 16, from += sizeof(long double)) {
        char bytes[16];
        store(bytes, static_cast<Float128>(load<long double>(from)));
        swap_bytes(to, bytes, sizeof bytes);
      }
      return true;
  }
  return false;
}

void from_external(const Form& form, char* to, const char* from, Count n) {
  switch (form.kind) {
    case Kind::kSwap:
      return swap_units(to, from, form.native, n);
    case Kind::kLong:
      return widen<long, int32_t>(to, from, n);
    case Kind::kUnsignedLong:
      return widen<unsigned long, uint32_t>(to, from, n);
    case Kind::kWchar:
      return widen<uint32_t, uint16_t>(to, from, n);
    case Kind::kLongDouble:
      for (Count i = 0; i < n; ++i, to += sizeof(long double), from += 16) {
        char bytes[16];
        swap_bytes(bytes, from, sizeof bytes);
        std::memset(to, 0, sizeof(long double));
        const auto value = static_cast<long double>(load<Float128>(bytes));
        std::memcpy(to, &value, 10);  // the other six bytes are padding
      }
      return;
  }
}

Count external_bytes(const Signature& node) {
  switch (node.kind) {
    case SignatureKind::kEmpty:
      return 0;
    case SignatureKind::kBasic:
      return node.count * form_of(node.code).external_bytes();
    case SignatureKind::kRepeat:
      return node.count * external_bytes(*node.children);
    case SignatureKind::kSequence: {
      Count bytes = 0;
      for (Count i = 0; i < node.count; ++i) bytes += external_bytes(node.children[i]);
      return bytes;
    }
  }
  return 0;
}

constexpr size_t kBufferBytes = 4096;  // of packed native form, between layout and swap

}  // namespace

Result<Count> external32_size(const Datatype& type, Count count) {
  Count bytes;
  if (__builtin_mul_overflow(external_bytes(type.signature()), count, &bytes))
    return {Errc::kCount,
            fmt::format("the external32 form of {} elements does not fit in "
                        "63 bits",
                        count)};
  return bytes;
}

Result<size_t> external32_pack(const void* src, const Datatype& type, Count count,
                               void* out, size_t out_bytes) {
  auto size = external32_size(type, count);
  if (!size) return size.error();
  if (static_cast<size_t>(*size) > out_bytes)
    return {Errc::kTruncate, fmt::format("external32 needs {} bytes, the buffer has {}",
                                         *size, out_bytes)};
  alignas(16) char native[kBufferBytes];
  size_t read = 0, filled = 0, used = 0;  // of the packed form; of `native`
  auto* to = static_cast<char*>(out);
  SignatureCursor cursor(type.signature(), count);
  for (SignatureCursor::Run run; cursor.next(run);) {
    const Form form = form_of(run.code);
    const auto element = static_cast<size_t>(form.native_bytes());
    while (run.count > 0) {
      if (filled - used < element) {
        read += used;
        filled = pack(src, type, count, read, native, sizeof native);
        used = 0;
      }
      // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a signature's elements have bytes
      const auto whole = static_cast<Count>((filled - used) / element);
      const Count n = std::min(run.count, whole);
      if (!to_external(form, to, native + used, n * form.units))
        return {Errc::kOther, "a value does not fit into its external32 size"};
      to += n * form.external_bytes();
      used += static_cast<size_t>(n) * element;
      run.count -= n;
    }
  }
  return static_cast<size_t>(*size);
}

Result<size_t> external32_unpack(void* dst, const Datatype& type, Count count,
                                 const void* in, size_t in_bytes) {
  auto size = external32_size(type, count);
  if (!size) return size.error();
  if (static_cast<size_t>(*size) > in_bytes)
    return {Errc::kTruncate, fmt::format("external32 needs {} bytes, the buffer has {}",
                                         *size, in_bytes)};
  alignas(16) char native[kBufferBytes];
  size_t written = 0, filled = 0;
  const auto flush = [&] {
    unpack(dst, type, count, written, native, filled);
    written += filled;
    filled = 0;
  };
  auto* from = static_cast<const char*>(in);
  SignatureCursor cursor(type.signature(), count);
  for (SignatureCursor::Run run; cursor.next(run);) {
    const Form form = form_of(run.code);
    const auto element = static_cast<size_t>(form.native_bytes());
    while (run.count > 0) {
      if (sizeof native - filled < element) flush();
      const Count n =
          std::min(run.count, static_cast<Count>((sizeof native - filled) / element));
      from_external(form, native + filled, from, n * form.units);
      from += n * form.external_bytes();
      filled += static_cast<size_t>(n) * element;
      run.count -= n;
    }
  }
  flush();
  return static_cast<size_t>(*size);
}

}  // namespace mpc::dt

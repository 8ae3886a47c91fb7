#pragma once
// Bytes: the values that a fuzzer's byte string stands for, read one after the other.
//
// Role:      turns what libFuzzer invents into numbers, choices and words. Behind its end all
//            numbers are the lowest that are allowed and all words empty, so that whoever
//            reads in a loop ends.
// Users:     tests/fuzz.
// Threads:   one.
// See also:  CONTRIBUTING.md, "Tests"; https://llvm.org/docs/LibFuzzer.html

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace mpc::fuzz {

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool is_empty() const { return left_ == 0; }

  template <class T>
  T number() {
    T value{};
    const size_t count = left_ < sizeof value ? left_ : sizeof value;
    if (count > 0) std::memcpy(&value, data_, count);
    skip(count);
    return value;
  }

  // A number from `low` to `high`, of as few bytes as tell them apart.
  int64_t pick(int64_t low, int64_t high) {
    const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const uint64_t raw = span <= UINT8_MAX    ? number<uint8_t>()
                         : span <= UINT16_MAX ? number<uint16_t>()
                                              : number<uint64_t>();
    return static_cast<int64_t>(static_cast<uint64_t>(low) +
                                (span == UINT64_MAX ? raw : raw % (span + 1)));
  }

  // Up to the next zero byte, which is skipped.
  std::string word() {
    const void* zero = left_ > 0 ? std::memchr(data_, 0, left_) : nullptr;
    const size_t length =
        zero != nullptr ? static_cast<size_t>(static_cast<const uint8_t*>(zero) - data_)
                        : left_;
    std::string text(reinterpret_cast<const char*>(data_), length);
    skip(length + (zero != nullptr ? 1 : 0));
    return text;
  }

  std::string_view rest() const {
    return {reinterpret_cast<const char*>(data_), left_};
  }

 private:
  void skip(size_t count) {
    data_ += count;
    left_ -= count;
  }

  const uint8_t* data_;
  size_t left_;
};

}  // namespace mpc::fuzz

// A claim about the result that ends the fuzzer when it is false.
#define FUZZ_CLAIM(condition) ((condition) ? void() : __builtin_trap())

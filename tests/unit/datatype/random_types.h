#pragma once
// Random datatypes, each with its model, of bounded size and without overlapping bytes
// checked.
//
// Role:      the source of the random tests, and of the fuzzer, which says what is random.
// Users:     tests/unit/datatype, tests/fuzz.
// Threads:   one generator per test.
// See also:  model.h.

#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "tests/unit/datatype/model.h"

namespace mpc::dt {

struct RandomType {
  TypeRef type;
  Model model;
};

class RandomTypes {
 public:
  // Any number from `low` to `high`.
  using Pick = std::function<Count(Count low, Count high)>;

  explicit RandomTypes(Pick pick) : pick_(std::move(pick)) {}
  explicit RandomTypes(uint64_t seed)
      : pick_([source = std::mt19937_64(seed)](Count low, Count high) mutable {
          return std::uniform_int_distribution<Count>(low, high)(source);
        }) {}

  Count pick(Count low, Count high) { return pick_(low, high); }
  RandomType make(int depth, Count max_elements = 400);
  // True if no byte belongs to two elements of `count`.
  static bool is_disjoint(const Model& model, Count count);
  // A type with the same signature as `count` of the other, laid out at random.
  RandomType same_signature(const Model& model, Count count);

 private:
  Binding binding() { return pick(0, 1) == 0 ? Binding::kClassic : Binding::kLarge; }
  RandomType leaf();
  RandomType contiguous(const RandomType& old);
  RandomType vector(const RandomType& old, bool in_bytes);
  RandomType indexed(const RandomType& old, bool in_bytes, bool one_length);
  RandomType structure(std::vector<RandomType> parts);
  RandomType resized(const RandomType& old);
  RandomType subarray(const RandomType& old);
  RandomType darray(const RandomType& old);

  Pick pick_;
};

}  // namespace mpc::dt

#pragma once
// Random datatypes, each with its model, of bounded size and without overlapping bytes
// checked.
//
// Role:      the source of the random tests.
// Users:     tests/unit/datatype.
// Threads:   one generator per test.
// See also:  model.h.

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
  explicit RandomTypes(uint64_t seed) : source_(seed) {}

  Count pick(Count low, Count high) {
    return std::uniform_int_distribution<Count>(low, high)(source_);
  }
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

  std::mt19937_64 source_;
};

}  // namespace mpc::dt

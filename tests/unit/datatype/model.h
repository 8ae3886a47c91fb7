#pragma once
// The byte-by-byte model of a datatype: its type map written out, element by element.
//
// Role:      the reference that random datatypes are compared with.
// Users:     tests/unit/datatype, tests/fuzz.
// Threads:   none.
// See also:  MPI-4.1 section 5.1, whose definitions these functions repeat literally.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/datatype/datatype.h"

namespace mpc::dt {

struct Model {
  struct Entry {
    uint32_t code;  // a basic type
    Count at;
  };
  std::vector<Entry> map;
  Count lb = 0, ub = 0;
  bool is_marked = false;  // lb and ub were set; then they hide those of unmarked parts
  Count alignment = 1;

  void mark(Count new_lb, Count new_ub) {
    lb = new_lb;
    ub = new_ub;
    is_marked = true;
  }

  Count extent() const { return ub - lb; }
  static Count bytes_of(uint32_t code) { return predefined(code)->size(); }
  Count size() const {
    Count bytes = 0;
    for (const Entry& e : map) bytes += bytes_of(e.code);
    return bytes;
  }
  Count true_lb() const {
    if (map.empty()) return 0;
    Count low = INT64_MAX;
    for (const Entry& e : map) low = std::min(low, e.at);
    return low;
  }
  Count true_ub() const {
    if (map.empty()) return 0;
    Count high = INT64_MIN;
    for (const Entry& e : map) high = std::max(high, e.at + bytes_of(e.code));
    return high;
  }

  // The address of every byte of `count` elements, in packed order.
  std::vector<Count> bytes(Count count) const {
    std::vector<Count> all;
    for (Count i = 0; i < count; ++i)
      for (const Entry& e : map)
        for (Count b = 0; b < bytes_of(e.code); ++b)
          all.push_back(i * extent() + e.at + b);
    return all;
  }
  std::vector<uint32_t> signature(Count count) const {
    std::vector<uint32_t> all;
    for (Count i = 0; i < count; ++i)
      for (const Entry& e : map) all.push_back(e.code);
    return all;
  }

  // One block of a constructor: `length` elements of `type` from byte `at` on.
  struct Placed {
    Count length;
    Count at;
    const Model* type;
  };
  static Model join(const std::vector<Placed>& parts) {
    Model all;
    bool any = false;
    for (const Placed& p : parts) all.is_marked |= p.length > 0 && p.type->is_marked;
    for (const Placed& p : parts) {
      for (Count i = 0; i < p.length; ++i) {
        const Count base = p.at + i * p.type->extent();
        for (const Entry& e : p.type->map) all.map.push_back({e.code, base + e.at});
        if (p.type->is_marked == all.is_marked) {
          all.lb = any ? std::min(all.lb, base + p.type->lb) : base + p.type->lb;
          all.ub = any ? std::max(all.ub, base + p.type->ub) : base + p.type->ub;
          any = true;
        }
        all.alignment = std::max(all.alignment, p.type->alignment);
      }
    }
    return all;
  }
  void pad_as_struct() {
    if (is_marked) return;
    const Count over = extent() % alignment;
    if (over > 0) ub += alignment - over;
  }

  static Model basic(uint32_t code) {
    Model m;
    const Datatype& t = *predefined(code);
    m.lb = 0;
    m.ub = t.extent();
    m.alignment = t.alignment();
    switch (code) {
      case abi::kDoubleInt:
        m.map = {{abi::kDouble, 0}, {abi::kInt, 8}};
        break;
      case abi::kShortInt:
        m.map = {{abi::kShort, 0}, {abi::kInt, 4}};
        break;
      case abi::k2Int:
        m.map = {{abi::kInt, 0}, {abi::kInt, 4}};
        break;
      default:
        m.map = {{code, 0}};
        break;
    }
    return m;
  }
};

}  // namespace mpc::dt

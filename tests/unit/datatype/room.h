#pragma once
// Room: a buffer in which some elements of a model lie, of just the bytes that they need.
//
// Role:      what random data are packed from and unpacked to; whoever reads or writes a byte
//            that is not in the type map's range leaves the buffer.
// Users:     tests/unit/datatype, tests/fuzz.
// Threads:   none.
// See also:  model.h.

#include <algorithm>
#include <vector>

#include "tests/unit/datatype/model.h"

namespace mpc::dt {

struct Room {
  Room(const Model& model, Count count, char fill) {
    const std::vector<Count> places = model.bytes(count);
    Count low = 0, high = 0;
    for (Count at : places) {
      low = std::min(low, at);
      high = std::max(high, at + 1);
    }
    bytes.assign(static_cast<size_t>(high - low), fill);
    origin = -low;
  }
  // Of the elements' origin, or so far behind it.
  char* at(Count offset = 0) { return bytes.data() + origin + offset; }

  std::vector<char> bytes;
  Count origin = 0;
};

inline std::vector<char> gather(Room& room, const Model& model, Count count) {
  std::vector<char> packed;
  for (Count at : model.bytes(count)) packed.push_back(*room.at(at));
  return packed;
}

}  // namespace mpc::dt

#pragma once
// TypeBytes: serialises where the data of a datatype lie, for another process.
//
// Role:      the part of the origin's datatype that the process of a window's target needs: its
//            layout and bounds; not its history, nor the types of its elements.
// Users:     runtime/rma.
// Threads:   values.
// See also:  layout.h, type_builder.h; docs/design/0031-windows-between-processes.md.
//
// All processes of a job run the same build on the same architecture,
// so values are sent as they lie in memory.

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/datatype/datatype.h"

namespace mpc::dt {

// Cost: the length of the layout: a vector takes some 100 bytes, blocks at n places 16 n.
std::vector<std::byte> to_bytes(const Datatype& type);

// A datatype with the same layout, size and bounds; without a signature or history.
// Null: the bytes do not come from to_bytes().
TypeRef from_bytes(std::span<const std::byte> bytes);

}  // namespace mpc::dt

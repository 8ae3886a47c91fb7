#pragma once
// TypeBytes: where the data of a datatype lie, as bytes for another process.
//
// Role:      what the process of a window's target needs of the origin's datatype: its layout and
//            bounds; not how it was made, nor what its elements are.
// Users:     runtime/rma.
// Threads:   values.
// See also:  layout.h, type_builder.h; docs/design/0031-windows-between-processes.md.
//
// All processes of a job run the same build on the same architecture, so values go as they lie in
// memory.

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/datatype/datatype.h"

namespace mpc::dt {

// Cost: the length of the layout: a vector takes some 100 bytes, blocks at n places 16 n.
std::vector<std::byte> to_bytes(const Datatype& type);

// A datatype with the same layout, size and bounds; without a signature, and made of nothing.
// Null: these are no bytes of to_bytes().
TypeRef from_bytes(std::span<const std::byte> bytes);

}  // namespace mpc::dt

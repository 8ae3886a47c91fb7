#pragma once
// draw_tree: a machine's topology as nested boxes of text.
//
// Role:      what `mpcinfo topology` prints.
// Users:     topology/machine.cpp.
// Threads:   any.
// See also:  docs/topology.md shows an example.

#include <string>

#include "topology/tree.h"

namespace mpc::topo {

// At most 88 columns; objects that contain nothing but one core are left out, groups of
// equal small objects stand on one line.
std::string draw_tree(const std::string& name, const Tree& tree);

}  // namespace mpc::topo

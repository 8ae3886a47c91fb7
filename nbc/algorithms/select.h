#pragma once
// Selection: chooses the algorithm of a collective.
//
// Role:      maps properties that are the same at every rank (collective, bytes, number of ranks
//            and of places, commutativity) to a row of the table.
// Users:     nbc/algorithms/table.cpp.
// Threads:   pure, apart from reading settings.
// See also:  docs/collectives.md for where the limits come from.

#include "nbc/algorithms/collectives.h"

namespace mpc::nbc {

// Number of different places; 0 if unknown.
int count_places(std::span<const int> place_of_rank);

}  // namespace mpc::nbc

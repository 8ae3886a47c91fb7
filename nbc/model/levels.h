#pragma once
// Levels: how many messages each level of a binomial tree has, and what they cost when folded.
//
// Role:      the counts behind the split-tree model.
// Users:     nbc/model, sim, tools/mpcinfo.
// Threads:   pure functions.
// See also:  Denis et al. 2018, section 4; nbc/algorithms/tree.h numbers levels alike.
//
// Source: equation (3) of the paper is wrong in print (brackets); it means a count of
// edges: level i of 0..H-1 from the root joins rank r, a multiple of 2^(H-i), and r + 2^(H-i-1).

namespace mpc::nbc {

// H(N) = ceil(log2 N).
int tree_height(int ranks) noexcept;
// Messages of level `level` (0 at the root) of a binomial tree over `ranks`.
int edges_at_level(int ranks, int level) noexcept;
// Steps that levels 0..H-split-1 take on `cores` communication cores, one level after the
// other (the sum in equation (4)).
int folded_steps(int ranks, int split, int cores) noexcept;

}  // namespace mpc::nbc

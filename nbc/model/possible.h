#pragma once
// Possible: the shortest time from start to end of wait that the model allows, and thus how
// much of a collective can be hidden at all.
//
// Role:      the value that a measured overlap is compared with. Communication may stay on the
//            ranks' own cores (nothing is hidden) or be handed over, which costs the hand-over and
//            the transfer of the data out of the caches of the ranks' cores.
// Users:     tools/mpcinfo (mpcinfo possible), which the overlap benchmark calls.
// Threads:   pure functions.
// See also:  docs/overlap-model.md (section "What is possible"), nbc/model/calibrated.h.
//
// N ranks on A application cores, K = ceil(N / A) of them on each; each computes w between start
// and wait, those of one core one after the other. The collective lacks the last rank's data until
// that rank starts, so only its own computation can hide anything:
//
//   kept      = K (call + w) + communication on the ranks' cores
//   handed(S) = K (call + h) + (K - 1) w + max(w, 2 h + folded(S)) + kept levels(S)
//   possible  = the least of kept and handed(S) for all S and all algorithms
//
// A rank that waits takes part in copies from `message.shared_copy` bytes on: what is left of them at
// the end of w proceeds at the speed of the ranks' and the
// communication cores together; sums do not.
//
// call: starting and ending a non-blocking collective; h: until a core notices what another one
// wrote (the caller pays it once, the communication core when it begins, the rank when it ends).
// Communication cores are assumed to be awake. Left out: some work needs only one rank's data and
// may begin before the last rank's start (own blocks of a gather), and a rank in wait takes over
// whole messages that no core has begun.

#include "nbc/model/calibrated.h"

namespace mpc::nbc {

struct Possible {
  double window_us = 0;       // of one rank
  double computation_us = 0;  // of all ranks of a core: K w
  double blocking_us = 0;     // the collective on the ranks' cores, nothing else
  double kept_us = 0;         // total times, from the first start to the last end
  double handed_us = 0;       // infinite without a communication core
  int split = 0;              // the S of handed_us

  bool hands_over() const noexcept { return handed_us < kept_us; }
  double shortest_us() const noexcept { return std::min(kept_us, handed_us); }
  // The share of the blocking collective that is hidden, or of the window if that is shorter: 0
  // to 1, counted as bench/overlap counts what it measures. 0 where handing over does not pay.
  double hidden_share() const noexcept;
};

inline constexpr int64_t kSharedCopyBytes = 512
                                            << 10;  // default of message.shared_copy

// The window is situation.window_us; below 0: 1.2 times the blocking collective, as in
// bench/overlap. Parameters without measured caches: the model's copy rates for all.
// shared_copy_bytes: size of copies that ranks in wait take part in; 0: they do not.
Possible possible(const Situation& situation, const Parameters& parameters,
                  int64_t shared_copy_bytes = kSharedCopyBytes);

}  // namespace mpc::nbc

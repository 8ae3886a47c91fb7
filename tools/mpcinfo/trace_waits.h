#pragma once
// TraceWaits: divides each MPI call of a trace into moving data, and waiting for certain ranks.
//
// Role:      the time in which the rank copies counts as moving data. The rest is waiting: for the
//            rank whose message ended it, or for the last one to arrive at a collective.
// Users:     tools/mpcinfo/page_data.cpp.
// Threads:   one.
// See also:  docs/tracing.md (the page), tools/mpcinfo/trace_read.h.

#include <string>
#include <vector>

#include "tools/mpcinfo/trace_read.h"

namespace mpc::tools {

inline constexpr int kNobody = -1;  // no single rank, or not in the trace

// An MPI call that the program made, not one within another call.
struct CallDivided : CallSlice {
  double moving_us = 0;
  int partner = kNobody;  // for whom it waited longest; else of its largest message
  int64_t bytes = 0;      // of the messages in it
};

struct Wait {
  int rank = 0, partner = kNobody;
  std::string call;
  double us = 0;
  int64_t times = 0;
};

// How a rank's time was spent, and how much was moved for it beside its computation.
struct RankShare {
  double computing_us = 0, waiting_us = 0, moving_us = 0;
  double work_us = 0;    // work for it, on any core
  double hidden_us = 0;  // the part of that during which it was in no MPI call
};

struct TraceWaits {
  std::vector<std::vector<CallDivided>> calls;  // of each rank, in order
  std::vector<Wait> waits;                      // the longest first
  std::vector<RankShare> shares;                // of each rank
};

TraceWaits find_waits(const TraceData& data);

}  // namespace mpc::tools

#pragma once
// TraceData: a file of `mpcrun --trace` as timelines of cores, ranks and collectives.
//
// Role:      reads the JSON once, for the list, the picture of a collective, and the page.
// Users:     tools/mpcinfo.
// Threads:   one.
// See also:  runtime/trace/json.cpp writes the file; docs/tracing.md.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace mpc::tools {

// Times are microseconds from the first event.
struct Interval {
  double begin = 0, end = 0;
  double overlap(const Interval& other) const noexcept {
    const double from = begin > other.begin ? begin : other.begin;
    const double to = end < other.end ? end : other.end;
    return to > from ? to - from : 0;
  }
};

// A time during which a rank or a progress thread had a core.
struct RunSlice : Interval {
  enum Kind { kRank, kProgress, kIdle, kOther } kind = kOther;
  int rank = -1;
};

// A copy, reduction, ... on a core.
struct WorkSlice : Interval {
  std::string name;
  int core = 0;
  int rank = -1;  // the owner of the data
  int64_t bytes = 0, source = -1, tag = -1, context = -1, level = -1;
  bool is_polling = false;  // a progress thread that polls
  int doer = -1;            // the rank that does it itself; see TraceData::rank_work
};

struct CallSlice : Interval {
  std::string name;
  int rank = 0;
};

struct CoreTrack {
  std::string name;
  bool is_communication = false;
  std::vector<RunSlice> runs;
};

struct NodeFlight : Interval {
  std::string kind;
  int64_t peer = -1, bytes = 0, level = -1;
};

// One rank's part of a collective.
struct Part : Interval {
  int rank = 0;
  std::vector<NodeFlight> nodes;
};

struct CollectiveTrace : Interval {
  std::string call;
  int64_t context = 0, tag_base = 0;
  std::vector<Part> parts;  // by rank
};

// A message of this rank is sent, or meets its receive.
struct MessagePoint {
  double time = 0;
  int rank = -1, partner = -1;
  bool is_send = false;
  int64_t bytes = 0;
};

// From the send to the copy of its data.
struct Arrow : Interval {
  int from = -1, to = -1;  // ranks; -1: not in the trace
  int64_t bytes = 0;
};

// All messages from one rank to another one, counted while the job ran.
struct MessageCount {
  int to = 0, from = 0;  // from -1: not known
  int64_t messages = 0, bytes = 0;
};

struct TraceData {
  std::string program;
  int ranks = 0;
  int64_t lost = 0;
  double end = 0;
  std::vector<CoreTrack> cores;
  std::vector<WorkSlice> work;       // in order of their begin
  std::vector<CallSlice> calls;      // MPI calls of the ranks' main executions
  std::vector<WorkSlice> rank_work;  // work of these executions, in or between calls
  std::vector<MessagePoint> points;
  std::vector<Arrow> arrows;
  std::vector<MessageCount> messages;
  std::vector<CollectiveTrace> collectives;
};

// Errors: kNotFound, kArg with the reason.
Result<TraceData> read_trace(const std::string& path);

// True: this work moves data of the collective.
bool belongs_to(const WorkSlice& work, const CollectiveTrace& collective);

}  // namespace mpc::tools

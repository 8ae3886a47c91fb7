#pragma once
// Job: what a trace must know of the job it is of.
//
// Role:      names and numbers of the tracks.
// Users:     runtime/trace/json.h, runtime/trace/trace_file.h.
// Threads:   plain data.
// See also:  docs/tracing.md.

#include <string>
#include <vector>

namespace mpc::trace {

struct Job {
  std::string command;
  int rank_count = 0;
  int application_workers = 0;
  std::vector<int> cores;               // of each worker
  int (*rank_of)(void* who) = nullptr;  // -1: no rank
};

}  // namespace mpc::trace

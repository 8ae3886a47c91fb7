#pragma once
// Job: what a trace must know about the job that it belongs to.
//
// Role:      names and numbers of the tracks.
// Users:     runtime/trace/json.h, runtime/trace/trace_file.h.
// Threads:   plain data.
// See also:  docs/tracing.md.

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::trace {

struct Job {
  std::string command;
  int rank_count = 0;
  int application_workers = 0;
  std::vector<int> cores;               // of each worker
  int (*rank_of)(void* who) = nullptr;  // -1: no rank
  // Number of the process whose trace it is, and of all.
  int process = 0, processes = 1;
  int first_rank = 0, local_ranks = 0;  // of this process; 0: all
  int end_rank() const noexcept {
    return local_ranks == 0 ? rank_count : first_rank + local_ranks;
  }
  uint64_t begin_ns = 0;  // the origin of times; 0: the first event
};

}  // namespace mpc::trace

#pragma once
// Process: a process of the job as the head sees it, wherever it runs.
//
// Role:      its ranks, its host, what is known about its end.
// Users:     tools/mpclaunch (head, shim).
// Threads:   plain data.
// See also:  tools/mpclaunch/children.h.

#include <string>
#include <vector>

#include "base/clock.h"
#include "tools/mpclaunch/plan.h"

namespace mpc::launch {

struct Process {
  int index = 0;
  int first_rank = 0, last_rank = 0;
  int host = 0;           // of the plan
  std::string host_name;  // empty: mpcrun's, and there is no other one
  bool is_running = false;
  bool has_finished = false;  // its ranks have ended by themselves
  bool has_joined = false;    // a hosted rank: one of its processes has called MPI_Init
  std::string stayed_out;    // a hosted rank ended without MPI_Init: the text to report
  bool is_lost = false;      // it has died, and the job goes on
  std::string death;         // what it has reported about its own end
  bool has_crashed = false;  // it prints a report, and ends
  Deadline kill_ns = 0;      // by when it must have ended, which it has begun to do
  unsigned gates = 0;        // bit: it has arrived there

  bool is_one_rank() const noexcept { return first_rank == last_rank; }
  // "process 1 (ranks 4-7) on host beta".
  std::string name() const;
};

std::vector<Process> processes_of(const Plan& plan);

// What waitpid() says, as an exit status: 128 + N after signal N.
int status_of(int wait_status) noexcept;

}  // namespace mpc::launch

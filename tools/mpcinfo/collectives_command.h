#pragma once
// collectives and tune: which ways collectives take here, and what decides it on this machine.
//
// Role:      the commands, after their options have been read.
// Users:     tools/mpcinfo/command_line.cpp.
// Threads:   one.
// See also:  docs/collectives.md, section "Limits"; mpi/coll/info.h.

#include <string>

namespace mpc::tools {

struct CollectivesOptions {
  std::string collective;  // "": all
  std::string machine;     // "": this one
  std::string sizes = "8,512,4k,64k,1M";
  int ranks = 0;        // 0: one for each core
  int comm_cores = -1;  // -1: as mpcrun chooses
  bool is_csv = false;
};

struct TuneOptions {
  std::string output;   // "": in the user's cache
  double seconds = 45;  // no limit is begun later
};

// Each prints to stdout, and to stderr what is wrong. Returns: exit status, 2 for bad input.
int collectives_command(const CollectivesOptions& options);
int tune_command(const TuneOptions& options);

}  // namespace mpc::tools

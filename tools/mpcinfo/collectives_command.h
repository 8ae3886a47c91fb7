#pragma once
// The commands collectives and tune: the choices of collectives, and limits for this machine.
//
// Role:      run the commands after their options have been read.
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
  double seconds = 45;  // after this time no further limit is begun
};

// Each prints to stdout, and errors to stderr. Returns: exit status, 2 for bad input.
int collectives_command(const CollectivesOptions& options);
int tune_command(const TuneOptions& options);

}  // namespace mpc::tools

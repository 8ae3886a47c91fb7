#pragma once
// The models as commands of mpcinfo.
//
// Role:      model, advise, simulate, possible and calibrate, after their options have been read.
// Users:     tools/mpcinfo/command_line.cpp.
// Threads:   one.
// See also:  docs/man/mpcinfo.1.in, docs/overlap-model.md.

#include <string>

namespace mpc::tools {

struct ModelOptions {
  std::string machine;  // "": this one
  std::string operation = "ibcast";
  std::string kind;  // "constant", "doubling", "calibrated"; "": the operation's weight
  std::string bytes = "2MB";
  std::string algorithm;   // "": a binomial tree
  std::string parameters;  // file of measured parameters; "": found or guessed
  std::string plot;        // path; "": none
  std::string ops = "ibcast:2MB:1";               // the mix of advise
  std::string compute = "2ms";                    // computation of a round on all cores
  int first_ranks = 0, last_ranks = 0, step = 0;  // of simulate; 0: all, or a choice
  int ranks = 2, comm_cores = 1, cores = 0;       // of possible; 0 cores: all
  std::string window;  // of possible: computation of each rank; "": 1.2 times blocking
  std::string shared_copy = "512KB";  // of possible: message.shared_copy
  bool waits_help = false;
  bool is_csv = false;
};

// Each prints to stdout, and errors to stderr. Returns: exit status, 2 for bad input.
int model_command(const ModelOptions& options);
int advise_command(const ModelOptions& options);
int simulate_command(const ModelOptions& options);
int possible_command(const ModelOptions& options);
// `output`: path; "": in the user's cache.
int calibrate_command(const std::string& output);

}  // namespace mpc::tools

#pragma once
// The models as commands of mpcinfo.
//
// Role:      --model, --simulate and --calibrate, after their options have been read.
// Users:     tools/mpcinfo/main.cpp.
// Threads:   one.
// See also:  docs/man/mpcinfo.1, docs/overlap-model.md.

#include <string>

namespace mpc::tools {

struct ModelOptions {
  std::string machine;  // "": this one
  std::string operation = "ibcast";
  std::string kind;  // "constant", "doubling", "calibrated"; "": what the operation has
  std::string plot;  // path, "": none
  std::string bytes = "2MB";
  bool is_csv = false;
};

// Each prints to stdout, and to stderr what is wrong. Returns: exit status, 2 for bad input.
int model_command(const ModelOptions& options);

}  // namespace mpc::tools

#pragma once
// Parsed: the values of mpcrun's options as they were typed.
//
// Role:      stands between the parser, which knows names, and the JobSpec, which knows meanings.
// Users:     tools/mpcrun/options.cpp fills it, tools/mpcrun/parsed.cpp reads it.
// Threads:   plain data.
// See also:  docs/mpcrun.md.

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/mpcrun/hosts.h"
#include "tools/mpcrun/options.h"

namespace mpc::tools {

// More ranks than any process can hold: each needs a stack and a private copy.
inline constexpr int kMaxRanks = 100000;

struct Parsed {
  int ranks = 0;  // 0: not said
  int comm_cores = -1;
  std::string progress, emulate;
  std::string cores, bind = "auto", placement = "compact", stack_size, wdir, trace,
                     profile_file;
  std::vector<std::string> exports, exports_of_all, settings;
  HostWish hosts;
  std::string ranks_per_process;  // a number, or auto
  std::string on_fail = "end";    // or notify
  std::string agent;
  std::string label_pattern, output_file, error_file;
  bool label = false, show = false, report = false, counters = false, profile = false,
       no_stdin = false, copy_output = false;
  double timeout = 0;
  std::vector<std::string> shown;  // in the help; the command never reaches CLI11
};

// The options of one program. Errors: kArg.
Result<> fill_app(const Parsed& parsed, const std::vector<std::string>& words,
                  Command& command);
// The options for all programs. Caller: once these are filled. Errors: kArg.
Result<> fill_all_apps(const Parsed& parsed, Command& command);
// The options of the job, which come before the first program. Errors: kArg.
Result<> fill_job(const Parsed& parsed, job::JobSpec& spec);

}  // namespace mpc::tools

#pragma once
// Words: the command line of one program, cut into options and the program's own command.
//
// Role:      decides which word is what before anything is parsed, so that no option is misread as
//            another one (-np is not "-n p") and each message can name the words that were typed.
// Users:     tools/mpcrun/options.cpp.
// Threads:   any.
// See also:  tools/mpcrun/peers.h.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace mpc::tools {

// An option of ours. Names are without dashes: one dash or two are the same, as launchers differ
// in that.
struct KnownOption {
  std::vector<std::string> names;
  std::string full_name;  // "--np"
  std::string value;      // the name of its value, "N"; empty: a flag
  bool may_repeat = false;
  bool is_allowed = true;  // before this program; else only before the first one
};

struct Words {
  std::vector<std::string> options;          // --NAME or --NAME=VALUE
  std::map<std::string, std::string> typed;  // full name -> as the user wrote it
  std::set<std::string> foreign;     // full names of those that replace others' options
  std::vector<std::string> command;  // the program and its arguments
  std::vector<std::string> warnings;  // what was forgiven
  std::string program_file;           // of -configfile and its kin; "": none was named
  std::vector<std::string> others;    // if one was: the words without that option
};

// Reads options up to the first word that is none, or to "--".
// Options of other launchers are replaced by ours where these do the same, and dropped where they
// are not needed.
// Errors: an unknown option, an impossible one of a launcher, a missing value: with a remedy.
Result<Words> read_words(const std::vector<std::string>& words,
                         const std::vector<KnownOption>& known);

// Returns `message`, which has the full names of options, with the names that the user typed.
std::string as_typed(std::string message, const Words& words);

}  // namespace mpc::tools

#pragma once
// Words: the command line of one program, cut into options and the program's own command.
//
// Role:      says which word is which before anything is parsed, so that no option is misread as
//            another one (-np is not "-n p") and each message can name what was typed.
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
  std::string value;      // what its value is called, "N"; empty: a flag
  bool may_repeat = false;
  bool is_allowed = true;  // before this program; else only before the first one
};

struct Words {
  std::vector<std::string> options;          // --NAME or --NAME=VALUE
  std::map<std::string, std::string> typed;  // full name -> as the user wrote it
  std::set<std::string> foreign;     // full names of those that others' stand for
  std::vector<std::string> command;  // the program and its arguments
  std::string program_file;          // of -configfile and its kin; "": none was named
  std::vector<std::string> others;   // if one was: the words without that option
};

// Reads options up to the first word that is none, or to "--".
// Options of other launchers become ours where ours are the same, and nothing where they need not be said.
// Errors: an unknown option, a launcher's that cannot be, a missing value: with the way out.
Result<Words> read_words(const std::vector<std::string>& words,
                         const std::vector<KnownOption>& known);

// `message` about options, which have their full names there, with the names that the user typed.
std::string as_typed(std::string message, const Words& words);

}  // namespace mpc::tools

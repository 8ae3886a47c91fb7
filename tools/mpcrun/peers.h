#pragma once
// Peers: the options of other MPIs' launchers, and what they mean here.
//
// Role:      one table, so that a command of another MPI does the same here, or is refused with a
//            remedy, and is never misread as an option of ours.
// Users:     tools/mpcrun/words.cpp; hosted.cpp and parsed.cpp ask for the name.
// Threads:   any.
// See also:  tools/mpcrun/peer_options.def is the table, docs/switching.md shows it.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mpc::tools {

enum class PeerMeaning {
  kSame,      // an option of ours is the same
  kNoEffect,  // taken, and not needed
  kByValue,   // its value decides which of the others it is
  kPrograms,  // its value is a file that has the programs of the job
  kRefused,
};

struct PeerOption {
  std::string_view names;  // a blank between them
  std::string_view owners;
  int words;  // behind the name
  PeerMeaning meaning;
  const char* text;  // kSame: ours; else what one should know
};

// Has mpcrun been started by the name of another launcher, mpirun or mpiexec? Then it forgives what
// these forgive.
bool has_peer_name() noexcept;

// The option with this name, given without dashes: other MPIs accept one or two. nullptr: no
// launcher that we know has it.
const PeerOption* find_peer_option(std::string_view name);

// The options of ours that replace it, as "--label" or "--np=4"; none: it has no effect. `values`
// are the words behind it, `option.words` of them.
// Errors: kArg: it is refused; the text is the remedy, without the name of the option.
Result<std::vector<std::string>> translate(const PeerOption& option,
                                           const std::vector<std::string>& values);

}  // namespace mpc::tools

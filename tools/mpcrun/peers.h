#pragma once
// Peers: the options of other MPIs' launchers, and what to write here instead.
//
// Role:      one table, so that a command of another MPI is refused with the way out, never
//            misread as an option of ours.
// Users:     tools/mpcrun/words.cpp.
// Threads:   any.
// See also:  docs/mpcrun.md, section "Options of other launchers".

#include <string_view>

namespace mpc::tools {

// What to do instead of the option with this name, which is without its dashes: those of other
// MPIs take one or two alike. nullptr: no launcher that we know has it.
const char* advice_for_peer_option(std::string_view name);

}  // namespace mpc::tools

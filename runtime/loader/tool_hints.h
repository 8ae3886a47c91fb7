#pragma once
// Tool hints: advice for a program that was never meant to be ranks.
//
// Role:      users tend to put debuggers, tracers, shells and interpreters between mpcrun and the
//            program; for these "compile it with mpcc" is no help.
// Users:     runtime/loader (program_check, elf_file), tools/mpcrun/scripts.cpp.
// Threads:   any.
// See also:  docs/mpcrun.md, section "Debuggers and checkers".

#include <string>

namespace mpc::loader {

// How to use the tool at `path` with mpcrun, as the end of a sentence; empty: it is none that we
// know.
std::string hint_for_tool(const std::string& path);

// Advice for a program that cannot be one of several copies in a process.
inline constexpr char kOwnProcess[] =
    "or start each rank as a process of its own: mpcrun --ranks-per-process 1 ...";

inline constexpr char kHintForScripts[] =
    "MPI programs that a script starts cannot be ranks; put the script around mpcrun, "
    "and what differs between ranks into its command: mpcrun -n 1 -x A=0 ./prog : -n 1 "
    "-x A=1 ./prog";

// Python and Tcl get here only if their library cannot be given to ranks.
inline constexpr char kHintForInterpreters[] =
    "if its script starts MPI programs, put the script around mpcrun; if it calls MPI "
    "itself, link the interpreter with mpcc";

}  // namespace mpc::loader

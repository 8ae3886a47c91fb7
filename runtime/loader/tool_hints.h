#pragma once
// Tool hints: what to do with a program that was never meant to be ranks.
//
// Role:      debuggers, tracers, shells and interpreters stand between mpcrun and the program by
//            habit; "compile it with mpcc" is no help with these.
// Users:     runtime/loader (program_check, elf_file), tools/mpcrun/scripts.cpp.
// Threads:   any.
// See also:  docs/mpcrun.md, section "Debuggers and checkers".

#include <string>

namespace mpc::loader {

// How the tool at `path` is used with mpcrun, as the end of a sentence; empty: it is none that we
// know.
std::string hint_for_tool(const std::string& path);

// The way out of what cannot be one of several copies in a process.
inline constexpr char kOwnProcess[] =
    "or start each rank as a process of its own: mpcrun --ranks-per-process 1 ...";

inline constexpr char kHintForScripts[] =
    "MPI programs that a script starts cannot be ranks; put the script around mpcrun, "
    "and what differs between ranks into its command: mpcrun -n 1 -x A=0 ./prog : -n 1 "
    "-x A=1 ./prog";

// Python and Tcl come here only where their library is none that ranks can have.
inline constexpr char kHintForInterpreters[] =
    "if its script starts MPI programs, put the script around mpcrun; if it calls MPI "
    "itself, link the interpreter with mpcc";

}  // namespace mpc::loader

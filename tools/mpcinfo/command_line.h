#pragma once
// The command line of mpcinfo: a command, then its options.
//
// Role:      reads the words, reports errors in them, runs the command.
// Users:     tools/mpcinfo/main.cpp.
// Threads:   one.
// See also:  docs/man/mpcinfo.1.in; the test mpcinfo.models compares it with --help.

namespace mpc::tools {

// Prints to stdout, and errors to stderr. Returns: exit status, 2 for wrong words.
int run_command_line(int argc, char** argv);

}  // namespace mpc::tools

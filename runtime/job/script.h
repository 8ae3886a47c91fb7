#pragma once
// Script: parses the first line of a script.
//
// Role:      the words of "#!/usr/bin/env python3", as the kernel and env(1) read them.
// Users:     runtime/job/interpreter.cpp.
// Threads:   pure, except head_of_script().
// See also:  execve(2), "Interpreter scripts".

#include <string>
#include <string_view>
#include <vector>

namespace mpc::job {

// The first bytes of an executable file, up to the end of its first line, if they begin with "#!"; else "".
std::string head_of_script(const std::string& path);
// The interpreter and its arguments, to which the script's path is appended;
// empty: it is no script. If env is named, the result is the program that
// env would start; a line that sets variables stays env's.
std::vector<std::string> words_of_script(std::string_view head);

}  // namespace mpc::job

#pragma once
// ELF patch: the last step after linking a program.
//
// Role:      gives an executable shared object the DT_DEBUG entry that the linker writes for
//            programs only; the dynamic linker fills it, and gdb finds libraries through it.
// Users:     tools/mpcc/mpcc.cpp.
// Threads:   one.

#include <string>

namespace mpcc {

// Does nothing if the file is no such object or has no room; the program works without the entry.
void add_debug_entry(const std::string& path);

}  // namespace mpcc

#pragma once
// Library search: the file that the dynamic linker will load for a needed library's name.
//
// Role:      finds the user's own libraries, so that each rank gets a copy of them as well.
// Users:     runtime/loader/blueprint_maker.cpp; runtime/job/interpreter.cpp.
// Threads:   any.
// See also:  ld.so(8): RPATH of the loading file and its loaders, LD_LIBRARY_PATH, RUNPATH of
//            the loading file, /etc/ld.so.cache, the default directories.

#include <string>
#include <vector>

#include "runtime/loader/elf_file.h"

namespace mpc::loader {

struct SearchScope {
  const ElfFile* file;                 // the file that needs the library
  std::vector<std::string> inherited;  // RPATHs of its loaders, nearest first, expanded
};

// The path of the file for `name`, or "" when the dynamic linker would not find it either.
std::string find_library(const std::string& name, const SearchScope& scope);

// Splits a path list at ':' and expands $ORIGIN, $LIB and $PLATFORM.
std::vector<std::string> expand_path_list(const std::string& list,
                                          const std::string& origin);

// True for the directories of the distribution, whose libraries ranks share.
bool in_system_directory(const std::string& path);

}  // namespace mpc::loader

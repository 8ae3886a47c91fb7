#pragma once
// Program check: can this file run as private copies? If not, why, and what helps.
//
// Role:      the refusals of the loader, each with the reason and what to do.
// Users:     runtime/loader/blueprint_maker.cpp; runtime/job/interpreter.cpp.
// Threads:   any.
// See also:  docs/limits.md lists them.

#include "base/result.h"
#include "runtime/loader/elf_file.h"

namespace mpc::loader {

// Was this file linked by mpcc? Returns the version of the format, 0 if not.
int format_version(const ElfFile& file);

// Errors: kImage, kPermission.
Result<> check_program(const ElfFile& file);
// A library of the program that will be copied for each rank.
Result<> check_private_library(const ElfFile& file, const ElfFile& program);
// A library that a rank opens, or that such a library needs.
Result<> check_plugin(const ElfFile& file);
// A library that `user` needs; refuses those of other MPI implementations.
Result<> check_needed_name(const std::string& name, const ElfFile& user);

}  // namespace mpc::loader

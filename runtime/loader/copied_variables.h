#pragma once
// Copied variables: variables of libraries that a program holds itself (copy relocations).
//
// Role:      code that was not compiled with -fPIC addresses a variable of a library as one of the program's own. A
//            program of the second format (docs/design/0052) therefore holds the variable, and all code of the rank
//            means that one. This says which they are, and with what they begin.
// Users:     runtime/loader: relocation.cpp, blueprint_maker.cpp, program_check.cpp.
// Threads:   one.
// See also:  docs/design/0052-code-without-pic.md; System V ABI for x86-64, R_X86_64_COPY.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/loader/blueprint.h"
#include "runtime/loader/elf_file.h"

namespace mpc::loader {

struct CopiedVariable {
  std::string name;
  std::string version;  // that the program asks for, or ""
  uint64_t vaddr;       // in the program
  size_t bytes;
};

// Was the program linked as an executable, whose own references are fixed (format 2)?
bool is_executable_format(const ElfFile& program) noexcept;

std::vector<CopiedVariable> copied_variables(const ElfFile& program);

// The variable in a library that all ranks share, whose value each copy begins with. Errors: kImage if it is not
// there, or if the library writes to it or expects that programs do: it would not mean the same in both.
// Caller: after the masters are loaded.
Result<std::span<const char>> shared_source(const CopiedVariable& variable,
                                            const std::vector<Module>& modules);

}  // namespace mpc::loader

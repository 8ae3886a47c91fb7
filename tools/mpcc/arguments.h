#pragma once
// Arguments: the meaning of a compiler command line, as far as the wrapper must know it.
//
// Role:      sorts the user's arguments: which step (compile, link a program, link a library),
//            which output, which flags must be removed because they contradict private globals.
// Users:     tools/mpcc/mpcc.cpp, tools/mpcc/linker.cpp.
// Threads:   one.
// See also:  docs/mpcc.md.

#include <string>
#include <vector>

namespace mpcc {

enum class Language { kC, kCxx, kFortran };

enum class Step {
  kInquiry,  // --version, -print-..., no input: passed through
  kCompile,  // -c, -S, -E, -M, -fsyntax-only
  kLinkProgram,
  kLinkLibrary,  // -shared
  kLinkPartial,  // -r
};

struct Arguments {
  Language language = Language::kC;
  std::string compiler;           // to run
  std::vector<std::string> user;  // what remains for the compiler
  std::string output = "a.out";
  Step step = Step::kInquiry;
  bool has_input = false;
  bool uses_sanitizer = false;
  bool keeps_interposition = false;  // -fsemantic-interposition
  bool exports_all = false;          // -rdynamic, -Wl,--export-dynamic
  bool only_assembles = false;       // all files that it reads are *.s
  bool has_fortran = true;           // false: sources in C or C++ and none in Fortran
  // Options of the wrapper itself:
  bool show = false;  // -show: print the command
  std::string query;  // "compile", "link", "incdirs", ... : print a part
  bool help = false;
  bool builds_modules = false;    // -build-modules
  std::string modules_directory;  // empty: the one where they are found
  std::string error;              // not empty: report and exit 1
  std::string note;               // not empty: say so when a program is linked
};

// Appends the argument, or, if it is an @file, the words of that.
void expand(const std::string& argument, std::vector<std::string>& out, int depth);

// Expands @files. argv[0] says the language: *fort* or *f77* *f90*, *xx* or *++*, else C.
Arguments parse(int argc, char** argv);

}  // namespace mpcc
